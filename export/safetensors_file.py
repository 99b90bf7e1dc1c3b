"""Reads and writes the safetensors layout: an 8-byte header length, a JSON header, then flat little-endian data.

Reading maps the file: a tensor costs memory only when it is widened. What a network needs of it is the families' job.
"""

import json
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.errors import ExportError

_LENGTH_BYTES = 8
_DTYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    # bfloat16 is the upper half of a float32: read as integers, shifted up when widened.
    "BF16": np.dtype("<u2"),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "I8": np.dtype("i1"),
    "U8": np.dtype("u1"),
    "BOOL": np.dtype("?"),
}
_NAMES = {np.dtype("<f4"): "F32", np.dtype("<f2"): "F16", np.dtype("<i8"): "I64"}


class SafetensorsFile:
    """One mapped file; `names` and `shape` cost nothing, `read` gives a float32 array."""

    def __init__(self, path: Path) -> None:
        """Reads the header. Raises ExportError when the file is not whole or not in this layout."""
        self.path = path
        size = path.stat().st_size
        try:
            with path.open("rb") as file:
                (length,) = struct.unpack("<Q", file.read(_LENGTH_BYTES))
                if length > size - _LENGTH_BYTES:
                    raise ValueError("the header is longer than the file")
                header = json.loads(file.read(length))
            header.pop("__metadata__", None)
            self._entries: dict[str, dict[str, Any]] = header
            self._start = _LENGTH_BYTES + length
            end = max((entry["data_offsets"][1] for entry in header.values()), default=0)
        except (ValueError, KeyError, TypeError, AttributeError, struct.error) as error:
            raise ExportError(f"{path.name} is not a safetensors file: {error}") from None
        if self._start + end > size:
            raise ExportError(f"{path.name} is truncated: {self._start + end} bytes expected, {size} present")

    @property
    def names(self) -> frozenset[str]:
        """Names of all tensors in the file."""
        return frozenset(self._entries)

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of one tensor, from the header."""
        return tuple(self._entries[name]["shape"])

    def dtype(self, name: str) -> str:
        """Stored element type as the file spells it, such as F16."""
        return str(self._entries[name]["dtype"])

    def read(self, name: str) -> NDArray[np.float32]:
        """One tensor widened to float32; a float32 tensor is a read-only view of the file."""
        entry = self._entries[name]
        kind = entry["dtype"]
        if kind not in _DTYPES:
            raise ExportError(f"{self.path.name}: tensor {name} has element type {kind}, which cannot be read")
        start, end = entry["data_offsets"]
        dtype = _DTYPES[kind]
        count = (end - start) // dtype.itemsize
        values: NDArray[Any] = np.memmap(self.path, dtype, mode="r", offset=self._start + start, shape=(count,))
        if kind == "BF16":
            values = (values.astype(np.uint32) << 16).view(np.float32)
        return np.asarray(values.astype(np.float32, copy=False)).reshape(entry["shape"])


def write_safetensors(path: Path, tensors: Mapping[str, NDArray[Any]]) -> None:
    """Writes tensors sorted by name (float32, float16 or int64), so equal tensors give equal files."""
    header: dict[str, Any] = {}
    offset = 0
    for name in sorted(tensors):
        array = tensors[name]
        header[name] = {
            "dtype": _NAMES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [offset, offset + array.nbytes],
        }
        offset += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)))
        file.write(text)
        file.writelines(_chunks(tensors))


def _chunks(tensors: Mapping[str, NDArray[Any]]) -> Iterator[bytes]:
    for name in sorted(tensors):
        yield np.ascontiguousarray(tensors[name]).tobytes()
