"""One segment's life in the scheduler, and the request it belongs to.

    waiting -> running -> ended

A sequence ends exactly once. A submission ends when its last sequence has, or as a whole with the first failure:
what its other sequences would give is of no use then.
"""

from collections.abc import Sequence as Items
from concurrent.futures import Future
from dataclasses import dataclass, field

from service.engine.arrays import IntArray
from service.engine.encoded import Memory
from service.errors import VersoError
from service.search.group import SearchTask
from service.search.hypothesis import Hypothesis, StopReason


@dataclass(frozen=True, slots=True, eq=False)
class SequenceResult:
    """What a sequence gave: hypotheses best first, and the seconds it waited, was encoded, and was decoded."""

    hypotheses: tuple[Hypothesis, ...]
    queue_seconds: float
    encode_seconds: float
    decode_seconds: float


@dataclass(slots=True, eq=False)
class Sequence:
    """One source with its search task.

    source_ids: (l,) int64, special tokens included. memory: what the encoder made of them, from then on until rows ask
    it. encode_seconds: how long that took, with the sources of the same runs. admitted_at: when its rows began, by the
    scheduler's clock.
    """

    source_ids: IntArray
    task: SearchTask
    submission: "Submission" = field(init=False, repr=False)
    index: int = field(init=False, default=0)
    reason: StopReason | None = field(init=False, default=None)
    memory: Memory | None = field(init=False, default=None, repr=False)
    admitted_at: float = field(init=False, default=0.0)
    encode_seconds: float = field(init=False, default=0.0)

    @property
    def num_rows(self) -> int:
        """Rows it takes while running."""
        return self.task.options.beam_size

    @property
    def num_tokens(self) -> int:
        """Source tokens."""
        return len(self.source_ids)


class Submission:
    """The sequences of one request for one model, their deadline, and the future that ends with them.

    `failure` is set by the decode thread before the future is; from then on its other sequences are dropped.
    """

    def __init__(self, sequences: Items[Sequence], deadline: float | None = None) -> None:
        self.sequences = tuple(sequences)
        self.deadline = deadline
        self.submitted_at = 0.0
        self.failure: VersoError | None = None
        self.future: Future[tuple[SequenceResult, ...]] = Future()
        self._results: list[SequenceResult | None] = [None] * len(self.sequences)
        self._open = len(self.sequences)
        for index, sequence in enumerate(self.sequences):
            sequence.submission, sequence.index = self, index
        if not self.sequences:
            self.future.set_result(())

    @property
    def num_tokens(self) -> int:
        """Padded source tokens of all sequences."""
        return sum(sequence.num_tokens for sequence in self.sequences)

    @property
    def ended(self) -> bool:
        """Whether all of its sequences have ended."""
        return self._open == 0

    def complete(self, sequence: Sequence, reason: StopReason, result: SequenceResult) -> None:
        """Ends one sequence with a result, and the submission with its last one."""
        self._end(sequence, reason)
        self._results[sequence.index] = result
        if self._open == 0 and self.failure is None:
            _settle(self.future, tuple(result for result in self._results if result is not None))

    def fail(self, sequence: Sequence, reason: StopReason, error: VersoError) -> None:
        """Ends one sequence without a result, and with the first of them the submission."""
        self._end(sequence, reason)
        if self.failure is None:
            self.failure = error
            _settle(self.future, error)

    def settle(self, outcome: "tuple[SequenceResult, ...] | VersoError") -> None:
        """Ends it as a whole with what another process made of it."""
        _settle(self.future, outcome)

    def _end(self, sequence: Sequence, reason: StopReason) -> None:
        if sequence.reason is not None:
            raise AssertionError("a sequence ends once")
        sequence.reason = reason
        self._open -= 1


def _settle(future: "Future[tuple[SequenceResult, ...]]", outcome: tuple[SequenceResult, ...] | VersoError) -> None:
    # The waiting side may have cancelled the future; then nobody wants the outcome.
    if not future.set_running_or_notify_cancel():
        return
    if isinstance(outcome, VersoError):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)
