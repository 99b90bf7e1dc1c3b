"""Finds the family that understands a checkpoint; a new family is one more entry here."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from export.checkpoint import Checkpoint
from export.families.m2m100 import describe_m2m100
from export.families.marian import describe_marian
from export.families.mbart import describe_mbart
from export.families.spec import ModelSpec
from export.families.t5 import describe_t5
from export.languages import (
    LanguageFacts,
    read_m2m100_languages,
    read_marian_languages,
    read_mbart_languages,
    read_t5_languages,
)
from export.marian.network import describe_marian_native
from export.marian.opening import FAMILY as MARIAN_NATIVE
from export.marian.tokenizers import convert_marian_native
from export.tokenizer.converted import ConvertedTokenizers
from export.tokenizer.fairseq import convert_mbart, convert_nllb
from export.tokenizer.m2m100 import VOCABULARY_FILE, convert_m2m100
from export.tokenizer.marian import convert_marian
from export.tokenizer.t5 import convert_t5
from service.errors import ExportError
from service.package.manifest import Languages


@dataclass(frozen=True, slots=True)
class Family:
    """How one family's checkpoints are read: the network, the tokenizer files, and the languages."""

    describe: Callable[[Checkpoint], ModelSpec]
    convert_tokenizers: Callable[[Checkpoint], ConvertedTokenizers]
    read_languages: Callable[[Checkpoint, LanguageFacts], Languages]


def _convert_m2m100_or_nllb(folder: Path) -> ConvertedTokenizers:
    """M2M100 has a vocabulary file; NLLB, which is the same network, goes by SentencePiece's ids."""
    return convert_m2m100(folder) if (folder / VOCABULARY_FILE).is_file() else convert_nllb(folder)


def _in_folder(convert: Callable[[Path], ConvertedTokenizers]) -> Callable[[Checkpoint], ConvertedTokenizers]:
    return lambda checkpoint: convert(checkpoint.folder)


_T5 = Family(describe_t5, _in_folder(convert_t5), read_t5_languages)

_FAMILIES: Mapping[str, Family] = {
    "m2m_100": Family(describe_m2m100, _in_folder(_convert_m2m100_or_nllb), read_m2m100_languages),
    "marian": Family(describe_marian, _in_folder(convert_marian), read_marian_languages),
    MARIAN_NATIVE: Family(describe_marian_native, convert_marian_native, read_marian_languages),
    "mbart": Family(describe_mbart, _in_folder(convert_mbart), read_mbart_languages),
    "mt5": _T5,
    "t5": _T5,
}


def find_family(checkpoint: Checkpoint) -> Family:
    """The family of a checkpoint. Raises ExportError for a model type no family knows."""
    model_type = checkpoint.config.get("model_type")
    family = _FAMILIES.get(model_type) if isinstance(model_type, str) else None
    if family is None:
        known = ", ".join(sorted(_FAMILIES))
        raise ExportError(f"config.json: model_type {model_type!r} cannot be exported (can be: {known})")
    return family
