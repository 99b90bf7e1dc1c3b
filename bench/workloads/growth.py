"""What grows with what: cost of a token with position, rows and source length; memory with requests."""

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.gemm_floor import FloorProbe, describe, write_floor
from bench.models import BenchModel
from bench.random_checkpoint import Sizes, random_sources
from bench.report import Cell, Goal, Section, Table
from bench.rivals.rival import Task
from bench.run import Run
from bench.spread import Spread, median
from bench.step_probe import (
    StepProbe,
    median_decoder_seconds,
    median_host_seconds,
    median_step_seconds,
    window_seconds,
)
from bench.worker import Worker, workers
from bench.workloads.bundled import source_ids
from bench.workloads.footprint import footprint
from service.package.package import ModelPackage

_SIZES = Sizes(32_000)
_POSITIONS = (10, 100, 400)
_WINDOW = 20
_ROWS = (1, 2, 4, 8, 16, 32, 64, 128)
_BEAMS = ((8, 4), (32, 4))
_QUICK_ROWS = (1, 32)
_SOURCE_LENGTHS = (8, 50, 100, 200, 400)
_QUICK_SOURCE_LENGTHS = (8, 100)
_FLOOR_ROWS = 32


def measure(run: Run) -> Section:
    """Measures steps with random weights and the bundled ones, then a server."""
    model = run.random(_SIZES)
    tables: list[Table] = []
    goals: list[Goal] = []

    def keep(found: tuple[Table, list[Goal]]) -> None:
        tables.append(found[0])
        goals.extend(found[1])

    with workers({"probe": partial(Worker, StepProbe, package=model.package, precision="int8")}) as w:
        keep(_positions(run, w["probe"]))
        keep(_rows(run, w["probe"]))
        keep(_source_lengths(run, w["probe"]))
    keep(_floors(run, [model, run.bundled]))
    for found in footprint(run):
        keep(found)
    notes = (f"Steps are those of {model.name}, int8, unless a table says otherwise.",)
    return Section("growth", tuple(tables), tuple(goals), notes)


def _positions(run: Run, probe: Worker) -> tuple[Table, list[Goal]]:
    """Times steps far into long targets; all rows are at the same position."""
    run.say("growth: positions")
    rows: list[tuple[Cell, ...]] = []
    worst = 0.0
    for num_rows in (1,) if run.options.quick else (1, 8):
        sources = random_sources(_SIZES, num_rows, (20, 20), seed=3)
        task = Task(sources, 1, _POSITIONS[-1] + _WINDOW)
        rounds = [probe.call("turns", task) for _ in range(run.choose(quick=1, default=3))]
        seconds = [[window_seconds(turns, position, _WINDOW) for turns in rounds] for position in _POSITIONS]
        ratios = Spread.of([last / first for first, last in zip(seconds[0], seconds[-1], strict=True)])
        worst = max(worst, ratios.median)
        rows.append((str(num_rows), *(1e3 * median(one) for one in seconds), ratios))
    columns = ("rows", *(f"ms at {position}" for position in _POSITIONS), f"{_POSITIONS[-1]} / {_POSITIONS[0]}")
    goal = Goal("time per token at position 400 over 10", 1.3, "at most", "×", worst)
    return Table("Step by target position", columns, tuple(rows)), [goal]


def _rows(run: Run, probe: Worker) -> tuple[Table, list[Goal]]:
    run.say("growth: rows")
    rows: list[tuple[Cell, ...]] = []
    goals = []
    counts = _QUICK_ROWS if run.options.quick else _ROWS
    for num_rows, beam_size in [*((count, 1) for count in counts), *_BEAMS]:
        sources = random_sources(_SIZES, num_rows, (15, 25), seed=num_rows)
        turns = probe.call("turns", Task(sources, beam_size, 25))
        step, host = median_step_seconds(turns), median_host_seconds(turns)
        total = num_rows * beam_size
        rows.append((f"{num_rows} × {beam_size}", total, 1e3 * step, 1e6 * step / total, 1e6 * host, host / step))
        if (num_rows, beam_size) == (32, 1):
            goals.append(Goal("host time per step at 32 rows", 200.0, "at most", " µs", 1e6 * host))
    columns = ("sources × beam", "rows", "step ms", "µs per row", "outside ONNX Runtime µs", "share")
    return Table("Step by rows", columns, tuple(rows)), goals


def _source_lengths(run: Run, probe: Worker) -> tuple[Table, list[Goal]]:
    run.say("growth: source lengths")
    rows: list[tuple[Cell, ...]] = []
    for length in _QUICK_SOURCE_LENGTHS if run.options.quick else _SOURCE_LENGTHS:
        turns = probe.call("turns", Task(random_sources(_SIZES, 8, (length, length), seed=length), 1, 25))
        encoder = sum(turn.encoder_seconds for turn in turns)
        rows.append((str(length), 1e3 * encoder / 8, 1e6 * encoder / 8 / length, 1e3 * median_step_seconds(turns)))
    columns = ("source tokens", "encode ms a source", "encode µs a token", "step ms")
    return Table("Encoder and step by source length, 8 rows", columns, tuple(rows)), []


def _floors(run: Run, models: list[BenchModel]) -> tuple[Table, list[Goal]]:
    """Compares the decoder graph's time with that of its products alone."""
    rows: list[tuple[Cell, ...]] = []
    goals = []
    for model in models:
        run.say(f"growth: floor of {model.name}")
        package = ModelPackage.open(model.package)
        sources = (
            random_sources(_SIZES, _FLOOR_ROWS, (15, 25), seed=9)
            if model is not run.bundled
            else source_ids(package, run.heldout.sources[:_FLOOR_ROWS])
        )
        with TemporaryDirectory() as folder:
            path = Path(folder) / "floor.onnx"
            products = write_floor(package.graph("decoder", "int8"), path)
            probe = partial(Worker, StepProbe, package=model.package, precision="int8")
            with workers({"step": probe}) as steps:
                alone = partial(Worker, FloorProbe, graph=path, num_threads=steps["step"].call("num_threads"))
                with workers({"floor": alone}) as floors:
                    step, floor = _step_and_floor(run, steps["step"], floors["floor"], Task(sources, 1, 25))
        ratios = Spread.of([whole / products_alone for (whole, _), products_alone in zip(step, floor, strict=True)])
        rows.append(
            (
                model.name,
                describe(products),
                1e3 * median([whole for whole, _ in step]),
                1e3 * median([graph for _, graph in step]),
                1e3 * median(floor),
                ratios,
            )
        )
        goals.append(Goal(f"{model.name}: int8 step over its GEMM floor, 32 rows", 1.5, "at most", "×", ratios.median))
    columns = ("model", "products", "step ms", "decoder graph ms", "products alone ms", "step over products")
    return Table(f"Step of {_FLOOR_ROWS} rows and its matrix products alone", columns, tuple(rows)), goals


def _step_and_floor(run: Run, step: Worker, floor: Worker, task: Task) -> tuple[list[tuple[float, float]], list[float]]:
    """Returns seconds of whole steps and of the graph in them, and of the products, by round."""
    steps_seconds, floor_seconds = [], []
    for _ in range(run.choose(quick=1, default=5)):
        turns = [turn for turn in step.call("turns", task) if turn.num_rows == len(task.sources)]
        steps_seconds.append((median_step_seconds(turns), median_decoder_seconds(turns)))
        floor_seconds.append(floor.call("median_seconds", len(task.sources)))
    return steps_seconds, floor_seconds
