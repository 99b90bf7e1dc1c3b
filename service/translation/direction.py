"""One language pair of one package: texts to source ids, hypotheses to texts, and what the pair asks of the search."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from service.engine.arrays import IntArray
from service.package.manifest import Manifest
from service.package.package import ModelPackage
from service.search.group import SearchTask
from service.search.hypothesis import Hypothesis
from service.search.options import DecodingOptions
from service.text.segmentation import UNSPACED_LANGUAGES
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

    def around(self, ids: Sequence[int]) -> IntArray:
        """Returns the whole source, (l,) int64."""
        return np.array([*self.prefix, *ids, *self.suffix], np.int64)


class Direction:
    """Source and target language of a package, in the codes it declares.

    source_language, target_language: the shortest codes of the languages. longest: tokens a text may have, those around
    it not counted. joins_with_space: whether sentences that touch each other get a space between them in the target.
    """

    def __init__(self, package: ModelPackage, source: str, target: str) -> None:
        self.package = package
        self.source, self.target = source, target
        self.source_language, self.target_language = primary_language(source), primary_language(target)
        self.joins_with_space = self.target_language not in UNSPACED_LANGUAGES
        self._template = SourceTemplate.of(package.manifest, source, target)
        self._eos = package.manifest.special_ids.eos
        self._language = package.manifest.languages.targets[target]
        self.longest = longest_source(package.manifest) - len(self._template.prefix) - len(self._template.suffix)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Returns the ids of each text without those that belong to no text."""
        return self.package.source_tokenizer.encode_batch(texts) if texts else []

    def count_pieces(self, word: str) -> int:
        """Returns how many tokens a word alone is."""
        return len(self.package.source_tokenizer.encode(word))

    def around(self, ids: Sequence[int]) -> IntArray:
        """Returns the whole source of a text's ids, (l,) int64."""
        return self._template.around(ids)

    def own_source_places(self, source_ids: Sequence[int]) -> range:
        """Returns where in a whole source the tokens of the text are."""
        return range(len(self._template.prefix), len(source_ids) - len(self._template.suffix))

    def task(self, source_ids: IntArray, options: DecodingOptions, *, with_alignment: bool, repeats: int) -> SearchTask:
        """Returns what the search is asked for a whole source (l,); repeats: how often in a row it says something."""
        language = self._language
        return SearchTask(
            options, language.forced_first_id, len(source_ids), with_alignment, language.start_id, repeats
        )

    def own_target_places(self, token_ids: Sequence[int]) -> list[int]:
        """Returns where in a hypothesis the tokens of its text are: neither end tokens nor the language's."""
        start = self._own_start(token_ids)
        return [place for place in range(start, len(token_ids)) if token_ids[place] != self._eos]

    def text_of(self, hypothesis: Hypothesis) -> str:
        """Returns the text of a hypothesis without white space around it; empty where the model said nothing."""
        ids = hypothesis.token_ids
        own = [token_id for token_id in ids[self._own_start(ids) :] if token_id != self._eos]
        return self.package.target_tokenizer.decode(own).strip()

    def _own_start(self, token_ids: Sequence[int]) -> int:
        forced = self._language.forced_first_id
        return 1 if forced is not None and token_ids and token_ids[0] == forced else 0


def longest_source(manifest: Manifest) -> int:
    """Returns the most source tokens a segment may have, special tokens included.

    A translation can be longer than its source and must not run into the end of the target positions, so a source
    gets half of those at most.
    """
    sizes = manifest.dimensions
    return min(sizes.max_source_tokens, max(sizes.max_target_tokens // 2, 2), LONGEST_SEGMENT)
