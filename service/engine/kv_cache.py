"""Self-attention keys and values of all rows, in one buffer that the decoder graph updates in place.

Rows are dense: row r of the cache is row r of a step. The buffer has room for `max_rows` rows from the start and
grows in length when a row outgrows it, so memory follows the longest translation seen.
"""

import numpy as np
import onnxruntime as ort

from service.engine.arrays import FloatArray, IntArray
from service.engine.prefix import Prefix

_FIRST_LENGTH = 64


class KVCache:
    """Keys and values (2 x layers, max_rows, H, T, D) float32; index 2 x layer is keys, 2 x layer + 1 values.

    version: changes whenever values taken before are no longer the cache.
    """

    def __init__(self, num_layers: int, max_rows: int, num_heads: int, head_width: int) -> None:
        self.version = 0
        # Pages of the buffer that no row has reached cost no memory.
        self._hold(np.empty((2 * num_layers, max_rows, num_heads, _FIRST_LENGTH, head_width), np.float32))

    def view(self, index: int, num_rows: int) -> FloatArray:
        """Returns the first rows of one tensor, (R, H, T, D), contiguous."""
        return self._data[index, :num_rows]

    def value(self, index: int, num_rows: int) -> ort.OrtValue:
        """Returns what `view` does, for ONNX Runtime."""
        return self._prefixes[index].value(num_rows)

    def reserve(self, length: int, num_rows: int) -> None:
        """Makes room for `length` positions, keeping what the first `num_rows` rows hold."""
        old = self._data
        tensors, max_rows, heads, room, width = old.shape
        if length <= room:
            return
        while room < length:
            room *= 2
        self._hold(np.empty((tensors, max_rows, heads, room, width), np.float32))
        self._data[:, :num_rows, :, : old.shape[3]] = old[:, :num_rows]
        self.version += 1

    def copy_rows(self, sources: IntArray, targets: IntArray, lengths: IntArray) -> None:
        """Copies the first lengths[i] positions of row sources[i] to row targets[i]; all (n,) int64.

        No row may be both a source and a target. Targets may also get what lies behind their length.
        """
        if len(sources):
            longest = int(lengths.max())
            # All at once: every single copy would let go of the interpreter and have to wait for it again.
            self._data[:, targets, :, :longest] = self._data[:, sources, :, :longest]

    def _hold(self, data: FloatArray) -> None:
        self._data = data
        self._prefixes = [Prefix(tensor) for tensor in data]
