"""From documents to source token ids: segment, tokenise, and cut what is too long for the model."""

from dataclasses import dataclass

import numpy as np

from service.engine.arrays import IntArray
from service.package.manifest import Manifest
from service.package.package import ModelPackage
from service.text.cutting import cut
from service.text.segmentation import Gap, Part, Segment, segment
from service.translation.codes import primary_language

# Models trained on sentences leave parts of much longer sources out, long before their positions end.
LONGEST_SEGMENT = 128


@dataclass(frozen=True, slots=True)
class SourceTemplate:
    """What surrounds a segment's own tokens for one language pair."""

    prefix: tuple[int, ...]
    suffix: tuple[int, ...]

    @classmethod
    def of(cls, manifest: Manifest, source: str, target: str) -> "SourceTemplate":
        """Returns the template of a pair the manifest declares."""
        source_language, target_language = manifest.languages.sources[source], manifest.languages.targets[target]
        return cls(
            prefix=(*target_language.source_prefix_ids, *source_language.prefix_ids),
            suffix=source_language.suffix_ids,
        )

    def around(self, ids: list[int]) -> IntArray:
        """Returns the whole source, (l,) int64."""
        return np.array([*self.prefix, *ids, *self.suffix], np.int64)


@dataclass(frozen=True, slots=True)
class PreparedSegment:
    """A segment and what the encoder is given for it."""

    segment: Segment
    source_ids: IntArray


PreparedPart = PreparedSegment | Gap


@dataclass(frozen=True, slots=True)
class PreparedDocument:
    """A document's parts in order; joined, they are the document."""

    parts: tuple[PreparedPart, ...]

    @property
    def segments(self) -> tuple[PreparedSegment, ...]:
        """The parts that are translated."""
        return tuple(part for part in self.parts if isinstance(part, PreparedSegment))


def longest_source(manifest: Manifest) -> int:
    """Returns the most source tokens a segment may have, special tokens included.

    A translation can be longer than its source and must not run into the end of the target positions, so a source
    gets half of those at most.
    """
    sizes = manifest.dimensions
    return min(sizes.max_source_tokens, max(sizes.max_target_tokens // 2, 2), LONGEST_SEGMENT)


def prepare(text: str, language: str, package: ModelPackage, template: SourceTemplate) -> PreparedDocument:
    """Prepares one document; raises UntranslatableError if a character alone is too long for the model."""
    tokenizer = package.source_tokenizer
    limit = longest_source(package.manifest) - len(template.prefix) - len(template.suffix)
    parts = segment(text, primary_language(language))
    encoded = iter(tokenizer.encode_batch([part.text for part in parts if isinstance(part, Segment)]))
    prepared: list[PreparedPart] = []
    for part in parts:
        if isinstance(part, Gap):
            prepared.append(part)
            continue
        ids = next(encoded)
        if len(ids) <= limit:
            prepared.append(PreparedSegment(part, template.around(ids)))
        else:
            pieces = cut(part.text, lambda piece: len(tokenizer.encode(piece)) <= limit, part.span.start)
            prepared.extend(_encoded(piece, package, template) for piece in pieces)
    return PreparedDocument(tuple(prepared))


def _encoded(part: Part, package: ModelPackage, template: SourceTemplate) -> PreparedPart:
    if isinstance(part, Gap):
        return part
    return PreparedSegment(part, template.around(package.source_tokenizer.encode(part.text)))
