"""A checkpoint folder in the Hugging Face layout: its configuration files as raw JSON and its weight tensors.

Everything is read as stored. What the values mean for a network is decided in `families/`.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from export.safetensors_file import SafetensorsFile
from export.torch_file import TorchFile
from service.errors import ExportError

_CHUNK_BYTES = 1 << 20


class _WeightFile(Protocol):
    @property
    def names(self) -> frozenset[str]: ...
    def shape(self, name: str) -> tuple[int, ...]: ...
    def read(self, name: str) -> NDArray[np.float32]: ...


@dataclass(frozen=True)
class Checkpoint:
    """One opened checkpoint.

    config, generation, tokenizer: the JSON files as they are; the latter two are empty when absent.
    weight_files: the files that hold tensors, in reading order.
    """

    folder: Path
    config: Mapping[str, Any]
    generation: Mapping[str, Any]
    tokenizer: Mapping[str, Any]
    weight_files: tuple[Path, ...]
    _owners: Mapping[str, _WeightFile]

    @classmethod
    def open(cls, folder: Path) -> "Checkpoint":
        """Reads configuration and tensor headers. Raises ExportError when files are missing or damaged."""
        if not folder.is_dir():
            raise ExportError(f"{folder} is not a folder")
        paths = _weight_paths(folder)
        owners: dict[str, _WeightFile] = {}
        for path in paths:
            file = SafetensorsFile(path) if path.suffix == ".safetensors" else TorchFile(path)
            owners.update(dict.fromkeys(file.names, file))
        return cls(
            folder=folder,
            config=_read_json(folder / "config.json", required=True),
            generation=_read_json(folder / "generation_config.json"),
            tokenizer=_read_json(folder / "tokenizer_config.json"),
            weight_files=paths,
            _owners=owners,
        )

    @property
    def names(self) -> frozenset[str]:
        """Names of all tensors."""
        return frozenset(self._owners)

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of one tensor."""
        return self._owners[name].shape(name)

    def tensor(self, name: str) -> NDArray[np.float32]:
        """One tensor as float32, read anew on each call so that no more than one needs to be in memory."""
        return self._owners[name].read(name)

    def equal(self, first: str, second: str) -> bool:
        """Whether two tensors hold the same numbers."""
        return self.shape(first) == self.shape(second) and np.array_equal(self.tensor(first), self.tensor(second))

    def weights_sha256(self) -> str:
        """SHA-256 over the bytes of all weight files in order, in hexadecimal."""
        digest = hashlib.sha256()
        for path in self.weight_files:
            with path.open("rb") as file:
                while chunk := file.read(_CHUNK_BYTES):
                    digest.update(chunk)
        return digest.hexdigest()


def _weight_paths(folder: Path) -> tuple[Path, ...]:
    """The weight files of a checkpoint: safetensors before `.bin`, a single file before a sharded index."""
    for single, index in (
        ("model.safetensors", "model.safetensors.index.json"),
        ("pytorch_model.bin", "pytorch_model.bin.index.json"),
    ):
        if (folder / single).is_file():
            return (folder / single,)
        if (folder / index).is_file():
            shards = sorted(set(_read_json(folder / index, required=True)["weight_map"].values()))
            missing = [name for name in shards if not (folder / name).is_file()]
            if missing:
                raise ExportError("weight files are missing", [f"{name} is named in {index}" for name in missing])
            return tuple(folder / name for name in shards)
    raise ExportError(f"{folder} has no model.safetensors and no pytorch_model.bin, single or sharded")


def _read_json(path: Path, required: bool = False) -> dict[str, Any]:
    if not path.is_file():
        if required:
            raise ExportError(f"{path.name} is missing in {path.parent}")
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ExportError(f"{path.name} is not JSON: {error}") from None
    if not isinstance(content, dict):
        raise ExportError(f"{path.name} is not a JSON object")
    return content
