"""Numbers the decode thread gives upwards after each step, and the sink that takes them.

The scheduler knows no metrics library; whoever observes implements `StatsSink`.
"""

from dataclasses import dataclass
from typing import Literal, Protocol

# How a sequence got its result without being decoded: from a kept one, or from an identical one that was open.
SharedKind = Literal["kept", "open"]


@dataclass(frozen=True, slots=True)
class EncodeStats:
    """What was encoded between two steps: sources, their tokens, seconds in the engine."""

    num_sources: int
    num_tokens: int
    seconds: float


@dataclass(frozen=True, slots=True)
class StepStats:
    """One decoder step: rows and sources in it, seconds in ONNX Runtime, seconds of the whole iteration."""

    num_rows: int
    num_sources: int
    engine_seconds: float
    total_seconds: float


class StatsSink(Protocol):
    """Called from the decode thread; must be quick and must not raise."""

    def encoded(self, stats: EncodeStats) -> None: ...

    def shared(self, kind: SharedKind) -> None: ...

    def stepped(self, stats: StepStats) -> None: ...

    def finished(self, reason: str, queue_seconds: float, encode_seconds: float, decode_seconds: float) -> None: ...

    def restarted(self) -> None: ...


class NullSink:
    """Takes everything and keeps nothing."""

    def encoded(self, stats: EncodeStats) -> None:
        """Ignores the numbers."""

    def shared(self, kind: SharedKind) -> None:
        """Ignores the sequence."""

    def stepped(self, stats: StepStats) -> None:
        """Ignores the numbers."""

    def finished(self, reason: str, queue_seconds: float, encode_seconds: float, decode_seconds: float) -> None:
        """Ignores the numbers."""

    def restarted(self) -> None:
        """Ignores it."""
