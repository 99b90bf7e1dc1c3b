"""Finds the family that understands a checkpoint; a new family is one more entry here."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from export.checkpoint import Checkpoint
from export.families.marian import describe_marian
from export.families.spec import ModelSpec
from export.tokenizer.marian import MarianTokenizers, convert_marian
from service.errors import ExportError


@dataclass(frozen=True, slots=True)
class Family:
    """How one family's checkpoints are read: its network, and its tokenizer files."""

    describe: Callable[[Checkpoint], ModelSpec]
    convert_tokenizers: Callable[[Path], MarianTokenizers]


_FAMILIES: Mapping[str, Family] = {"marian": Family(describe_marian, convert_marian)}


def find_family(checkpoint: Checkpoint) -> Family:
    """The family of a checkpoint. Raises ExportError for a model type no family knows."""
    model_type = checkpoint.config.get("model_type")
    family = _FAMILIES.get(model_type) if isinstance(model_type, str) else None
    if family is None:
        known = ", ".join(sorted(_FAMILIES))
        raise ExportError(f"config.json: model_type {model_type!r} cannot be exported (can be: {known})")
    return family
