"""Reads and writes the safetensors layout: an 8-byte header length, a JSON header, then flat little-endian data.

A float32 tensor is a view of the mapped file; others are widened a stretch at a time, so that reading one takes no more
memory than the result. What a network needs of a file is the families' job.
"""

import json
import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.errors import ExportError

_LENGTH_BYTES = 8
_METADATA = "__metadata__"
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
_VALUES_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True)
class _Entry:
    """One tensor of the header; offsets count from the end of the header."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int


class SafetensorsFile:
    """One file; `names` and `shape` cost nothing, `read` gives a float32 array."""

    def __init__(self, path: Path) -> None:
        """Reads and checks the header. Raises ExportError with every fault of the file."""
        self.path = path
        size = path.stat().st_size
        header, self._start = _read_header(path, size)
        self._entries: dict[str, _Entry] = {}
        problems = []
        for name, fields in header.items():
            entry, problem = _entry(fields)
            if problem:
                problems.append(f"tensor {name} {problem}")
            if entry is not None:
                self._entries[name] = entry
        problems += _layout_problems(self._entries, size - self._start)
        if problems:
            raise ExportError(f"{path.name} is damaged", [f"{path.name}: {problem}" for problem in problems])

    @property
    def names(self) -> frozenset[str]:
        """Names of all tensors in the file."""
        return frozenset(self._entries)

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of one tensor, from the header."""
        return self._entries[name].shape

    def dtype(self, name: str) -> str:
        """Stored element type as the file spells it, such as F16."""
        return self._entries[name].dtype

    def read(self, name: str) -> NDArray[np.float32]:
        """One tensor widened to float32, of the shape in the header; a float32 tensor is a read-only view."""
        entry = self._entries[name]
        dtype, count = _DTYPES[entry.dtype], math.prod(entry.shape)
        if entry.dtype == "F32" and count:
            mapped = np.memmap(self.path, dtype, mode="r", offset=self._start + entry.start, shape=(count,))
            return np.asarray(mapped).reshape(entry.shape)
        values = np.empty(count, np.float32)
        with self.path.open("rb") as file:
            file.seek(self._start + entry.start)
            for start in range(0, count, _VALUES_AT_ONCE):
                some = values[start : start + _VALUES_AT_ONCE]
                stored = np.fromfile(file, dtype, len(some))
                if entry.dtype == "BF16":
                    np.left_shift(stored, 16, out=some.view(np.uint32), dtype=np.uint32)
                else:
                    some[:] = stored
        return values.reshape(entry.shape)


def write_safetensors(path: Path, tensors: Mapping[str, NDArray[Any]]) -> None:
    """Writes tensors sorted by name (float32, float16 or int64), so equal tensors give equal files.

    Each tensor is asked for twice and let go again: a mapping that reads them makes this a copy of any size.
    """
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
        del array
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)))
        file.write(text)
        for name in sorted(tensors):
            file.write(np.ascontiguousarray(tensors[name]).reshape(-1).view(np.uint8).data)


def _read_header(path: Path, size: int) -> tuple[dict[str, Any], int]:
    """The header without its metadata, and where the data begins."""
    try:
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(_LENGTH_BYTES))
            if length > size - _LENGTH_BYTES:
                raise ValueError(f"its header should have {length} bytes, and {size - _LENGTH_BYTES} are there")
            header = json.loads(file.read(length), object_pairs_hook=_without_repetition)
        if not isinstance(header, dict):
            raise TypeError("its header is not a JSON object")
    except (ValueError, TypeError, struct.error) as error:
        raise ExportError(f"{path.name} is not a safetensors file: {error}") from None
    return {name: fields for name, fields in header.items() if name != _METADATA}, _LENGTH_BYTES + length


def _without_repetition(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise ValueError(f"its header names twice: {', '.join(twice)}")
    return dict(pairs)


def _entry(fields: Any) -> tuple[_Entry | None, str]:
    """An entry and what is wrong with it; without an entry nothing else about the tensor can be said."""
    try:
        dtype, shape, (start, end) = fields["dtype"], tuple(fields["shape"]), fields["data_offsets"]
        if not all(type(number) is int and number >= 0 for number in (*shape, start, end)):
            raise ValueError
        entry = _Entry(dtype, shape, start, end)
    except (KeyError, TypeError, ValueError):
        return None, "has no proper dtype, shape and data_offsets in the header"
    if dtype not in _DTYPES:
        return entry, f"has element type {dtype}, which cannot be read"
    expected = math.prod(shape) * _DTYPES[dtype].itemsize
    if end - start != expected:
        return entry, f"has {end - start} bytes of data for its {expected} ({dtype} {list(shape)})"
    return entry, ""


def _layout_problems(entries: Mapping[str, _Entry], size: int) -> Iterator[str]:
    """Data that overlaps, lies beyond the end, or that no tensor has; `size` is that of all data."""
    end, last = 0, ""
    beyond = []
    for name, entry in sorted(entries.items(), key=lambda item: (item[1].start, item[1].end)):
        if entry.start < end:
            yield f"tensors {last} and {name} share bytes"
        elif entry.start > end:
            yield f"{entry.start - end} bytes before tensor {name} belong to no tensor"
        if entry.end > size:
            beyond.append(name)
        if entry.end > end:
            end, last = entry.end, name
    if beyond:
        yield f"truncated: {end} bytes of data expected, {size} present; cut off: {', '.join(beyond)}"
    elif end < size:
        yield f"{size - end} bytes after the last tensor belong to no tensor"
