"""A checkpoint folder, in the Hugging Face layout or with Marian's own files: its settings and its weight tensors.

Everything is read as stored. What the values mean for a network is decided in `families/`.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from export.marian.folder import MarianFolder
from export.marian.opening import OpenedMarian, open_marian
from export.weight_files import WeightFile, open_weight_files
from service.errors import ExportError

_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class Checkpoint:
    """One opened checkpoint.

    config, generation, tokenizer: the JSON files as they are; the latter two are empty when absent. Marian's own files
        fill them under the same names: config has the options inside the model.
    weight_files: the files that hold tensors, in reading order.
    native: where Marian's own files are; None in the Hugging Face layout.
    """

    folder: Path
    config: Mapping[str, Any]
    generation: Mapping[str, Any]
    tokenizer: Mapping[str, Any]
    weight_files: tuple[Path, ...]
    _owners: Mapping[str, WeightFile]
    native: MarianFolder | None = None

    @classmethod
    def open(cls, folder: Path) -> "Checkpoint":
        """Reads configuration and tensor headers. Raises ExportError when files are missing or damaged."""
        if not folder.is_dir():
            raise ExportError(f"{folder} is not a folder")
        if not (folder / "config.json").is_file() and (marian := open_marian(folder)) is not None:
            return cls._of_marian(folder, marian)
        weights = open_weight_files(folder)
        return cls(
            folder=folder,
            config=_read_json(folder / "config.json", required=True),
            generation=_read_json(folder / "generation_config.json"),
            tokenizer=_read_json(folder / "tokenizer_config.json"),
            weight_files=weights.paths,
            _owners=weights.owners,
        )

    @classmethod
    def _of_marian(cls, folder: Path, marian: OpenedMarian) -> "Checkpoint":
        return cls(
            folder=folder,
            config=marian.options,
            generation=marian.generation,
            tokenizer=marian.languages,
            weight_files=(marian.files.model,),
            _owners=dict.fromkeys(marian.weights.names, marian.weights),
            native=marian.files,
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
        """Whether two tensors hold the same numbers, to the bit; no more than one is in memory at a time."""
        return self.shape(first) == self.shape(second) and self._digest(first) == self._digest(second)

    def weights_sha256(self) -> str:
        """SHA-256 over the bytes of all weight files in order, in hexadecimal."""
        digest = hashlib.sha256()
        for path in self.weight_files:
            with path.open("rb") as file:
                while chunk := file.read(_CHUNK_BYTES):
                    digest.update(chunk)
        return digest.hexdigest()

    def _digest(self, name: str) -> bytes:
        return hashlib.sha256(np.ascontiguousarray(self.tensor(name)).reshape(-1).view(np.uint8).data).digest()


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
