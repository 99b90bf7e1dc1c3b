"""Cross-attention keys and values of all sources in the running batch, one copy per source.

Sources are dense and share one padded length, that of the longest. The buffer is laid out again when a longer source
joins or when the longest has become much shorter.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from service.engine.arrays import FloatArray, IntArray
from service.engine.gaps import close_gaps

# The padded length is a multiple of this, a whole number of vectors on every processor: added up by vectors, what
# padding contributes is exactly nothing, however much of it there is.
_VECTOR = 16

# Laying out anew costs about a step's cross-attention; reading half as much in every later step pays for that.
_SHRINK_BELOW = 0.5


class MemoryPool:
    """Keys and values (2 x layers, S, H, L, D) float32 with the sources' real lengths (S,) int32.

    version: changes whenever views taken before are no longer the pool.
    """

    def __init__(self, num_layers: int, num_heads: int, head_width: int) -> None:
        self._heads, self._width = num_heads, head_width
        self._flat = np.empty((2 * num_layers, 0), np.float32)
        self._padded = np.zeros(0, np.int64)
        self._length = _VECTOR
        self.lengths = np.zeros(0, np.int32)
        self.version = 0

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def padded_length(self) -> int:
        """The L of the buffer."""
        return self._length

    def view(self, index: int) -> FloatArray:
        """Returns one tensor, (S, H, L, D), contiguous."""
        return np.asarray(self._tensors(len(self))[index])

    def last(self, index: int) -> FloatArray:
        """Returns each source's last token in one tensor, (S, 1, H * D), a copy."""
        tensor = self.view(index)
        rows = tensor[np.arange(len(self)), :, self.lengths - 1]
        return np.ascontiguousarray(rows.reshape(len(self), 1, self._heads * self._width))

    def add(self, tensors: Sequence[FloatArray], lengths: npt.NDArray[np.int32]) -> None:
        """Appends n sources: 2 x layers tensors (n, H, l, D) and real lengths (n,) int32."""
        before, (count, _, padded, _) = len(self), tensors[0].shape
        self.version += 1
        self._lay_out(max(self._length, _whole_vectors(padded)), before + count)
        self._padded = np.concatenate([self._padded, np.full(count, padded)])
        self.lengths = np.concatenate([self.lengths, lengths])
        target = self._tensors(len(self))
        for index, tensor in enumerate(tensors):
            target[index, before:, :, :padded] = tensor
            # What lies beyond a source's length is masked, but 0 x NaN would still be NaN.
            target[index, before:, :, padded:] = 0.0

    def remove(self, indices: IntArray) -> IntArray:
        """Drops sources and closes the gaps; returns (S,) int64, the new index of each old one, -1 if dropped."""
        total = len(self)
        self.version += 1
        mapping = close_gaps(indices, total)
        moved = np.flatnonzero((mapping >= 0) & (mapping != np.arange(total)))
        data = self._tensors(total)
        for old, new in zip(moved.tolist(), mapping[moved].tolist(), strict=True):
            data[:, new] = data[:, old]
            self._padded[new], self.lengths[new] = self._padded[old], self.lengths[old]
        kept = total - len(indices)
        self._padded, self.lengths = self._padded[:kept].copy(), self.lengths[:kept].copy()
        needed = _whole_vectors(int(self._padded.max(initial=1)))
        if needed <= _SHRINK_BELOW * self._length:
            self._lay_out(needed, kept)
        return mapping

    def _lay_out(self, length: int, room: int) -> None:
        """Gives the buffer padded length `length` and room for `room` sources, keeping those it holds."""
        size = room * self._heads * length * self._width
        if length == self._length and size <= self._flat.shape[1]:
            return
        common = min(length, self._length)
        held = self._tensors(len(self))[:, :, :, :common].copy()
        if size > self._flat.shape[1]:
            self._flat = np.empty((len(self._flat), 2 * size), np.float32)
        self._length = length
        target = self._tensors(len(self))
        target[:, :, :, :common] = held
        target[:, :, :, common:] = 0.0

    def _tensors(self, count: int) -> FloatArray:
        shape = (len(self._flat), count, self._heads, self._length, self._width)
        size = count * self._heads * self._length * self._width
        # Splitting the last axis of a slice is a view, whatever the distance between the rows.
        return self._flat[:, :size].reshape(shape)


def _whole_vectors(length: int) -> int:
    return -(-length // _VECTOR) * _VECTOR
