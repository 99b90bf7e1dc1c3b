"""Reads all of a checkpoint before anything is written: network, tokenizers, decoding defaults, languages.

The parts are read independently, so that one attempt shows every reason why an export cannot be made.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from export.checkpoint import Checkpoint
from export.families.registry import find_family
from export.families.spec import ModelSpec
from export.generation import GenerationDefaults, read_generation
from export.languages import LanguageFacts, read_languages
from export.tokenizer.marian import MarianTokenizers
from service.errors import ExportError
from service.package.manifest import Languages

Part = TypeVar("Part")


@dataclass(frozen=True, slots=True)
class ReadCheckpoint:
    """A checkpoint that can be exported. The spec's banned ids include those of the decoding defaults."""

    checkpoint: Checkpoint
    spec: ModelSpec
    tokenizers: MarianTokenizers
    defaults: GenerationDefaults
    languages: Languages

    @property
    def decisions(self) -> tuple[str, ...]:
        """What the checkpoint left open and how it was settled, as sentences."""
        tokenizer_lines = (f"tokenizer: {line}" for line in self.tokenizers.decisions)
        return (*self.spec.decisions, *self.defaults.decisions, *tokenizer_lines)


def read_checkpoint(folder: Path, sources: Sequence[str], targets: Sequence[str]) -> ReadCheckpoint:
    """Reads a checkpoint folder; languages are codes, empty to read them off it.

    Raises ExportError with every problem of every part.
    """
    checkpoint = Checkpoint.open(folder)
    family = find_family(checkpoint)
    problems: list[str] = []
    spec = _attempt(lambda: family.describe(checkpoint), problems)
    tokenizers = _attempt(lambda: family.convert_tokenizers(folder), problems)
    if spec is None:
        raise ExportError(f"the checkpoint {folder.name} cannot be exported", problems)
    defaults = _attempt(lambda: read_generation(checkpoint, spec), problems)
    if tokenizers is None or defaults is None:
        raise ExportError(f"the checkpoint {folder.name} cannot be exported", problems)
    problems += _vocabulary_problems(spec, tokenizers)
    source_eos = tokenizers.source_special.eos
    facts = LanguageFacts(sources, targets, tokenizers.language_ids, source_eos, defaults.forced_first_id)
    languages = _attempt(lambda: read_languages(checkpoint, facts), problems)
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


def _vocabulary_problems(spec: ModelSpec, tokenizers: MarianTokenizers) -> list[str]:
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
