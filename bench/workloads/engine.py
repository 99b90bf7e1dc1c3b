"""The engine alone: OPUS-base size, random weights, forced 25-token targets, by sources and beam."""

from dataclasses import dataclass, replace

from bench.comparison import Comparison, Workers, compare
from bench.models import BenchModel
from bench.random_checkpoint import Sizes, random_sources
from bench.report import Cell, Goal, Section, Table
from bench.rivals.ctranslate import Layout
from bench.rivals.rival import Task, length_problems
from bench.run import Run
from bench.systems import CTRANSLATE, HUGGING_FACE, VERSO, VERSO_FP32, plain_layout, start_systems
from bench.tuning import use_best_layout

_TARGET_TOKENS = 25
_SOURCE_TOKENS = (15, 25)
_WARM_UP_TOKENS = 3
_CHECKED = 8
_BUDGET_SECONDS = 5.0
_SLOW_SECONDS = 3.0
# Least tokens per second over CTranslate2's, by (sources, beam), and over transformers' everywhere.
_GOALS = {(1, 1): 3.5, (8, 1): 2.5, (32, 1): 1.8, (1, 4): 3.5, (8, 4): 2.0, (32, 4): 1.5}
_HUGGING_FACE_GOAL = 5.0


@dataclass(frozen=True, slots=True)
class Case:
    """One line of a table."""

    num_sources: int
    beam_size: int
    comparison: Comparison
    layout: Layout


def measure(run: Run) -> Section:
    """Measures both vocabularies."""
    tables: list[Table] = []
    goals: list[Goal] = []
    for vocabulary_size in [32_000] if run.options.quick else [32_000, 58_000]:
        sizes = Sizes(vocabulary_size)
        model = run.random(sizes)
        cases, check = _measure_model(run, sizes, model)
        tables += [_speed_table(model, cases), check]
        goals += _goals(model, cases)
    return Section(
        name="engine",
        tables=tuple(tables),
        goals=tuple(goals),
        notes=(
            "6+6 layers, width 512, random weights. Target tokens per second; ratios are taken in each round.",
            f"Targets have {_TARGET_TOKENS} tokens, sources {_SOURCE_TOKENS[0]} to {_SOURCE_TOKENS[1]}.",
        ),
    )


def _measure_model(run: Run, sizes: Sizes, model: BenchModel) -> tuple[list[Case], Table]:
    is_main = sizes.vocabulary_size == 32_000 or run.options.full
    names = [VERSO, VERSO_FP32, CTRANSLATE, *([HUGGING_FACE] if is_main else [])]
    counts = [1, 16] if run.options.quick else [1, 8, 32, 128] if is_main else [1, 8, 32]
    with start_systems(names, model, run.threads) as systems:
        check = _check_table(run, sizes, model, systems)
        cases = []
        for beam_size in (1, 4):
            for count in counts:
                run.say(f"engine: {model.name}, {count} sources, beam {beam_size}")
                cases.append(_measure_case(run, sizes, systems, (count, beam_size)))
    return cases, check


def _measure_case(run: Run, sizes: Sizes, systems: Workers, shape: tuple[int, int]) -> Case:
    num_sources, beam_size = shape

    def task(turn: int) -> Task:
        # New sources each round, so that nobody can remember an answer.
        seed = 1_000 * turn + 10 * num_sources + beam_size
        return Task(random_sources(sizes, num_sources, _SOURCE_TOKENS, seed), beam_size, _TARGET_TOKENS)

    layout = use_best_layout(systems[CTRANSLATE], task(-1), run.threads)
    warm_up = replace(task(-1), max_new_tokens=_WARM_UP_TOKENS)
    comparison = compare(systems, task, warm_up, run.plan(_BUDGET_SECONDS, _SLOW_SECONDS))
    for name, targets in comparison.targets.items():
        if wrong := length_problems(targets, _TARGET_TOKENS):
            raise AssertionError(f"{name}: {wrong} of {num_sources} targets do not have {_TARGET_TOKENS} tokens")
    return Case(num_sources, beam_size, comparison, layout)


def _check_table(run: Run, sizes: Sizes, model: BenchModel, systems: Workers) -> Table:
    """Compares what the systems answer in float32, which shows that they do the same work."""
    systems[CTRANSLATE].call("use", plain_layout(run.threads))
    rows: list[tuple[Cell, ...]] = []
    for beam_size in (1, 4):
        task = Task(random_sources(sizes, _CHECKED, _SOURCE_TOKENS, seed=5), beam_size, _TARGET_TOKENS)
        targets = {name: worker.call("translate", task).targets for name, worker in systems.items()}
        outcome = Comparison({}, targets)
        shares = (outcome.agreement(name, VERSO_FP32) for name in (CTRANSLATE, HUGGING_FACE, VERSO))
        rows.append((f"beam {beam_size}", *shares))
    columns = (f"{_CHECKED} sources", f"{CTRANSLATE} float32", HUGGING_FACE, VERSO)
    title = f"{model.name}: share of targets equal to {VERSO_FP32}'s (Verso runs {systems[VERSO].call('layout')})"
    return Table(title, columns, tuple(rows))


def _speed_table(model: BenchModel, cases: list[Case]) -> Table:
    columns = (
        "sources × beam", VERSO, VERSO_FP32, CTRANSLATE, "its best layout", HUGGING_FACE,
        "int8 / CTranslate2", "fp32 / CTranslate2", "int8 / transformers",
    )  # fmt: skip
    rows = []
    for case in cases:
        one = case.comparison
        rows.append(
            (
                f"{case.num_sources} × {case.beam_size}",
                one.spread(VERSO),
                one.spread(VERSO_FP32),
                one.spread(CTRANSLATE),
                str(case.layout),
                one.spread(HUGGING_FACE),
                one.ratio(VERSO, CTRANSLATE),
                one.ratio(VERSO_FP32, CTRANSLATE),
                one.ratio(VERSO, HUGGING_FACE),
            )
        )
    return Table(f"{model.name}: tokens per second", columns, tuple(rows))


def _goals(model: BenchModel, cases: list[Case]) -> list[Goal]:
    goals = []
    for case in cases:
        target = _GOALS.get((case.num_sources, case.beam_size))
        found = case.comparison.ratio(VERSO, CTRANSLATE)
        if target is not None:
            name = f"{model.name}, {case.num_sources} × {case.beam_size}, over best CTranslate2"
            goals.append(Goal(name, target, "at least", "×", found.median if found else None))
    ratios = [found.median for case in cases if (found := case.comparison.ratio(VERSO, HUGGING_FACE))]
    if ratios:
        name = f"{model.name}, over transformers, lowest of all shapes"
        goals.append(Goal(name, _HUGGING_FACE_GOAL, "at least", "×", min(ratios)))
    return goals
