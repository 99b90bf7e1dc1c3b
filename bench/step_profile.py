"""Where the microseconds of a step go, by room of the code and by operator; `python -m bench profile`."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import onnxruntime as ort

from bench.operators import OperatorTimes, largest, operator_times
from bench.report import Cell, Section, Table
from bench.rivals.rival import Task
from bench.run import Run
from bench.spread import median
from bench.step_probe import StepProbe, median_step_seconds
from bench.stopwatch import Stopwatches
from bench.worker import Worker, workers

_PLACES = {
    "onnxruntime:InferenceSession.run": "ONNX Runtime",
    "onnxruntime:InferenceSession.run_with_iobinding": "ONNX Runtime",
    "service.engine.engine:Engine.encode": "engine: encoding",
    "service.engine.engine:Engine.step": "engine: inputs and outputs",
    "service.engine.engine:Engine.copy_rows": "engine: moving cache rows",
    "service.engine.engine:Engine.forget": "engine: dropping sources",
    "service.search.greedy:GreedySearch.advance": "search: selection",
    "service.search.beam:BeamSearch.advance": "search: selection",
    "service.search.greedy:GreedySearch.hypotheses": "search: reading results back",
    "service.search.beam:BeamSearch.hypotheses": "search: reading results back",
    "service.scheduler.batch:RunningBatch.step": "scheduler: rows",
    "service.scheduler.batch:RunningBatch.admit": "scheduler: admission",
    "service.scheduler.loop:DecodeLoop.iterate": "scheduler: loop",
}
_WARM_UP_TOKENS = 5
_KINDS = 12
_PARTS = 12


@dataclass(frozen=True, slots=True)
class Shape:
    """Sources and beam of one profile."""

    num_sources: int
    beam_size: int

    def __str__(self) -> str:
        return f"{self.num_sources} × {self.beam_size}"

    @classmethod
    def parse(cls, text: str) -> "Shape":
        """Reads "32x4"; raises ValueError."""
        sources, _, beam = text.partition("x")
        return cls(int(sources), int(beam))


@dataclass(frozen=True, slots=True)
class HostTimes:
    """Median seconds of a step by label, and of all of it; places that were not found; threads of a graph run."""

    by_label: dict[str, float]
    step: float
    missing: tuple[str, ...]
    num_threads: int


class HostProfiler:
    """Times the rooms of the code around a step."""

    def __init__(self, package: Path, precision: str) -> None:
        self._stopwatches = Stopwatches(_PLACES)
        self._probe = StepProbe(package, precision)

    def profile(self, task: Task) -> HostTimes:
        """Translates a task and returns what its steps took, the first and the last left out."""
        self._probe.turns(_warm_up(task))
        taken: list[dict[str, float]] = []
        self._stopwatches.take()
        turns = self._probe.turns(task, after_turn=lambda: taken.append(self._stopwatches.take()))
        inner = taken[1:-1]
        labels = {label: median([one[label] for one in inner]) for label in inner[0]}
        missing = tuple(self._stopwatches.missing)
        return HostTimes(labels, median_step_seconds(turns), missing, self._probe.num_threads())


class OperatorProfiler:
    """Times the operators of the decoder graph with ONNX Runtime's profiler, which slows it down somewhat."""

    def __init__(self, package: Path, precision: str, folder: Path) -> None:
        options = ort.SessionOptions

        def profiled() -> Any:
            made = options()
            made.enable_profiling = True
            made.profile_file_prefix = str(folder / "profile")
            return made

        with patch("onnxruntime.SessionOptions", profiled):
            self._probe = StepProbe(package, precision)

    def profile(self, task: Task) -> OperatorTimes:
        """Translates a task once and returns what a step's operators took; a profiler is good for one task."""
        self._probe.turns(task)
        path = Path(self._probe.watch.sessions["decoder"].end_profiling())
        return operator_times(json.loads(path.read_text(encoding="utf-8")))


def profile_steps(run: Run, package: Path, precision: str, tasks: Sequence[tuple[Shape, Task]]) -> Section:
    """Profiles the steps of tasks; shapes name them."""
    hosts: dict[Shape, HostTimes] = {}
    operators: dict[Shape, OperatorTimes] = {}
    factory: Callable[..., Worker] = partial(Worker, package=package, precision=precision)
    for shape, task in tasks:
        run.say(f"profile: {shape}")
        with (
            TemporaryDirectory() as folder,
            workers(
                {
                    "host": partial(factory, HostProfiler),
                    "operators": partial(factory, OperatorProfiler, folder=Path(folder)),
                }
            ) as started,
        ):
            hosts[shape] = started["host"].call("profile", task)
            operators[shape] = started["operators"].call("profile", task)
    num_threads = max(times.num_threads for times in hosts.values())
    missing = sorted({place for times in hosts.values() for place in times.missing})
    notes = (
        f"Microseconds of a step, {precision}, package {package.name}, one decode thread, {num_threads} threads a run.",
        "Operators are measured in runs of their own, which ONNX Runtime's profiler slows down.",
        *([f"Not found in the code: {', '.join(missing)}."] if missing else []),
    )
    return Section("profile", (host_table(hosts), kind_table(operators), part_table(operators)), (), notes)


def host_table(hosts: dict[Shape, HostTimes]) -> Table:
    """Lays the rooms of the code out, a column for each shape."""
    labels = dict.fromkeys(label for times in hosts.values() for label, seconds in times.by_label.items() if seconds)
    rows: list[tuple[Cell, ...]] = [
        (label, *(1e6 * times.by_label[label] for times in hosts.values())) for label in labels
    ]
    rows.append(("whole step", *(1e6 * times.step for times in hosts.values())))
    shares = (1 - times.by_label["ONNX Runtime"] / times.step for times in hosts.values())
    rows.append(("share outside ONNX Runtime", *(f"{share:.1%}" for share in shares)))
    return Table("Step by room, µs", ("room", *map(str, hosts)), tuple(rows))


def kind_table(operators: dict[Shape, OperatorTimes]) -> Table:
    """Lays operators out by kind, the most expensive first, a column for each shape."""
    return _operator_table(
        "Decoder graph by operator, µs", {s: times.by_kind for s, times in operators.items()}, _KINDS
    )


def part_table(operators: dict[Shape, OperatorTimes]) -> Table:
    """Lays operators out by part of the network and kind."""
    named = {
        shape: {f"{part}: {kind}": seconds for (part, kind), seconds in times.by_part.items()}
        for shape, times in operators.items()
    }
    return _operator_table("Decoder graph by part and operator, µs", named, _PARTS)


def _operator_table(title: str, times: dict[Shape, dict[str, float]], count: int) -> Table:
    together: dict[str, float] = {}
    for one in times.values():
        total = sum(one.values())
        for name, seconds in one.items():
            # Shapes count alike, however long their steps are.
            together[name] = together.get(name, 0.0) + seconds / total
    names = [name for name, _ in largest(together, count) if name in together]
    rows: list[tuple[Cell, ...]] = [(name, *(_microseconds(one, [name]) for one in times.values())) for name in names]
    rest = [name for name in together if name not in names]
    rows.append(("others", *(_microseconds(one, rest) for one in times.values())))
    rows.append(("all operators", *(1e6 * sum(one.values()) for one in times.values())))
    return Table(title, ("operator", *map(str, times)), tuple(rows))


def _microseconds(times: dict[str, float], names: Sequence[str]) -> float:
    return 1e6 * sum(times.get(name, 0.0) for name in names)


def _warm_up(task: Task) -> Task:
    return Task(task.sources, task.beam_size, _WARM_UP_TOKENS)
