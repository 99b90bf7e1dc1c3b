"""Sequences that wait for rows, served fairly.

Submissions take turns, one sequence each: a document of a thousand sentences does not hold up a request of one. Within
a submission the order is kept. The next in turn is never passed over, however large it is, so nobody starves.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import count

from service.scheduler.sequence import Sequence, Submission


class WaitingQueue:
    """Round robin over submissions.

    encoded_tokens: tokens of those that wait with a memory.
    """

    def __init__(self) -> None:
        self._turns: deque[Submission] = deque()
        self._waiting: dict[Submission, deque[Sequence]] = {}
        self._count = 0
        self.encoded_tokens = 0

    def __len__(self) -> int:
        return self._count

    def add(self, submission: Submission) -> None:
        """Appends all sequences of a submission, which takes its first turn after those already here."""
        for sequence in submission.sequences:
            self.put(sequence)

    def put(self, sequence: Sequence) -> None:
        """Appends one sequence to what its submission has waiting."""
        if sequence.submission not in self._waiting:
            self._turns.append(sequence.submission)
            self._waiting[sequence.submission] = deque()
        self._waiting[sequence.submission].append(sequence)
        self._count += 1

    def peek(self) -> Sequence | None:
        """Returns the next sequence in turn, or None."""
        return self._waiting[self._turns[0]][0] if self._turns else None

    def pop(self) -> Sequence:
        """Takes the next sequence out and gives the turn to the next submission."""
        submission = self._turns.popleft()
        sequences = self._waiting[submission]
        sequence = sequences.popleft()
        self._left(sequence)
        if sequences:
            self._turns.append(submission)
        else:
            del self._waiting[submission]
        return sequence

    def remove(self, submission: Submission) -> tuple[Sequence, ...]:
        """Takes all that is left of a submission out."""
        sequences = self._waiting.pop(submission, None)
        if sequences is None:
            return ()
        self._turns.remove(submission)
        for sequence in sequences:
            self._left(sequence)
            sequence.memory = None
        return tuple(sequences)

    def upcoming(self) -> Iterator[Sequence]:
        """Yields what waits in the order of turns; nothing may join or leave meanwhile."""
        for turn in count():
            waiting = [self._waiting[submission] for submission in self._turns]
            if not any(len(sequences) > turn for sequences in waiting):
                return
            yield from (sequences[turn] for sequences in waiting if len(sequences) > turn)

    def encoded(self, sequences: Iterable[Sequence]) -> None:
        """Says that sequences which wait here have got a memory."""
        self.encoded_tokens += sum(sequence.num_tokens for sequence in sequences)

    def _left(self, sequence: Sequence) -> None:
        self._count -= 1
        if sequence.memory is not None:
            self.encoded_tokens -= sequence.num_tokens
