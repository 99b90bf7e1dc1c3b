"""Several decode loops of one model, and which of them decodes what.

Each has a running batch of its own. Small graphs gain little from more threads within a step and much from several
steps at once. Where a sequence runs changes nothing but time.
"""

import time
from collections.abc import Sequence as Items
from concurrent.futures import Future
from dataclasses import dataclass

from service.errors import VersoError
from service.scheduler.sequence import Sequence, SequenceResult, Submission
from service.scheduler.worker import DecodeWorker


@dataclass(frozen=True, slots=True, eq=False)
class Share:
    """The part of a dispatch that one worker decodes; indices say which sequences of the dispatch these are."""

    worker: DecodeWorker
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
            share.worker.gate.cancel(share.submission)


class DecodePool:
    """The workers of one model."""

    def __init__(self, workers: Items[DecodeWorker]) -> None:
        self.workers = tuple(workers)

    @property
    def healthy(self) -> bool:
        """Whether every worker lives and no one's last step failed."""
        return all(worker.healthy for worker in self.workers)

    def dispatch(self, sequences: Items[Sequence], deadline: float | None) -> Dispatch:
        """Hands sequences to the workers; `deadline` is of time.monotonic.

        Raises QueueFullError, ShuttingDownError or DecodingLostError, and then nothing of them is decoded.
        """
        shares = []
        for worker, indices in self._split(sequences):
            submission = Submission([sequences[index] for index in indices], deadline)
            shares.append(Share(worker, submission, tuple(indices)))
        dispatch = Dispatch(tuple(shares), len(sequences))
        try:
            for share in shares:
                share.worker.gate.submit(share.submission)
        except VersoError:
            dispatch.cancel()
            raise
        return dispatch

    def close(self, drain_seconds: float) -> None:
        """Takes no more work, finishes within `drain_seconds` what there is, and ends the workers."""
        give_up_at = time.monotonic() + drain_seconds
        for worker in self.workers:
            worker.stop(give_up_at)
        for worker in self.workers:
            worker.join()

    def _split(self, sequences: Items[Sequence]) -> list[tuple[DecodeWorker, list[int]]]:
        """Gives each sequence to the worker that is up and has the fewest tokens open, itself counted; else the first.

        The longest go first: sequences of like length then run together, which are encoded in fewer runs and padded
        less, and no long one is left to run alone at the end.
        """
        # If none is up, the first one says so.
        workers = [worker for worker in self.workers if worker.is_up] or self.workers[:1]
        tokens = [worker.gate.open_tokens for worker in workers]
        shares: list[list[int]] = [[] for _ in workers]
        for index in sorted(range(len(sequences)), key=lambda index: -sequences[index].num_tokens):
            chosen = tokens.index(min(tokens))
            shares[chosen].append(index)
            tokens[chosen] += sequences[index].num_tokens
        return [(worker, share) for worker, share in zip(workers, shares, strict=True) if share]
