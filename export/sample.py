"""Sentences that exports try a network on, as the ids its encoder takes.

Two built-in English lists, written for this: one to calibrate int8 on, and another to measure its agreement with
float32 on. A checkpoint that reads another language can be calibrated on sentences its owner brings.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal

from export.families.spec import ModelSpec
from export.tokenizer.marian import MarianTokenizers
from service.package.manifest import SourceLanguage, TargetLanguage
from service.package.tokenizer import SourceTokenizer

# Codes of the language the built-in sentences are in.
BUILT_IN_LANGUAGES = frozenset({"en", "eng"})

# Translations of the sentences may have as many tokens.
LONGEST_TRANSLATION = 96
_SENTENCES_AT_ONCE = 20


@dataclass(frozen=True, slots=True)
class Framing:
    """What turns a sentence into the ids of one language pair: tokenizers and what stands around a text."""

    spec: ModelSpec
    tokenizers: MarianTokenizers
    source: SourceLanguage
    target: TargetLanguage

    def frame(self, sentences: Sequence[str]) -> list[list[int]]:
        """Source ids of each sentence, special ids included, cut to the positions there are."""
        tokenizers = self.tokenizers
        tokenizer = SourceTokenizer.from_json(
            tokenizers.source_json, tokenizers.source_vocabulary_size, tokenizers.source_special.unk
        )
        before = [*self.target.source_prefix_ids, *self.source.prefix_ids]
        after = list(self.source.suffix_ids)
        room = self.spec.positions.count - len(before) - len(after)
        return [[*before, *ids[:room], *after] for ids in tokenizer.encode_batch(list(sentences))]


def built_in_sentences(purpose: Literal["calibration", "agreement"]) -> tuple[str, ...]:
    """The English sentences for one purpose."""
    text = files("export.corpus").joinpath(f"{purpose}.en.txt").read_text(encoding="utf-8")
    return tuple(text.splitlines())


def groups_of_like_length(sources: Sequence[Sequence[int]]) -> Iterator[Sequence[Sequence[int]]]:
    """Sources in batches for the graphs; of like length, because a batch is as long as its longest."""
    ordered = sorted(sources, key=len)
    for start in range(0, len(ordered), _SENTENCES_AT_ONCE):
        yield ordered[start : start + _SENTENCES_AT_ONCE]
