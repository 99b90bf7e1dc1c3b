"""A decode loop's only way in: submissions and cancellations from other threads.

Also the only place that counts what waits, so that a full queue is refused where the caller can be told.
"""

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto

from service.errors import QueueFullError, ShuttingDownError
from service.scheduler.options import SchedulerOptions
from service.scheduler.sequence import Submission

_MAX_RETRY_SECONDS = 60.0


class Action(Enum):
    """What a message asks for."""

    SUBMIT = auto()
    CANCEL = auto()
    WAKE = auto()


@dataclass(frozen=True, slots=True)
class Message:
    """One message; WAKE has no submission and only ends the thread's sleep."""

    action: Action
    submission: Submission | None = None


class Gate:
    """Counts what was submitted and has not ended, and refuses what is too much; `post` brings messages to the loop.

    post: called from any thread; what it raises for a submission, the submitter gets, and nothing was taken.
    """

    def __init__(self, limits: SchedulerOptions, post: Callable[[Message], None]) -> None:
        self._limits = limits
        self._post = post
        self._lock = threading.Lock()
        self._closed = False
        self.waiting_sequences = 0
        self.waiting_tokens = 0
        # Of sequences that were submitted and have not ended.
        self.open_tokens = 0
        # Sequences ended per second of late; written by the decode thread, 0 before it has ended any.
        self.drain_rate = 0.0

    def submit(self, submission: Submission) -> None:
        """Hands a submission over.

        Whatever comes while nothing waits is taken, so a request larger than the bounds is not refused for ever.
        Raises QueueFullError or ShuttingDownError.
        """
        count, tokens = len(submission.sequences), submission.num_tokens
        with self._lock:
            if self._closed:
                raise ShuttingDownError("the service is shutting down")
            too_many = self.waiting_sequences + count > self._limits.max_waiting_sequences
            too_long = self.waiting_tokens + tokens > self._limits.max_waiting_tokens
            if self.waiting_sequences and (too_many or too_long):
                raise QueueFullError("too much is waiting for this model", self._retry_seconds())
            # Whoever reads it cannot count it off before it is counted here, for want of the lock.
            self._post(Message(Action.SUBMIT, submission))
            self.waiting_sequences += count
            self.waiting_tokens += tokens
            self.open_tokens += tokens

    def cancel(self, submission: Submission) -> None:
        """Asks for a submission's end; one that has ended already is left alone."""
        self._post(Message(Action.CANCEL, submission))

    def close(self) -> None:
        """Takes no more submissions."""
        with self._lock:
            self._closed = True
        self._post(Message(Action.WAKE))

    def joined_queue(self, sequences: int, tokens: int) -> None:
        """Says that sequences wait after all; called by the decode thread."""
        self.left_queue(-sequences, -tokens)

    def left_queue(self, sequences: int, tokens: int) -> None:
        """Says that sequences no longer wait, with their tokens; called by the decode thread."""
        with self._lock:
            self.waiting_sequences -= sequences
            self.waiting_tokens -= tokens

    def ended(self, tokens: int) -> None:
        """Says that a sequence has ended, with its tokens; called by the decode thread."""
        with self._lock:
            self.open_tokens -= tokens

    def empty(self) -> None:
        """Says that nothing waits and nothing is open any more."""
        with self._lock:
            self.waiting_sequences = self.waiting_tokens = self.open_tokens = 0

    @property
    def closed(self) -> bool:
        """Whether submissions are refused."""
        return self._closed

    def _retry_seconds(self) -> float:
        if self.drain_rate <= 0:
            return 1.0
        return min(_MAX_RETRY_SECONDS, max(1.0, self.waiting_sequences / self.drain_rate))


class Inbox(Gate):
    """Messages in the order they were sent, for a loop in the same process."""

    def __init__(self, limits: SchedulerOptions) -> None:
        self._messages: queue.SimpleQueue[Message] = queue.SimpleQueue()
        super().__init__(limits, self._messages.put)

    def drain(self, wait_seconds: float | None) -> list[Message]:
        """Returns all messages, waiting for the first: not at all (0), so long, or without limit (None)."""
        messages: list[Message] = []
        try:
            messages.append(self._messages.get(block=wait_seconds != 0, timeout=wait_seconds or None))
            while True:
                messages.append(self._messages.get_nowait())
        except queue.Empty:
            return messages
