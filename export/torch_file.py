"""Reads `pytorch_model.bin` through torch, which the exporter uses for nothing else.

Checkpoints with safetensors weights never come here.
"""

import zipfile
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.errors import ExportError


class TorchFile:
    """The tensors of one `.bin` file, mapped by torch where the file allows it."""

    def __init__(self, path: Path) -> None:
        """Loads the file without running code from it. Raises ExportError when torch is absent or refuses."""
        try:
            torch: Any = import_module("torch")
        except ImportError:
            raise ExportError(
                f"{path.name} needs torch to be read: install the extra `parity` (pip install 'verso[parity]'), "
                "or convert the weights to model.safetensors"
            ) from None
        try:
            content = self._load(torch, path)
        except Exception as error:  # torch raises many unrelated types here
            raise ExportError(f"{path.name} cannot be read by torch: {type(error).__name__}: {error}") from error
        others = sorted(str(name) for name, value in content.items() if not hasattr(value, "detach"))
        if others:
            raise ExportError(
                f"{path.name} is not a file of tensors alone", [f"{path.name}: {name} is no tensor" for name in others]
            )
        self._tensors: Mapping[str, Any] = content

    @property
    def names(self) -> frozenset[str]:
        """Names of all tensors in the file."""
        return frozenset(self._tensors)

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of one tensor."""
        return tuple(self._tensors[name].shape)

    def read(self, name: str) -> NDArray[np.float32]:
        """One tensor widened to float32."""
        array: NDArray[np.float32] = self._tensors[name].detach().float().numpy()
        return array

    @staticmethod
    def _load(torch: Any, path: Path) -> Mapping[str, Any]:
        """Maps the file where it is a zip archive; the older layout has to be loaded as a whole."""
        options = {"map_location": "cpu", "weights_only": True}
        content = torch.load(path, mmap=zipfile.is_zipfile(path), **options)
        if not isinstance(content, Mapping):
            raise TypeError(f"it holds a {type(content).__name__}, not tensors by name")
        return content
