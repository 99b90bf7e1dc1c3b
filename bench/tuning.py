"""Finding how CTranslate2 is fastest for a case, so that it is compared at its best."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from bench.rivals.ctranslate import Layout, layouts
from bench.rivals.rival import Outcome, Task
from bench.worker import Worker

# Probes are short: tokens a source, sources, and seconds after which a layout is not tried again.
_PROBE_TOKENS = 6
_PROBE_SOURCES = 256
_PROBE_SECONDS = 0.4
_PROBES = 3


def use_best_layout(worker: Worker, task: Task, threads: int) -> Layout:
    """Tries every sensible layout on a short form of `task`, and leaves the worker with the fastest."""
    probe = short_form(task)
    num_sources = 1 if task.one_by_one else len(task.sources)
    candidates = layouts(worker.call("compute_types"), threads, num_sources)

    def translate(layout: Layout) -> Outcome:
        worker.call("use", layout)
        outcome: Outcome = worker.call("translate", probe)
        return outcome

    best = fastest(candidates, translate)
    worker.call("use", best)
    return best


def fastest(candidates: Sequence[Layout], translate: Callable[[Layout], Outcome]) -> Layout:
    """Returns the candidate with the most tokens per second in its best try; slow ones get a single try."""
    rates: dict[Layout, float] = {}
    for candidate in candidates:
        spent = 0.0
        for _ in range(_PROBES):
            outcome = translate(candidate)
            rates[candidate] = max(rates.get(candidate, 0.0), outcome.tokens_per_second)
            spent += outcome.seconds
            if spent > _PROBE_SECONDS:
                break
    return max(rates, key=lambda candidate: rates[candidate])


def short_form(task: Task) -> Task:
    """Returns a task that behaves like `task` and takes a fraction of its time."""
    count = 20 if task.one_by_one else _PROBE_SOURCES
    return replace(task, sources=task.sources[:count], max_new_tokens=min(task.max_new_tokens, _PROBE_TOKENS))
