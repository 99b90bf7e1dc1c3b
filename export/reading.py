"""Reads all of a checkpoint before anything is written: network, tokenizers, decoding defaults, languages.

The parts are read independently, so that one attempt shows every reason why an export cannot be made.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from export.checkpoint import Checkpoint
from export.families.registry import find_family
from export.families.spec import ModelSpec
from export.generation import GenerationDefaults, read_generation
from export.languages import LanguageFacts, describe_languages
from export.tokenizer.converted import ConvertedTokenizers
from service.errors import ExportError
from service.package.manifest import Languages

Part = TypeVar("Part")

_NO_PREFIXES: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ReadCheckpoint:
    """A checkpoint that can be exported. The spec's banned ids include those of the decoding defaults."""

    checkpoint: Checkpoint
    spec: ModelSpec
    tokenizers: ConvertedTokenizers
    defaults: GenerationDefaults
    languages: Languages

    @property
    def decisions(self) -> tuple[str, ...]:
        """What the checkpoint left open and how it was settled, as sentences."""
        tokenizer_lines = (f"tokenizer: {line}" for line in self.tokenizers.decisions)
        language_lines = describe_languages(self.languages)
        return (*self.spec.decisions, *self.defaults.decisions, *tokenizer_lines, *language_lines)


def read_checkpoint(
    folder: Path, sources: Sequence[str], targets: Sequence[str], text_prefixes: Mapping[str, str] = _NO_PREFIXES
) -> ReadCheckpoint:
    """Reads a checkpoint folder; languages are codes, empty to read them off it.

    text_prefixes: target code to the words in front of a source that ask for it, where they are not in the checkpoint.
    Raises ExportError with every problem of every part.
    """
    checkpoint = Checkpoint.open(folder)
    family = find_family(checkpoint)
    problems: list[str] = []
    spec = _attempt(lambda: family.describe(checkpoint), problems)
    tokenizers = _attempt(lambda: family.convert_tokenizers(checkpoint), problems)
    if spec is None:
        raise ExportError(f"the checkpoint {folder.name} cannot be exported", problems)
    defaults = _attempt(lambda: read_generation(checkpoint, spec), problems)
    if tokenizers is None or defaults is None:
        raise ExportError(f"the checkpoint {folder.name} cannot be exported", problems)
    problems += _vocabulary_problems(spec, tokenizers)
    facts = LanguageFacts(sources, targets, tokenizers, defaults.forced_first_id, text_prefixes)
    languages = _attempt(lambda: family.read_languages(checkpoint, facts), problems)
    if problems or languages is None:
        raise ExportError(f"the checkpoint {folder.name} cannot be exported", problems)
    return ReadCheckpoint(checkpoint, replace(spec, banned_ids=defaults.banned_ids), tokenizers, defaults, languages)


def _attempt(read: Callable[[], Part], problems: list[str]) -> Part | None:
    """What `read` returns, or None with the problems of its ExportError added to `problems`."""
    try:
        return read()
    except ExportError as error:
        problems += error.problems or (error.message,)
        return None


def _vocabulary_problems(spec: ModelSpec, tokenizers: ConvertedTokenizers) -> list[str]:
    """Where the tokenizer files speak of another vocabulary than the tensors."""
    comparisons = (
        ("source embedding rows", spec.source_vocabulary_size, tokenizers.source_vocabulary_size),
        ("target embedding rows", spec.target_vocabulary_size, tokenizers.target_vocabulary_size),
        ("target end token", spec.special_ids.eos, tokenizers.target_special.eos),
        ("target padding token", spec.special_ids.pad, tokenizers.target_special.pad),
    )
    return [
        f"{what}: {network} in the network, {tokenizer} in the tokenizer files"
        for what, network, tokenizer in comparisons
        if network != tokenizer
    ]
