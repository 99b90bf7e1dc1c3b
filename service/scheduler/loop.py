"""The decode loop of one model: drain the inbox, admit, step, hand out results.

Everything about rows and caches belongs to this thread alone.
"""

import logging
import time
from collections.abc import Callable, Iterable

from service.engine.engine import Engine
from service.errors import (
    DeadlineExceededError,
    EngineError,
    RequestCancelledError,
    VersoError,
)
from service.scheduler.batch import Ended, RunningBatch
from service.scheduler.inbox import Action, Inbox
from service.scheduler.options import SchedulerOptions
from service.scheduler.planner import plan
from service.scheduler.queue import WaitingQueue
from service.scheduler.reuse import Reuse
from service.scheduler.sequence import Sequence, SequenceResult, Submission
from service.scheduler.stats import EncodeStats, StatsSink, StepStats
from service.search.hypothesis import StopReason
from service.search.rules import DecodingRules

_log = logging.getLogger(__name__)

# Weight of the newest second in the moving average of sequences ended per second.
_RATE_WEIGHT = 0.3


class DecodeLoop:
    """What happens to sequences between submission and result; `iterate` is one turn."""

    def __init__(
        self,
        engine: Engine,
        rules: DecodingRules,
        limits: SchedulerOptions,
        sink: StatsSink,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.inbox = Inbox(limits)
        self.healthy = True
        self._batch = RunningBatch(engine, rules)
        self._waiting = WaitingQueue()
        self._reuse = Reuse(limits.max_kept_tokens)
        self._limits = limits
        self._sink = sink
        self._clock = clock
        self._open: dict[Submission, None] = {}
        self._rate_since = clock()
        self._rate_count = 0

    @property
    def num_running(self) -> int:
        """Sequences in the running batch."""
        return len(self._batch)

    @property
    def num_rows(self) -> int:
        """Rows of the running batch."""
        return self._batch.num_rows

    @property
    def idle(self) -> bool:
        """Whether there is nothing to run and nothing waiting."""
        return not len(self._batch) and not len(self._waiting)

    def iterate(self, wait_seconds: float | None = 0) -> None:
        """Takes one turn: messages, deadlines, admissions, one step. Waits for a message only when idle."""
        self._read_inbox(wait_seconds if self.idle else 0)
        self._expire()
        self._admit()
        if len(self._batch):
            self._step()
        self._measure_rate()

    def abandon_all(self, error: VersoError) -> None:
        """Ends everything that was submitted with `error`, whatever state the batch is in."""
        self._batch.clear()
        self._read_inbox(0)
        for submission in tuple(self._open):
            self._abandon(submission, StopReason.ERROR, error)

    def _read_inbox(self, wait_seconds: float | None) -> None:
        for message in self.inbox.drain(wait_seconds):
            if message.submission is None:
                continue
            if message.action is Action.SUBMIT:
                self._receive(message.submission)
            elif message.submission in self._open:
                self._abandon(message.submission, StopReason.CANCELLED, RequestCancelledError("cancelled"))

    def _receive(self, submission: Submission) -> None:
        submission.submitted_at = self._clock()
        self._open[submission] = None
        for sequence in submission.sequences:
            kept = self._reuse.find(sequence)
            if kept is None and not self._reuse.follow(sequence):
                self._waiting.put(sequence)
                continue
            self.inbox.left_queue(1, sequence.num_tokens)
            self._sink.shared("open" if kept is None else "kept")
            if kept is not None:
                self._give(sequence, SequenceResult(kept, 0.0, 0.0, 0.0))

    def _expire(self) -> None:
        now = self._clock()
        late = [one for one in self._open if one.deadline is not None and now >= one.deadline]
        for submission in late:
            self._abandon(submission, StopReason.DEADLINE, DeadlineExceededError("the deadline has passed"))

    def _admit(self) -> None:
        if not len(self._waiting):
            return
        step_plan = plan(self._waiting, self._batch.load, self._limits)
        admitted = step_plan.admit
        if not admitted:
            return
        self.inbox.left_queue(len(admitted), sum(sequence.num_tokens for sequence in admitted))
        fresh = [sequence for sequence in admitted if sequence.memory is None]
        try:
            if fresh:
                self._encode([*fresh, *step_plan.ahead])
        except EngineError as error:
            self._break(admitted, error)
            return
        self._waiting.encoded(step_plan.ahead)
        self._batch.admit(admitted)
        now = self._clock()
        for sequence in admitted:
            sequence.admitted_at = now

    def _encode(self, sequences: list[Sequence]) -> None:
        started = self._clock()
        self._batch.encode(sequences)
        seconds = self._clock() - started
        for sequence in sequences:
            sequence.encode_seconds = seconds
        num_tokens = sum(sequence.num_tokens for sequence in sequences)
        self._sink.encoded(EncodeStats(len(sequences), num_tokens, seconds))

    def _step(self) -> None:
        num_rows, num_sources, started = self._batch.num_rows, len(self._batch), self._clock()
        try:
            ended = self._batch.step()
        except EngineError as error:
            self._break(self._batch.clear(), error)
            return
        self.healthy = True
        for one in ended:
            # A failure among them may have ended others of the same submission already.
            if one.sequence.reason is None:
                self._complete(one)
        self._sink.stepped(StepStats(num_rows, num_sources, self._batch.engine_seconds, self._clock() - started))

    def _complete(self, ended: Ended) -> None:
        sequence = ended.sequence
        if not ended.hypotheses:
            error = EngineError("the model gave values that are not numbers")
            self._abandon(sequence.submission, StopReason.ERROR, error)
            return
        now = self._clock()
        decode_seconds = now - sequence.admitted_at
        queue_seconds = max(0.0, sequence.admitted_at - sequence.submission.submitted_at - sequence.encode_seconds)
        followers = self._reuse.completed(sequence, ended.hypotheses)
        self._give(sequence, SequenceResult(ended.hypotheses, queue_seconds, sequence.encode_seconds, decode_seconds))
        for follower in followers:
            waited = now - follower.submission.submitted_at
            self._give(follower, SequenceResult(ended.hypotheses, waited, 0.0, 0.0))

    def _give(self, sequence: Sequence, result: SequenceResult) -> None:
        sequence.submission.complete(sequence, result.hypotheses[0].stop_reason, result)
        self._ended(sequence, result)

    def _abandon(self, submission: Submission, reason: StopReason, error: VersoError) -> None:
        """Ends a submission: all of its sequences that have not ended, wherever they are."""
        waiting = self._waiting.remove(submission)
        self.inbox.left_queue(len(waiting), sum(sequence.num_tokens for sequence in waiting))
        self._batch.drop([sequence for sequence in submission.sequences if self._batch.holds(sequence)])
        for sequence in submission.sequences:
            if sequence.reason is None:
                submission.fail(sequence, reason, error)
                self._ended(sequence, None)
                self._replace(sequence)

    def _replace(self, sequence: Sequence) -> None:
        """Queues whoever followed a sequence that ended without a result; the rest of its own submission ends too."""
        heir = self._reuse.withdrawn(sequence)
        while heir is not None and heir.submission.failure is not None:
            heir = self._reuse.withdrawn(heir)
        if heir is not None:
            self._waiting.put(heir)
            self.inbox.joined_queue(1, heir.num_tokens)

    def _break(self, sequences: Iterable[Sequence], error: EngineError) -> None:
        _log.error("engine failure", exc_info=error)
        self.healthy = False
        for sequence in sequences:
            self._abandon(sequence.submission, StopReason.ERROR, error)

    def _ended(self, sequence: Sequence, result: SequenceResult | None) -> None:
        self._rate_count += 1
        self.inbox.ended(sequence.num_tokens)
        if sequence.submission.ended:
            self._open.pop(sequence.submission, None)
        if result is None:
            self._sink.finished(str(sequence.reason), 0.0, 0.0, 0.0)
        else:
            self._sink.finished(
                str(sequence.reason), result.queue_seconds, result.encode_seconds, result.decode_seconds
            )

    def _measure_rate(self) -> None:
        elapsed = self._clock() - self._rate_since
        if elapsed >= 1.0:
            rate, old = self._rate_count / elapsed, self.inbox.drain_rate
            self.inbox.drain_rate = rate if old == 0 else _RATE_WEIGHT * rate + (1 - _RATE_WEIGHT) * old
            self._rate_since, self._rate_count = self._clock(), 0
