"""The one external data file of a package: every distinct tensor once, aligned, in the order it is first used.

Graphs refer to tensors by offset, so tensors shared by graphs (and shapes that alias the same bytes) cost nothing.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

LARGE_BYTES = 4096
# Mapping wants page alignment; only tensors worth a page get it, so that many small ones do not bloat the file.
LARGE_ALIGNMENT = 4096
SMALL_ALIGNMENT = 64


@dataclass(frozen=True, slots=True)
class Extent:
    """Where a tensor's bytes lie in the file."""

    offset: int
    length: int


class WeightStore:
    """Appends tensors to a file; use as a context manager."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("wb")
        self._end = 0
        self._extents: dict[tuple[str, str], Extent] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def add(self, array: NDArray[Any]) -> Extent:
        """The extent of an array's bytes, which are written unless equal bytes of the same type are there already."""
        array = np.ascontiguousarray(array)
        data = array.data.cast("B")
        key = (array.dtype.str, hashlib.sha256(data).hexdigest())
        extent = self._extents.get(key)
        if extent is None:
            extent = self._append(data)
            self._extents[key] = extent
        return extent

    def flush(self) -> None:
        """Makes everything added so far readable by others."""
        self._file.flush()

    def _append(self, data: memoryview) -> Extent:
        alignment = LARGE_ALIGNMENT if data.nbytes >= LARGE_BYTES else SMALL_ALIGNMENT
        padding = -self._end % alignment
        self._file.write(b"\0" * padding)
        self._file.write(data)
        extent = Extent(self._end + padding, data.nbytes)
        self._end = extent.offset + extent.length
        return extent
