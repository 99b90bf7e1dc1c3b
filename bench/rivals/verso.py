"""Verso's engine, driven as the service drives it: requests are handed to decode processes, which share the CPUs."""

import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from bench.rivals.rival import Ids, Outcome, Task
from service.engine.options import EngineOptions
from service.scheduler.options import SchedulerOptions
from service.scheduler.sequence import Sequence
from service.scheduler.stats import NullSink
from service.search.options import DecodingOptions
from service.translation.direction import Direction
from service.translation.model import LoadedModel


class VersoRival:
    """One package in one precision, with the service's own limits. Results are not kept: rounds repeat texts."""

    def __init__(self, package: Path, precision: str) -> None:
        self._model = LoadedModel(
            package,
            EngineOptions(precision=precision, in_processes=None),
            SchedulerOptions(max_kept_tokens=0),
            NullSink(),
        )
        self._model.warm_up()
        self._direction = self._model.direction(*self._model.pairs[0])

    def layout(self) -> str:
        """Says how the CPUs are divided, in CTranslate2's notation: decode loops × threads of a step."""
        return f"{self._model.num_decode_threads}×{self._model.num_threads}"

    def close(self) -> None:
        """Ends what decodes."""
        self._model.close(0.0)

    def translate(self, task: Task) -> Outcome:
        """Translates all sources in one request, or each in its own."""
        options = decoding_options(task, self._model.defaults)
        requests = [[source] for source in task.sources] if task.one_by_one else [task.sources]
        started = time.perf_counter()
        results = [result for sources in requests for result in self._translate(sources, options)]
        return Outcome(time.perf_counter() - started, tuple(results))

    def _translate(self, sources: Ids, options: DecodingOptions) -> list[tuple[int, ...]]:
        dispatch = self._model.pool.dispatch(sequences_of(sources, options, self._direction), None)
        results = dispatch.gather([future.result() for future in dispatch.futures])
        return [result.hypotheses[0].token_ids for result in results]


def decoding_options(task: Task, defaults: DecodingOptions) -> DecodingOptions:
    """Gives the options of a task.

    Beam search stops as soon as it has a beam of finished hypotheses, which is the one rule all systems know.
    """
    return replace(
        defaults,
        beam_size=task.beam_size,
        max_new_tokens=task.max_new_tokens,
        min_new_tokens=0,
        early_stopping=task.beam_size > 1,
        max_length_ratio=0.0,
        stop_loops=False,
    )


def sequences_of(sources: Ids, options: DecodingOptions, direction: Direction) -> list[Sequence]:
    """Makes a sequence of each whole source, whose text is not known."""
    whole = [np.array(source, np.int64) for source in sources]
    return [Sequence(ids, direction.task(ids, options, with_alignment=False, repeats=1)) for ids in whole]
