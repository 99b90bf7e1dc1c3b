"""Reads Marian's `.npz` weight files: a zip archive with one numpy array for each tensor.

Gives tensors in the shapes that Marian's graphs know, linear weights [in, out]. What they are for is `network`'s job.
"""

import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from service.errors import ExportError

_SUFFIX = ".npy"


@dataclass(frozen=True, slots=True)
class _Header:
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


class MarianNpzFile:
    """One archive; `read` unpacks one array at a time."""

    def __init__(self, path: Path) -> None:
        """Reads the headers of all arrays. Raises ExportError when the file is damaged or holds other things."""
        self.path = path
        try:
            self._archive = zipfile.ZipFile(path)
            self._headers = {name.removesuffix(_SUFFIX): self._header(name) for name in self._archive.namelist()}
        except (OSError, ValueError, zipfile.BadZipFile, zlib.error) as error:
            raise ExportError(f"{path.name} is not an .npz file of numpy arrays: {error}") from None
        strange = {name: str(header.dtype) for name, header in self._headers.items() if header.dtype.kind not in "fiu"}
        if strange:
            problems = [f"tensor {name} has element type {kind}" for name, kind in sorted(strange.items())]
            raise ExportError(f"{path.name} cannot be read", problems)

    @property
    def names(self) -> frozenset[str]:
        """Names of all tensors in the file."""
        return frozenset(self._headers)

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of one tensor, from its header."""
        return self._headers[name].shape

    def read(self, name: str) -> NDArray[np.float32]:
        """One tensor as float32. Raises ExportError when its part of the file is damaged."""
        return np.asarray(self._array(name).astype(np.float32, copy=False))

    def text(self, name: str) -> str:
        """A tensor of bytes as text, up to its first zero byte."""
        return self._array(name).astype(np.uint8).tobytes().split(b"\0")[0].decode("utf-8")

    def _array(self, name: str) -> NDArray[Any]:
        try:
            with self._archive.open(name + _SUFFIX) as file:
                return np.asarray(npy.read_array(file, allow_pickle=False))
        except (OSError, ValueError, zipfile.BadZipFile, zlib.error) as error:
            raise ExportError(f"{self.path.name} is damaged at tensor {name}: {error}") from None

    def _header(self, name: str) -> _Header:
        with self._archive.open(name) as file:
            shape, _, dtype = _read_header(file)
        return _Header(shape, dtype)


def _read_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = npy.read_magic(file)
    return npy.read_array_header_1_0(file) if version == (1, 0) else npy.read_array_header_2_0(file)
