"""What a decode process has to tell the service, gathered for the next report."""

import logging
import threading
from itertools import islice

from service.errors import chain
from service.scheduler.stats import EncodeStats, SharedKind, StepStats
from service.scheduler.wire import Outcome, StatsCall, Trouble

_MOST_KINDS = 10


class Outbox(logging.Handler):
    """A StatsSink and a handler of log records that keeps everything until it is emptied, and outcomes besides."""

    def __init__(self) -> None:
        super().__init__()
        self._mutex = threading.Lock()
        self._outcomes: list[tuple[int, Outcome]] = []
        self._stats: list[StatsCall] = []
        self._troubles: list[Trouble] = []

    @property
    def is_urgent(self) -> bool:
        """Whether somebody waits for what is in it."""
        return bool(self._outcomes or self._troubles)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to tell."""
        return not (self._outcomes or self._troubles or self._stats)

    def empty(self) -> tuple[tuple[tuple[int, Outcome], ...], tuple[StatsCall, ...], tuple[Trouble, ...]]:
        """Takes everything out: outcomes, stats and troubles."""
        with self._mutex:
            taken = tuple(self._outcomes), tuple(self._stats), tuple(self._troubles)
            for kept in (self._outcomes, self._stats, self._troubles):
                kept.clear()
        return taken

    def end(self, number: int, outcome: Outcome) -> None:
        """Keeps what a submission came to."""
        with self._mutex:
            self._outcomes.append((number, outcome))

    def encoded(self, stats: EncodeStats) -> None:
        """Keeps the numbers."""
        self._keep("encoded", stats)

    def shared(self, kind: SharedKind) -> None:
        """Keeps the kind."""
        self._keep("shared", kind)

    def stepped(self, stats: StepStats) -> None:
        """Keeps the numbers."""
        self._keep("stepped", stats)

    def finished(self, reason: str, queue_seconds: float, encode_seconds: float, decode_seconds: float) -> None:
        """Keeps the numbers."""
        self._keep("finished", reason, queue_seconds, encode_seconds, decode_seconds)

    def restarted(self) -> None:
        """Ignores it; it is the service that starts processes."""

    def emit(self, record: logging.LogRecord) -> None:
        """Keeps who complains and of what exception, not the words."""
        error = record.exc_info[1] if record.exc_info else None
        kinds = tuple(type(one).__qualname__ for one in islice(chain(error), _MOST_KINDS))
        with self._mutex:
            self._troubles.append(Trouble(record.name, record.levelno, kinds))

    def _keep(self, name: str, *arguments: EncodeStats | StepStats | str | float) -> None:
        with self._mutex:
            self._stats.append((name, arguments))
