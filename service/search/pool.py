"""The finished hypotheses of one sequence in beam search, and when they are final.

Numbers are compared in float32, as Hugging Face does. Plain objects, since only some members of a group finish
something in a step.
"""

from functools import lru_cache
from struct import Struct
from typing import NamedTuple

import numpy as np

from service.search.options import DecodingOptions
from service.search.rules import IMPOSSIBLE

_FLOAT32 = Struct("f")
_IMPOSSIBLE = float(IMPOSSIBLE)


class Finished(NamedTuple):
    """A finished hypothesis as a pointer into the history.

    score: normalised. step: its last one, as the history counts. parent: the beam it continued. token, log_prob: what
    it ended with.
    """

    score: float
    step: int
    parent: int
    token: int
    log_prob: float


class Pool:
    """The best K finished hypotheses, best first."""

    def __init__(self, options: DecodingOptions, limit: int) -> None:
        self.best: list[Finished] = []
        self._width = options.beam_size
        self._length_penalty = options.length_penalty
        self._stops_early = options.early_stopping is True
        # The length by which live hypotheses are judged; 0 for their present one.
        self._reach = limit if options.early_stopping == "never" and options.length_penalty > 0 else 0

    @property
    def is_full(self) -> bool:
        """Whether K hypotheses have finished."""
        return len(self.best) == self._width

    def normalised(self, score: float, length: int) -> float:
        """Returns the score of a hypothesis by the member's own length penalty; see `normalised`."""
        return normalised(score, length, self._length_penalty)

    def add(self, finished: list[Finished]) -> None:
        """Takes in what finished in one step, in order; of equal scores the older one or the first stays ahead."""
        if self._stops_early and self.is_full:
            return
        for one in finished:
            if one.score > _IMPOSSIBLE:
                place = len(self.best)
                while place and self.best[place - 1].score < one.score:
                    place -= 1
                self.best.insert(place, one)
        del self.best[self._width :]

    def is_final(self, score: float, length: int) -> bool:
        """Says whether a full pool can no longer change; score is the sum of the best live hypothesis."""
        possible = self.normalised(score, self._reach or length)
        return self._stops_early or not possible > self.best[-1].score


def normalised(score: float, length: int, length_penalty: float) -> float:
    """Returns a sum of log-probabilities divided by length^length_penalty, all of them float32."""
    # A quotient of float32 numbers rounds to the same float32 by way of float64. Plain floats are cheaper here.
    return float(_FLOAT32.unpack(_FLOAT32.pack(score / _divisor(length, length_penalty)))[0])


@lru_cache(maxsize=4096)
def _divisor(length: int, penalty: float) -> float:
    # numpy's power of arrays, as always: that of scalars may round differently.
    return float(np.power(np.array([length], np.float64), np.array([penalty], np.float64)).astype(np.float32)[0])
