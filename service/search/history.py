"""Back pointers: what each beam of each slot took at each step.

Beams are never copied when they are reordered. A hypothesis is read back from its last step to its first, once,
when it is returned. All slots are written at one step of the group, whatever step it is of their own sequence.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from service.search.rules import FloatArray, IntArray

Scalar = TypeVar("Scalar", bound=np.generic)


@dataclass(frozen=True, slots=True)
class Path:
    """One hypothesis read back: its tokens, their log-probabilities, and the beams they were predicted from."""

    tokens: list[int]
    log_probs: list[float]
    parents: list[int]


class History:
    """Tokens, parents and log-probabilities per slot, step and beam.

    Arrays are (slots, T, K): token int64, parent beam uint8, log-probability float32. T is a window of steps that
    slides along, and grows with the longest sequence.

    steps: how many the group has made.
    """

    def __init__(self, num_slots: int, width: int) -> None:
        self.steps = 0
        # The step that the window begins with.
        self._first = 0
        self._tokens = np.zeros((num_slots, 128, width), np.int64)
        self._parents = np.zeros((num_slots, 128, width), np.uint8)
        self._log_probs = np.zeros((num_slots, 128, width), np.float32)

    @property
    def is_full(self) -> bool:
        """Whether there is no room for a further step."""
        return self.steps - self._first == self._tokens.shape[1]

    def make_room(self, oldest: int) -> None:
        """Forgets the steps before `oldest`, and makes the window twice as long if that would give too little."""
        length = self._tokens.shape[1]
        self._resize(len(self._tokens), length if 2 * (self.steps - oldest) <= length else 2 * length, oldest)

    def add_slots(self) -> None:
        """Makes room for twice as many slots."""
        self._resize(2 * len(self._tokens), self._tokens.shape[1], self._first)

    def record(self, slots: slice | IntArray, tokens: IntArray, parents: IntArray, log_probs: FloatArray) -> None:
        """Writes one step of n slots: slots (n,) or the slice of them; tokens, parents, log_probs (n, K)."""
        place = self.steps - self._first
        self._tokens[slots, place] = tokens
        if parents.shape[1] > 1:
            self._parents[slots, place] = parents
        self._log_probs[slots, place] = log_probs
        self.steps += 1

    def trace(self, slot: int, start: int, stop: int, beam: int) -> Path:
        """Returns what the path took in steps `start` to `stop` - 1 that ends in `beam`."""
        steps = slice(start - self._first, stop - self._first)
        if self._tokens.shape[2] == 1:
            tokens, log_probs = self._tokens[slot, steps, 0].tolist(), self._log_probs[slot, steps, 0].tolist()
            return Path(tokens, log_probs, [0] * len(tokens))
        token, log_prob = self._tokens[slot, steps].item, self._log_probs[slot, steps].item
        tokens, log_probs, parents = [], [], []
        for place, parent in self._walk(slot, steps, beam):
            tokens.append(token(place))
            log_probs.append(log_prob(place))
            parents.append(parent)
        return Path(tokens[::-1], log_probs[::-1], parents[::-1])

    def tokens(self, slot: int, start: int, stop: int, beam: int) -> list[int]:
        """Returns the tokens alone of the path that `trace` returns; cheaper."""
        steps = slice(start - self._first, stop - self._first)
        if self._tokens.shape[2] == 1:
            only: list[int] = self._tokens[slot, steps, 0].tolist()
            return only
        token = self._tokens[slot, steps].item
        return [token(place) for place, _ in self._walk(slot, steps, beam)][::-1]

    def _walk(self, slot: int, steps: slice, beam: int) -> Iterator[tuple[int, int]]:
        """Goes along a path that ends in `beam` from its last step to its first.

        Gives where each step took what it took, as a place among the (t K) of a slot's t steps, and its parent.
        """
        # Bytes and single items, so that nothing is made of what other paths took.
        parents, width = self._parents[slot, steps].tobytes(), self._parents.shape[2]
        for first in range(len(parents) - width, -1, -width):
            place = first + beam
            beam = parents[place]
            yield place, beam

    def _resize(self, num_slots: int, length: int, first: int) -> None:
        """Moves what stands from step `first` on into arrays for so many slots and steps."""
        kept = slice(first - self._first, self.steps - self._first)
        self._tokens = _moved(self._tokens, kept, num_slots, length)
        self._parents = _moved(self._parents, kept, num_slots, length)
        self._log_probs = _moved(self._log_probs, kept, num_slots, length)
        self._first = first


def _moved(array: npt.NDArray[Scalar], kept: slice, num_slots: int, length: int) -> npt.NDArray[Scalar]:
    larger = np.zeros((num_slots, length, array.shape[2]), array.dtype)
    larger[: len(array), : kept.stop - kept.start] = array[:, kept]
    return larger
