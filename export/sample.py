"""Sentences that exports try a network on, as the ids its encoder takes.

Two built-in English lists, written for this: one to calibrate int8 on, and another to measure its agreement with
float32 on. A checkpoint that reads another language can be calibrated on sentences its owner brings.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal

from export.families.spec import ModelSpec
from export.tokenizer.converted import ConvertedTokenizers
from service.package.manifest import Languages, SourceLanguage, TargetLanguage

# Codes of the language the built-in sentences are in.
BUILT_IN_LANGUAGES = frozenset({"en", "eng", "eng_Latn", "en_XX"})

# Translations of the sentences may have as many tokens.
LONGEST_TRANSLATION = 96


@dataclass(frozen=True, slots=True)
class Framing:
    """What turns a sentence into the ids of one language pair: tokenizers and what stands around a text."""

    spec: ModelSpec
    tokenizers: ConvertedTokenizers
    source: SourceLanguage
    target: TargetLanguage

    def frame(self, sentences: Sequence[str]) -> list[list[int]]:
        """Source ids of each sentence, special ids included, cut to the positions there are."""
        before = [*self.target.source_prefix_ids, *self.source.prefix_ids]
        after = list(self.source.suffix_ids)
        room = self.spec.max_source_tokens - len(before) - len(after)
        return [
            [*before, *ids[:room], *after] for ids in self.tokenizers.source_tokenizer().encode_batch(list(sentences))
        ]


def sample_pair(languages: Languages) -> tuple[str, str]:
    """The pair (source, target) to try a model on: one that the built-in sentences are for, if there is any."""
    return next((pair for pair in languages.pairs if pair[0] in BUILT_IN_LANGUAGES), languages.pairs[0])


def built_in_sentences(purpose: Literal["calibration", "agreement"]) -> tuple[str, ...]:
    """The English sentences for one purpose."""
    text = files("export.corpus").joinpath(f"{purpose}.en.txt").read_text(encoding="utf-8")
    return tuple(text.splitlines())


def groups_of_like_length(sources: Sequence[Sequence[int]], size: int) -> Iterator[Sequence[Sequence[int]]]:
    """Sources in batches of at most `size`; of like length, because a batch is as long as its longest."""
    ordered = sorted(sources, key=len)
    for start in range(0, len(ordered), size):
        yield ordered[start : start + size]
