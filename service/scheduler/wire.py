"""What the service and a decode process say to each other. All of it is pickled, over a connection nobody else has."""

import copyreg
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import Any

from service.engine.options import EngineOptions
from service.errors import VersoError
from service.scheduler.options import SchedulerOptions
from service.scheduler.sequence import Sequence, SequenceResult
from service.scheduler.stats import EncodeStats, StepStats
from service.search.group import SearchTask
from service.search.hypothesis import Hypothesis
from service.search.options import DecodingOptions
from service.search.rules import DecodingRules

Outcome = tuple[SequenceResult, ...] | VersoError
# A method of a StatsSink by name, and its arguments.
StatsCall = tuple[str, tuple[EncodeStats | StepStats | str | float, ...]]


@dataclass(frozen=True, slots=True)
class Setup:
    """The first message to a process: what it shall decode, and how."""

    package: Path
    engine: EngineOptions
    limits: SchedulerOptions
    rules: DecodingRules


@dataclass(frozen=True, slots=True)
class Submit:
    """A submission under a number; an item is source ids (int64) as bytes, and their task. deadline: time.monotonic."""

    number: int
    items: tuple[tuple[bytes, SearchTask], ...]
    deadline: float | None


@dataclass(frozen=True, slots=True)
class Cancel:
    """A submission that is wanted no more."""

    number: int


@dataclass(frozen=True, slots=True)
class Stop:
    """Nothing more will come; what has not ended by then, by time.monotonic, fails."""

    give_up_at: float


@dataclass(frozen=True, slots=True)
class Started:
    """The answer to a setup: what the engine really uses."""

    precision: str
    provider: str
    num_threads: int


@dataclass(frozen=True, slots=True)
class Failed:
    """The other answer to a setup."""

    error: VersoError


@dataclass(frozen=True, slots=True)
class Trouble:
    """A line for the log: who wrote it, how grave it is, and the types of an exception and its causes, if any."""

    logger: str
    level: int
    kinds: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """What has happened since the last report, and how things stand.

    outcomes: of submissions, by number. left_sequences, left_tokens, ended_tokens: of all that was ever submitted, what
    has left the queue and what has ended.
    """

    outcomes: tuple[tuple[int, Outcome], ...]
    stats: tuple[StatsCall, ...]
    troubles: tuple[Trouble, ...]
    left_sequences: int
    left_tokens: int
    ended_tokens: int
    drain_rate: float
    num_running: int
    num_rows: int
    healthy: bool


def packed(sequence: Sequence) -> tuple[bytes, SearchTask]:
    """Returns a sequence as an item of a Submit."""
    return sequence.source_ids.tobytes(), sequence.task


def _take_apart_quickly(kind: type) -> None:
    """Has values of a frozen dataclass pickled as a call of their class, which is much quicker than the library's way.

    For classes with slots that check nothing when they are made.
    """
    values = attrgetter(*kind.__slots__)  # type: ignore[attr-defined]  # dataclass(slots=True) makes them
    copyreg.pickle(kind, lambda value: (kind, values(value)))


for _kind in (Submit, Report, SearchTask, SequenceResult, Hypothesis, EncodeStats, StepStats):
    _take_apart_quickly(_kind)


@lru_cache(maxsize=256)
def _options(*values: Any) -> DecodingOptions:
    return DecodingOptions(*values)


# These check a lot, and are mostly the same.
copyreg.pickle(DecodingOptions, lambda options: (_options, attrgetter(*DecodingOptions.__slots__)(options)))
