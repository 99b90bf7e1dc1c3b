"""The bundled model on held-out sentences, all in one request and one after the other."""

from dataclasses import dataclass, replace

from bench.comparison import Comparison, Workers, compare
from bench.report import Cell, Goal, Section, Table
from bench.rivals.ctranslate import Layout
from bench.rivals.rival import Ids, Task
from bench.run import Run
from bench.systems import CTRANSLATE, VERSO, VERSO_FP32, plain_layout, start_systems
from bench.tuning import use_best_layout
from service.package.package import ModelPackage
from service.translation.direction import SourceTemplate

_SENTENCES = 1_000
_CHECKED = 100
_MAX_NEW_TOKENS = 200
_BUDGET_SECONDS = {False: 12.0, True: 10.0}
_SLOW_SECONDS = 4.0
# Least tokens per second over CTranslate2's: at once, one by one.
_GOALS = {False: 1.5, True: 1.0}
_MANNERS = {False: "at once", True: "one by one"}


@dataclass(frozen=True, slots=True)
class Case:
    """One line of the table."""

    beam_size: int
    one_by_one: bool
    num_sentences: int
    comparison: Comparison
    layout: Layout


def measure(run: Run) -> Section:
    """Measures greedy search and the package's own beam."""
    model = run.bundled
    package = ModelPackage.open(model.package)
    sources = source_ids(package, run.heldout.sources[:_SENTENCES])
    names = [VERSO, VERSO_FP32, CTRANSLATE]
    with start_systems(names, model, run.threads) as systems:
        check = _check_table(run, sources, systems)
        cases = []
        for beam_size in sorted({1, package.manifest.generation.beam_size}):
            for one_by_one in (False, True):
                run.say(f"bundled: beam {beam_size}, {_MANNERS[one_by_one]}")
                count = _num_sentences(run, one_by_one)
                task = Task(sources[:count], beam_size, _MAX_NEW_TOKENS, one_by_one)
                cases.append(_measure_case(run, task, systems))
    goals = [_goal(case) for case in cases]
    notes = (
        f"Package {model.name}, the first sentences of {run.heldout.name}, tokenised before; target tokens per second.",
        "All systems end a beam search when as many hypotheses have ended as the beam is wide.",
    )
    return Section("bundled", (_speed_table(cases), check), tuple(goals), notes)


def source_ids(package: ModelPackage, texts: tuple[str, ...]) -> list[list[int]]:
    """Returns each text as one source, with the ids around it that the package's first pair asks for."""
    template = SourceTemplate.of(package.manifest, *package.manifest.languages.pairs[0])
    return [template.around(ids).tolist() for ids in package.source_tokenizer.encode_batch(list(texts))]


def _num_sentences(run: Run, one_by_one: bool) -> int:
    if one_by_one:
        return run.choose(quick=40, default=200, full=_SENTENCES)
    return run.choose(quick=200, default=_SENTENCES)


def _measure_case(run: Run, task: Task, systems: Workers) -> Case:
    layout = use_best_layout(systems[CTRANSLATE], task, run.threads)
    warm_up = replace(task, sources=task.sources[:20])
    plan = run.plan(_BUDGET_SECONDS[task.one_by_one], _SLOW_SECONDS)
    comparison = compare(systems, lambda _: task, warm_up, plan)
    return Case(task.beam_size, task.one_by_one, len(task.sources), comparison, layout)


def _check_table(run: Run, sources: Ids, systems: Workers) -> Table:
    """Compares what the systems answer in float32, which shows that they do the same work."""
    systems[CTRANSLATE].call("use", plain_layout(run.threads))
    rows: list[tuple[Cell, ...]] = []
    for beam_size in (1, 4):
        task = Task(sources[:_CHECKED], beam_size, _MAX_NEW_TOKENS)
        outcomes = {name: worker.call("translate", task) for name, worker in systems.items()}
        shares = Comparison({}, {name: outcome.targets for name, outcome in outcomes.items()})
        rows.append(
            (
                f"beam {beam_size}",
                shares.agreement(CTRANSLATE, VERSO_FP32),
                shares.agreement(VERSO, VERSO_FP32),
                *(outcomes[name].num_tokens for name in (VERSO_FP32, CTRANSLATE, VERSO)),
            )
        )
    columns = (
        f"{_CHECKED} sentences", f"{CTRANSLATE} float32", VERSO,
        f"tokens {VERSO_FP32}", f"tokens {CTRANSLATE} float32", f"tokens {VERSO}",
    )  # fmt: skip
    title = f"Share of targets equal to {VERSO_FP32}'s (Verso runs {systems[VERSO].call('layout')})"
    return Table(title, columns, tuple(rows))


def _speed_table(cases: list[Case]) -> Table:
    columns = (
        "case", VERSO, VERSO_FP32, CTRANSLATE, "its best layout", "int8 / CTranslate2", "fp32 / CTranslate2",
    )  # fmt: skip
    rows = []
    for case in cases:
        one = case.comparison
        rows.append(
            (
                f"beam {case.beam_size}, {case.num_sentences:,} {_MANNERS[case.one_by_one]}",
                one.spread(VERSO),
                one.spread(VERSO_FP32),
                one.spread(CTRANSLATE),
                str(case.layout),
                one.ratio(VERSO, CTRANSLATE),
                one.ratio(VERSO_FP32, CTRANSLATE),
            )
        )
    return Table("Tokens per second", columns, tuple(rows))


def _goal(case: Case) -> Goal:
    found = case.comparison.ratio(VERSO, CTRANSLATE)
    name = f"bundled, beam {case.beam_size}, {_MANNERS[case.one_by_one]}, over best CTranslate2"
    return Goal(name, _GOALS[case.one_by_one], "at least", "×", found.median if found else None)
