"""The weight files of a checkpoint in the Hugging Face layout: one file, or shards that an index names.

Every tensor has exactly one owner; an index and its shards that say different things are refused.
"""

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

_LAYOUTS = (
    ("model.safetensors", "model.safetensors.index.json"),
    ("pytorch_model.bin", "pytorch_model.bin.index.json"),
)


class WeightFile(Protocol):
    """A file of tensors: names and shapes for nothing, each tensor read when asked for."""

    @property
    def names(self) -> frozenset[str]: ...
    def shape(self, name: str) -> tuple[int, ...]: ...
    def read(self, name: str) -> NDArray[np.float32]: ...


@dataclass(frozen=True, slots=True)
class WeightFiles:
    """paths: in reading order. owners: each tensor's file."""

    paths: tuple[Path, ...]
    owners: Mapping[str, WeightFile]


def open_weight_files(folder: Path) -> WeightFiles:
    """Opens a checkpoint's weights: safetensors before `.bin`, a single file before a sharded index.

    Raises ExportError with every fault of every file.
    """
    for single, index in _LAYOUTS:
        if (folder / single).is_file():
            file = _open(folder / single)
            return WeightFiles((folder / single,), dict.fromkeys(file.names, file))
        if (folder / index).is_file():
            return _open_shards(folder, index)
    raise ExportError(
        f"{folder} has no model.safetensors and no pytorch_model.bin, single or sharded, and no model of Marian's"
    )


def _open(path: Path) -> WeightFile:
    return SafetensorsFile(path) if path.suffix == ".safetensors" else TorchFile(path)


def _open_shards(folder: Path, index: str) -> WeightFiles:
    weight_map = _read_index(folder / index)
    names = sorted(set(weight_map.values()))
    missing = [name for name in names if not (folder / name).is_file()]
    problems = [f"{name} is named in {index}" for name in missing]
    shards: dict[str, WeightFile] = {}
    for name in names:
        if name not in missing:
            try:
                shards[name] = _open(folder / name)
            except ExportError as error:
                problems += error.problems or (error.message,)
    if problems:
        raise ExportError("weight files are missing or damaged", problems)
    if problems := _disagreements(weight_map, shards, index):
        raise ExportError(f"{index} and its weight files disagree", problems)
    owners = {tensor: shards[name] for tensor, name in weight_map.items()}
    return WeightFiles(tuple(folder / name for name in names), owners)


def _read_index(path: Path) -> dict[str, str]:
    """Tensor to file. A file's name may not lead out of the folder."""
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
        weight_map = content["weight_map"]
        if not isinstance(weight_map, dict) or not weight_map:
            raise TypeError
    except ValueError as error:
        raise ExportError(f"{path.name} is not JSON: {error}") from None
    except (KeyError, TypeError):
        raise ExportError(f"{path.name} has no weight_map from tensors to files") from None
    problems = [
        f"{path.name}: tensor {tensor} is said to be in {name!r}, which is no name of a file"
        for tensor, name in weight_map.items()
        if not isinstance(name, str) or name != Path(name).name
    ]
    if problems:
        raise ExportError(f"{path.name} cannot be followed", problems)
    return dict(weight_map)


def _disagreements(weight_map: Mapping[str, str], shards: Mapping[str, WeightFile], index: str) -> list[str]:
    holders: dict[str, list[str]] = {}
    for name, shard in shards.items():
        for tensor in shard.names:
            holders.setdefault(tensor, []).append(name)
    problems = [
        f"tensor {tensor} is not in {name}, where {index} says it is"
        for tensor, name in weight_map.items()
        if name not in holders.get(tensor, ())
    ]
    for tensor, names in holders.items():
        if len(names) > 1:
            problems.append(f"tensor {tensor} is in several files: {', '.join(names)}")
        if tensor not in weight_map:
            problems.append(f"tensor {tensor} is in {names[0]}, but not in {index}")
    return sorted(problems)
