"""Back pointers: what each beam of each slot took at each step.

Beams are never copied when they are reordered. A hypothesis is read back from its last step to its first, once,
when it is returned.
"""

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from service.search.rules import FloatArray, IntArray

Scalar = TypeVar("Scalar", bound=np.generic)


class History:
    """Tokens, parents and log-probabilities per slot, step and beam; grows with the longest sequence.

    Arrays are (slots, T, K): token int64, parent beam int64, log-probability float32.
    """

    def __init__(self, width: int) -> None:
        self._tokens = np.zeros((4, 32, width), np.int64)
        self._parents = np.zeros((4, 32, width), np.int64)
        self._log_probs = np.zeros((4, 32, width), np.float32)

    def record(
        self, slots: IntArray, steps: IntArray, tokens: IntArray, parents: IntArray, log_probs: FloatArray
    ) -> None:
        """Writes one step of n slots: slots, steps (n,); tokens, parents (n, K) int64; log_probs (n, K) float32."""
        self._reserve(int(slots.max()) + 1, int(steps.max()) + 1)
        self._tokens[slots, steps] = tokens
        self._parents[slots, steps] = parents
        self._log_probs[slots, steps] = log_probs

    def trace(self, slot: int, step: int, beam: int) -> tuple[list[int], list[float], list[int]]:
        """Returns the tokens, log-probabilities and parents of steps 0 to `step` on the path that ends in `beam`."""
        tokens, log_probs, parents = [], [], []
        for index in range(step, -1, -1):
            tokens.append(int(self._tokens[slot, index, beam]))
            log_probs.append(float(self._log_probs[slot, index, beam]))
            beam = int(self._parents[slot, index, beam])
            parents.append(beam)
        return tokens[::-1], log_probs[::-1], parents[::-1]

    def tokens(self, slot: int, step: int, beam: int) -> list[int]:
        """Returns the tokens alone of steps 0 to `step` on the path that ends in `beam`; much cheaper than `trace`."""
        tokens = self._tokens[slot, : step + 1].tolist()
        if len(tokens[0]) == 1:
            return [token for (token,) in tokens]
        path = []
        for row, parents in zip(reversed(tokens), reversed(self._parents[slot, : step + 1].tolist()), strict=True):
            path.append(row[beam])
            beam = parents[beam]
        return path[::-1]

    def _reserve(self, num_slots: int, num_steps: int) -> None:
        slots, steps, width = self._tokens.shape
        if num_slots <= slots and num_steps <= steps:
            return
        shape = (max(num_slots, slots * 2 if num_slots > slots else slots), _doubled(steps, num_steps), width)
        self._tokens = _grown(self._tokens, shape)
        self._parents = _grown(self._parents, shape)
        self._log_probs = _grown(self._log_probs, shape)


def _doubled(size: int, needed: int) -> int:
    while size < needed:
        size *= 2
    return size


def _grown(array: npt.NDArray[Scalar], shape: tuple[int, ...]) -> npt.NDArray[Scalar]:
    larger = np.zeros(shape, array.dtype)
    larger[tuple(slice(0, size) for size in array.shape)] = array
    return larger
