"""Cross-attention keys and values of all sources in the running batch, one copy per source.

Sources are dense and share one padded length, that of the longest. The buffer is laid out again when a longer source
joins or when the longest has become much shorter.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import onnxruntime as ort

from service.engine.arrays import IntArray, KeptArray, KeptType
from service.engine.encoded import EncoderRun
from service.engine.gaps import close_gaps
from service.engine.prefix import Prefix

# The padded length is a multiple of this, a whole number of vectors on every processor: added up by vectors, what
# padding contributes is exactly nothing, however much of it there is.
_VECTOR = 16

# Laying out anew costs about a step's cross-attention; reading half as much in every later step pays for that.
_SHRINK_BELOW = 0.5

_FIRST_CAPACITY = 8


def whole_vectors(length: int) -> int:
    """Returns the padded length of a source of `length` tokens."""
    return -(-length // _VECTOR) * _VECTOR


class MemoryPool:
    """Keys and values (2 x layers, S, H, L, D) of one dtype with the sources' real lengths (S,) int32.

    version: changes whenever values taken before are no longer the pool.
    """

    def __init__(self, num_layers: int, num_heads: int, head_width: int, dtype: KeptType = np.float32) -> None:
        self._dtype = dtype
        self._num_tensors, self._heads, self._width = 2 * num_layers, num_heads, head_width
        self._count = 0
        self.version = 0
        self._allocate(_FIRST_CAPACITY, _VECTOR)

    def __len__(self) -> int:
        return self._count

    @property
    def padded_length(self) -> int:
        """The L of the buffer."""
        return int(self._data.shape[3])

    @property
    def lengths(self) -> npt.NDArray[np.int32]:
        """Real lengths, (S,) int32."""
        return self._lengths.view(self._count)

    def view(self, index: int) -> KeptArray:
        """Returns one tensor, (S, H, L, D), contiguous."""
        return self._data[index, : self._count]

    def last(self, index: int) -> KeptArray:
        """Returns each source's last token in one tensor, (S, 1, H * D)."""
        return self._last[index, : self._count]

    def value(self, index: int) -> ort.OrtValue:
        """Returns what `view` does, for ONNX Runtime."""
        return self._tensors[index].value(self._count)

    def last_value(self, index: int) -> ort.OrtValue:
        """Returns what `last` does, for ONNX Runtime."""
        return self._lasts[index].value(self._count)

    def lengths_value(self) -> ort.OrtValue:
        """Returns `lengths` for ONNX Runtime."""
        return self._lengths.value(self._count)

    def past_value(self) -> ort.OrtValue:
        """Returns lengths less one, (S,) int32, for ONNX Runtime."""
        return self._past.value(self._count)

    def longest_value(self) -> ort.OrtValue:
        """Returns the longest length, (1,) int32, for ONNX Runtime."""
        return self._longest.value(1)

    def add(self, run: EncoderRun, indices: Sequence[int]) -> None:
        """Appends sources of a run, as many as there are indices."""
        before, count, lengths = len(self), len(indices), run.lengths[indices]
        # Their run may have been padded for longer ones.
        padded = whole_vectors(int(lengths.max()))
        self._lay_out(max(self.padded_length, padded), before + count)
        self._count += count
        new = slice(before, before + count)
        for index, tensor in enumerate(run.tensors):
            self._data[index, new, :, :padded] = tensor[indices, :, :padded]
            # What lies beyond a source's length is masked, but 0 x NaN would still be NaN.
            self._data[index, new, :, padded:] = 0.0
            self._last[index, new, 0] = tensor[indices, :, lengths - 1].reshape(count, -1)
        self.lengths[new] = lengths
        self._changed()

    def remove(self, indices: IntArray) -> IntArray:
        """Drops sources and closes the gaps; returns (S,) int64, the new index of each old one, -1 if dropped."""
        total = len(self)
        mapping = close_gaps(indices, total)
        moved = np.flatnonzero((mapping >= 0) & (mapping != np.arange(total)))
        for old, new in zip(moved.tolist(), mapping[moved].tolist(), strict=True):
            length = self.lengths[new] = self.lengths[old]
            # Beyond that the place has what its last source left, or zeros: either is finite.
            self._data[:, new, :, :length] = self._data[:, old, :, :length]
            self._last[:, new] = self._last[:, old]
        self._count = total - len(indices)
        needed = whole_vectors(int(self.lengths.max(initial=1)))
        if needed <= _SHRINK_BELOW * self.padded_length:
            self._lay_out(needed, self._count)
        self._changed()
        return mapping

    def _changed(self) -> None:
        self.version += 1
        np.subtract(self.lengths, 1, out=self._past.view(self._count))
        self._longest.view(1)[0] = self.lengths.max(initial=1)

    def _lay_out(self, length: int, room: int) -> None:
        """Gives the buffer padded length `length` and room for `room` sources, keeping those it holds."""
        capacity = self._data.shape[1]
        if length == self.padded_length and room <= capacity:
            return
        while capacity < room:
            capacity *= 2
        data, last, lengths, count = self._data, self._last, self.lengths, self._count
        self._allocate(capacity, length)
        common = min(length, data.shape[3])
        self._data[:, :count, :, :common] = data[:, :count, :, :common]
        self._data[:, :count, :, common:] = 0.0
        self._last[:, :count] = last[:, :count]
        self.lengths[:] = lengths

    def _allocate(self, capacity: int, length: int) -> None:
        # Pages that no source has reached cost no memory.
        self._data = np.empty((self._num_tensors, capacity, self._heads, length, self._width), self._dtype)
        self._last = np.empty((self._num_tensors, capacity, 1, self._heads * self._width), self._dtype)
        self._tensors, self._lasts = ([Prefix(tensor) for tensor in array] for array in (self._data, self._last))
        self._lengths, self._past = (Prefix(np.zeros(capacity, np.int32)) for _ in range(2))
        self._longest = Prefix(np.zeros(1, np.int32))
