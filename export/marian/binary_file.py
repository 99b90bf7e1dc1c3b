"""Reads Marian's binary weight files, quantised ones included: headers, names, shapes, then data, little-endian.

Gives tensors in the shapes that Marian's graphs know, linear weights [in, out]. What they are for is `network`'s job.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.errors import ExportError

_VERSION = 1
_U64 = np.dtype("<u8")
_HEADER_FIELDS = 4
_LARGEST_COUNT = 1 << 20

# Type codes add a class (0x100 signed, 0x200 unsigned, 0x400 float) to a size in bytes.
_PLAIN: Mapping[int, np.dtype[Any]] = {
    base + size: np.dtype(f"<{letter}{size}")
    for base, letter, sizes in ((0x100, "i", (1, 2, 4, 8)), (0x200, "u", (1, 2, 4, 8)), (0x400, "f", (2, 4, 8)))
    for size in sizes
}
# The two code bases number the integer matrices of intgemm differently. Only the layout for any processor is here.
_INTEGERS: Mapping[int, np.dtype[Any]] = {
    0x4101: np.dtype("<i1"),
    0x4102: np.dtype("<i2"),
    0x10001: np.dtype("<i1"),
    0x10002: np.dtype("<i2"),
}
_READABLE = {**_PLAIN, **_INTEGERS}
# In these a row is a token's, and Marian looks rows up: quantised, they are not stored transposed like the others.
_TABLE = "Wemb"


@dataclass(frozen=True, slots=True)
class _Item:
    """Where one tensor is, as the file's head says."""

    kind: int
    shape: tuple[int, ...]
    start: int
    num_bytes: int


class MarianBinaryFile:
    """One mapped file; `names` and `shape` cost nothing, `read` gives a float32 array."""

    def __init__(self, path: Path) -> None:
        """Reads the head. Raises ExportError when the file is damaged or has matrices for one kind of processor."""
        self.path = path
        try:
            self._bytes: NDArray[np.uint8] = np.memmap(path, np.uint8, mode="r")
            self._items = self._head()
        except (ValueError, OSError, IndexError) as error:
            raise ExportError(f"{path.name} is not one of Marian's binary weight files: {error}") from None
        self._check()

    @property
    def names(self) -> frozenset[str]:
        """Names of all tensors in the file."""
        return frozenset(self._items)

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of one tensor, from the head."""
        return self._items[name].shape

    def read(self, name: str) -> NDArray[np.float32]:
        """One tensor as float32; integers are divided by the multiplier that stands behind them."""
        item = self._items[name]
        if item.kind in _INTEGERS:
            return self._dequantised(name, item)
        values: NDArray[Any] = self._data(item).view(_PLAIN[item.kind])
        return np.asarray(values.astype(np.float32, copy=False)).reshape(item.shape)

    def text(self, name: str) -> str:
        """A tensor of bytes as text, up to its first zero byte."""
        return self._data(self._items[name]).tobytes().split(b"\0")[0].decode("utf-8")

    def _dequantised(self, name: str, item: _Item) -> NDArray[np.float32]:
        """w = q / multiplier. All matrices but token tables lie transposed under the shape of the plain matrix."""
        dtype, count = _INTEGERS[item.kind], prod(item.shape)
        end = item.start + count * dtype.itemsize
        multiplier = float(self._bytes[end : end + 4].view("<f4")[0])
        values = (self._data(item).view(dtype).astype(np.float64) / multiplier).astype(np.float32)
        return values.reshape(item.shape) if _TABLE in name else values.reshape(item.shape[::-1]).T

    def _data(self, item: _Item) -> NDArray[np.uint8]:
        return self._bytes[item.start : item.start + _num_bytes(item)]

    def _head(self) -> dict[str, _Item]:
        reader = _Reader(self._bytes)
        version, count = reader.numbers(2)
        if version != _VERSION:
            raise ValueError(f"its version is {version}, not {_VERSION}")
        if count > _LARGEST_COUNT:
            raise ValueError(f"it announces {count} tensors")
        headers = [reader.numbers(_HEADER_FIELDS) for _ in range(count)]
        names = [reader.take(length).tobytes().rstrip(b"\0").decode("utf-8") for length, *_ in headers]
        shapes = [tuple(reader.take(4 * length).view("<i4").tolist()) for *_, length, _ in headers]
        (padding,) = reader.numbers(1)
        reader.take(padding)
        items = {}
        for name, shape, (_, kind, _, num_bytes) in zip(names, shapes, headers, strict=True):
            items[name] = _Item(kind, shape, reader.place, num_bytes)
            reader.take(num_bytes)
        return items

    def _check(self) -> None:
        strange = Counter(item.kind for item in self._items.values() if item.kind not in _READABLE)
        problems = [
            f"{count} tensors of type {kind:#x}, which is packed for one kind of processor or not known: convert the "
            "model with --gemm-type float32 or intgemm8"
            for kind, count in sorted(strange.items())
        ]
        problems += [
            f"tensor {name} of shape {list(item.shape)} has {item.num_bytes} bytes"
            for name, item in self._items.items()
            if item.kind in _READABLE and item.num_bytes < _num_bytes(item) + (4 if item.kind in _INTEGERS else 0)
        ]
        if problems:
            raise ExportError(f"{self.path.name} cannot be read", problems)


class _Reader:
    """Takes what is next in the file. Raises ValueError where the file has ended."""

    def __init__(self, content: NDArray[np.uint8]) -> None:
        self._content = content
        self.place = 0

    def take(self, count: int) -> NDArray[np.uint8]:
        end = self.place + count
        if end > len(self._content):
            raise ValueError(f"it is truncated: {end} bytes or more expected, {len(self._content)} present")
        taken = self._content[self.place : end]
        self.place = end
        return taken

    def numbers(self, count: int) -> list[int]:
        return [int(value) for value in self.take(count * _U64.itemsize).view(_U64)]


def _num_bytes(item: _Item) -> int:
    """Bytes of the numbers alone; what follows is a multiplier, then padding that means nothing."""
    return prod(item.shape) * _READABLE[item.kind].itemsize
