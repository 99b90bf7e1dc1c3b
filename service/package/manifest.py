"""The manifest of a model package: everything the service must know about a model besides its weights.

Written by the exporter, read and checked by `package`. A manifest that parses is consistent in itself; whether the
files it names are there and whole is checked by `package`.
"""

from itertools import product
from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

FORMAT_VERSION: Final = 1

Id = Annotated[int, Field(ge=0)]
Count = Annotated[int, Field(ge=1)]
# One path component, so that no manifest can point out of its package.
FileName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
LanguageCode = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Dimensions(_Part):
    """Sizes of the network.

    head_width: width of a head as trained. cache_head_width: D of all cached keys and values, padded to a multiple
    of 8. max_source_tokens: the end token and language tokens included. max_target_tokens: positions a row may use.
    """

    encoder_layers: Count
    decoder_layers: Count
    model_width: Count
    num_heads: Count
    head_width: Count
    cache_head_width: Count
    source_vocabulary_size: Count
    target_vocabulary_size: Count
    max_source_tokens: Count
    max_target_tokens: Count


class SpecialIds(_Part):
    """Token ids with a role: `source_unk` is a source id, the others are target ids.

    The end token of a source is in its language's `suffix_ids`.
    """

    decoder_start: Id
    eos: Id
    pad: Id
    source_unk: Id
    target_unk: Id


class SourceLanguage(_Part):
    """Ids around the pieces of a text in this language; the end token is among them."""

    prefix_ids: tuple[Id, ...] = ()
    suffix_ids: tuple[Id, ...]


class TargetLanguage(_Part):
    """What asks for this language: ids in front of the source, a forced first target token, or a start token.

    start_id: token that decoding starts from instead of `special_ids.decoder_start`.
    """

    source_prefix_ids: tuple[Id, ...] = ()
    forced_first_id: Id | None = None
    start_id: Id | None = None


class Languages(_Part):
    """The languages a model reads and writes; every source with every other target is a pair."""

    sources: Annotated[dict[LanguageCode, SourceLanguage], Field(min_length=1)]
    targets: Annotated[dict[LanguageCode, TargetLanguage], Field(min_length=1)]

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """All (source, target) code pairs, sorted."""
        codes = product(sorted(self.sources), sorted(self.targets))
        return tuple((source, target) for source, target in codes if source != target)


class Generation(_Part):
    """Decoding defaults of the checkpoint.

    max_new_tokens: tokens at most, the end token included. renormalize: log-probabilities are renormalised after
    bans. forced_eos_id: token that takes the last allowed position, if any.
    """

    beam_size: Count = 1
    length_penalty: float = 1.0
    early_stopping: bool | Literal["never"] = False
    min_new_tokens: Id = 0
    max_new_tokens: Count
    repetition_penalty: Annotated[float, Field(gt=0)] = 1.0
    no_repeat_ngram_size: Id = 0
    renormalize: bool = False
    forced_eos_id: Id | None = None


class GraphFiles(_Part):
    """The two graphs of one precision."""

    encoder: FileName
    decoder: FileName


class TokenizerFiles(_Part):
    """The two tokenizers."""

    source: FileName
    target: FileName


class FileRecord(_Part):
    """What a file must be to be the one that was exported."""

    size_bytes: Id
    sha256: Sha256


class Origin(_Part):
    """Where a package comes from: checkpoint name, SHA-256 of its weight files, exporter and version."""

    checkpoint: str
    weights_sha256: Sha256
    exporter: str


class Manifest(_Part):
    """One model package.

    banned_ids: target ids with no probability in the graphs. alignment_layer: decoder layer whose cross-attention
    queries the decoder graph gives out.
    """

    format_version: Literal[1]
    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    family: str
    dimensions: Dimensions
    special_ids: SpecialIds
    banned_ids: tuple[Id, ...]
    languages: Languages
    generation: Generation
    alignment_layer: Id
    alignment_heads: tuple[Id, ...] = ()
    precisions: Annotated[dict[str, GraphFiles], Field(min_length=1)]
    default_precision: str
    tokenizers: TokenizerFiles
    files: dict[FileName, FileRecord]
    licence: str
    attribution: str
    origin: Origin

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        problems = [*_dimension_problems(self), *_id_problems(self), *_file_problems(self)]
        if problems:
            raise ValueError("; ".join(problems))
        return self


def _dimension_problems(manifest: Manifest) -> list[str]:
    sizes = manifest.dimensions
    problems = []
    if sizes.cache_head_width % 8 or sizes.cache_head_width < sizes.head_width:
        problems.append("cache_head_width must be a multiple of 8 and at least head_width")
    if manifest.generation.max_new_tokens > sizes.max_target_tokens:
        problems.append("max_new_tokens must be at most max_target_tokens")
    if manifest.alignment_layer >= sizes.decoder_layers:
        problems.append("alignment_layer must be below decoder_layers")
    heads = manifest.alignment_heads
    if len(set(heads)) < len(heads) or any(head >= sizes.num_heads for head in heads):
        problems.append("alignment_heads must be different and below num_heads")
    if not manifest.languages.pairs:
        problems.append("languages must allow at least one pair")
    return problems


def _id_problems(manifest: Manifest) -> list[str]:
    specials, languages = manifest.special_ids, manifest.languages
    source_ids = {specials.source_unk}
    target_ids = {specials.decoder_start, specials.eos, specials.pad, specials.target_unk, *manifest.banned_ids}
    for source in languages.sources.values():
        source_ids.update(source.prefix_ids, source.suffix_ids)
    for target in languages.targets.values():
        source_ids.update(target.source_prefix_ids)
        target_ids.update(token for token in (target.forced_first_id, target.start_id) if token is not None)
    if manifest.generation.forced_eos_id is not None:
        target_ids.add(manifest.generation.forced_eos_id)
    problems = []
    for side, ids, size in (
        ("source", source_ids, manifest.dimensions.source_vocabulary_size),
        ("target", target_ids, manifest.dimensions.target_vocabulary_size),
    ):
        beyond = sorted(token for token in ids if token >= size)
        if beyond:
            problems.append(f"{side} ids {beyond} are beyond the vocabulary of {size}")
    if specials.eos in manifest.banned_ids:
        problems.append("eos must not be banned")
    return problems


def _file_problems(manifest: Manifest) -> list[str]:
    named = {manifest.tokenizers.source, manifest.tokenizers.target}
    for graphs in manifest.precisions.values():
        named.update({graphs.encoder, graphs.decoder})
    problems = [f"{name} has no entry in files" for name in sorted(named - manifest.files.keys())]
    if manifest.default_precision not in manifest.precisions:
        problems.append(f"default_precision {manifest.default_precision} is not among the precisions")
    return problems
