"""What rows keep of their own tokens, in buffers that the decoder graph updates in place.

Layers with self-attention keep keys and values, which grow with the row; layers with a recurrent unit keep one vector.
Rows are dense: row r of the cache is row r of a step. The buffers have room for `max_rows` rows from the start and
grow in length when a row outgrows them, so memory follows the longest translation seen.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import onnxruntime as ort

from service.engine.arrays import KeptArray, KeptType, RowCopy
from service.engine.prefix import Prefix

_FIRST_LENGTH = 64


@dataclass(frozen=True, slots=True)
class CacheLayout:
    """Names of what each layer keeps, and sizes.

    attention: names of keys and values, (R, H, T, D) each. states: names of recurrent states, (R, E) each.
    dtype: of keys and values; states are float32.
    """

    attention: tuple[str, ...]
    states: tuple[str, ...]
    num_heads: int
    head_width: int
    model_width: int
    dtype: KeptType = np.float32


class KVCache:
    """Keys and values (n, max_rows, H, T, D) of the layout's dtype, and states (m, max_rows, E) float32.

    version: changes whenever values taken before are no longer the cache.
    """

    def __init__(self, layout: CacheLayout, max_rows: int) -> None:
        self.version = 0
        self.names = (*layout.attention, *layout.states)
        self._layout = layout
        self._states = np.zeros((len(layout.states), max_rows, layout.model_width), np.float32)
        # Pages of the buffer that no row has reached cost no memory.
        shape = (len(layout.attention), max_rows, layout.num_heads, _FIRST_LENGTH, layout.head_width)
        self._hold(np.empty(shape, layout.dtype))

    def view(self, name: str, num_rows: int) -> KeptArray:
        """Returns the first rows of one tensor (R, ...), contiguous."""
        return self._prefixes[name].view(num_rows)

    def value(self, name: str, num_rows: int) -> ort.OrtValue:
        """Returns what `view` does, for ONNX Runtime."""
        return self._prefixes[name].value(num_rows)

    def reserve(self, length: int, num_rows: int) -> None:
        """Makes room for `length` positions, keeping what the first `num_rows` rows hold."""
        old = self._data
        tensors, max_rows, heads, room, width = old.shape
        if length <= room or not tensors:
            return
        while room < length:
            room *= 2
        self._hold(np.empty((tensors, max_rows, heads, room, width), self._layout.dtype))
        self._data[:, :num_rows, :, : old.shape[3]] = old[:, :num_rows]
        self.version += 1

    def copy_rows(self, copies: Sequence[RowCopy]) -> None:
        """Copies parts of rows, and their states; no row may be both read and written."""
        if not copies:
            return
        if self._layout.states:
            targets = [copy.target for copy in copies]
            self._states[:, targets] = self._states[:, [copy.source for copy in copies]]
        if not self._layout.attention:
            return
        givers: list[int] = []
        takers: list[int] = []
        positions: list[int] = []
        for source, target, start, stop in copies:
            givers += [source] * (stop - start)
            takers += [target] * (stop - start)
            positions += range(start, stop)
        # All at once: every single copy would let go of the interpreter and have to wait for it again.
        where = np.array(positions, np.int64)
        self._data[:, takers, :, where] = self._data[:, givers, :, where]

    def _hold(self, data: KeptArray) -> None:
        self._data = data
        tensors = [*data, *self._states]
        self._prefixes = {name: Prefix(tensor) for name, tensor in zip(self.names, tensors, strict=True)}
