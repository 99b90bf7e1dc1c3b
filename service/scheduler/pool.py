"""Several decode threads of one model, and which of them decodes what.

Threads share the model's weights, not its rows: each has a running batch of its own. Small graphs gain little from
more threads within a step and much from several steps at once. Where a sequence runs changes nothing but time.
"""

from collections.abc import Sequence as Items
from concurrent.futures import Future
from dataclasses import dataclass

from service.errors import VersoError
from service.scheduler.loop import DecodeLoop, DecodeThread
from service.scheduler.sequence import Sequence, SequenceResult, Submission


@dataclass(frozen=True, slots=True, eq=False)
class Share:
    """The part of a dispatch that one loop decodes; indices say which sequences of the dispatch these are."""

    loop: DecodeLoop
    submission: Submission
    indices: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Dispatch:
    """Sequences on their way, in one share or several; they succeed or fail together."""

    shares: tuple[Share, ...]
    num_sequences: int

    @property
    def futures(self) -> list[Future[tuple[SequenceResult, ...]]]:
        """One future a share; the results of all of them make the whole."""
        return [share.submission.future for share in self.shares]

    def gather(self, results: Items[tuple[SequenceResult, ...]]) -> list[SequenceResult]:
        """Puts the futures' results into the order of the dispatch's sequences."""
        ordered: dict[int, SequenceResult] = {}
        for share, own in zip(self.shares, results, strict=True):
            ordered.update(zip(share.indices, own, strict=True))
        return [ordered[index] for index in range(self.num_sequences)]

    def cancel(self) -> None:
        """Gives up whatever of it has not ended."""
        for share in self.shares:
            share.loop.inbox.cancel(share.submission)


class DecodePool:
    """The decode loops of one model, each on a thread of its own."""

    def __init__(self, loops: Items[DecodeLoop], name: str) -> None:
        self.loops = tuple(loops)
        self._threads = [DecodeThread(loop, f"{name}-{index}") for index, loop in enumerate(self.loops)]

    @property
    def healthy(self) -> bool:
        """Whether every thread lives and no loop's last step failed."""
        return all(thread.alive for thread in self._threads) and all(loop.healthy for loop in self.loops)

    def dispatch(self, sequences: Items[Sequence], deadline: float | None) -> Dispatch:
        """Hands sequences to the loops; `deadline` is of time.monotonic.

        Raises QueueFullError or ShuttingDownError, and then nothing of them is decoded.
        """
        shares = []
        for loop, indices in self._split(sequences):
            submission = Submission([sequences[index] for index in indices], deadline)
            shares.append(Share(loop, submission, tuple(indices)))
        dispatch = Dispatch(tuple(shares), len(sequences))
        try:
            for share in shares:
                share.loop.inbox.submit(share.submission)
        except VersoError:
            dispatch.cancel()
            raise
        return dispatch

    def close(self, drain_seconds: float) -> None:
        """Takes no more work, finishes within `drain_seconds` what there is, and ends the threads."""
        for loop in self.loops:
            loop.inbox.close()
        for thread in self._threads:
            thread.close(drain_seconds)

    def _split(self, sequences: Items[Sequence]) -> list[tuple[DecodeLoop, list[int]]]:
        """Gives each sequence to the loop with the fewest tokens open, itself counted; equals go to the first.

        The longest go first: sequences of like length then run together, which are encoded in fewer runs and padded
        less, and no long one is left to run alone at the end.
        """
        tokens = [loop.inbox.open_tokens for loop in self.loops]
        shares: list[list[int]] = [[] for _ in self.loops]
        for index in sorted(range(len(sequences)), key=lambda index: -sequences[index].num_tokens):
            chosen = tokens.index(min(tokens))
            shares[chosen].append(index)
            tokens[chosen] += sequences[index].num_tokens
        return [(loop, share) for loop, share in zip(self.loops, shares, strict=True) if share]
