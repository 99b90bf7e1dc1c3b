"""Compares converted tokenizers with SentencePiece and says whether the difference can be accepted.

Two differences are understood and counted apart. A tie: both segmentations have the same score, and the libraries add
scores in different precision (float32 in SentencePiece, float64 in tokenizers). A normalisation: the normalised texts
differ, because tokenizers applies the character map to whole graphemes. Anything else must never happen.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tokenizers import Tokenizer

from export.tokenizer.corpus import NATURAL_LINES, stress_lines
from export.tokenizer.marian import MarianTokenizers
from export.tokenizer.oracle import MarianOracle
from service.package.tokenizer import SourceTokenizer, TargetTokenizer

MAX_NATURAL_TIE_SHARE = 0.01
MAX_STRESS_SHARE = 0.05
"""Accepted shares of lines: ties in natural text; ties and normalisations together in stress lines."""

_FLOAT32_EPSILON = 2.0**-23
_DECODED_IDS_PER_SEQUENCE = 8


class MismatchKind(StrEnum):
    """Why the ids of a line differ."""

    TIE = "tie"
    NORMALIZATION = "normalization"
    UNEXPLAINED = "unexplained"


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One line whose ids differ; `line` is its index, so that no text gets into a report."""

    line: int
    kind: MismatchKind
    expected: tuple[int, ...]
    actual: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TokenizerParity:
    """What a comparison found.

    mismatches: source lines with different ids.
    num_decoding_mismatches: lines whose target ids give a different text.
    """

    num_lines: int
    mismatches: tuple[Mismatch, ...]
    num_decoding_mismatches: int

    @property
    def num_mismatches(self) -> int:
        """Lines with different source ids, for any reason."""
        return len(self.mismatches)

    def count(self, kind: MismatchKind) -> int:
        """Lines that differ for one reason."""
        return sum(mismatch.kind is kind for mismatch in self.mismatches)


@dataclass(frozen=True, slots=True)
class ParityReport:
    """Comparisons on the built-in corpus, and on every target id."""

    natural: TokenizerParity
    stress: TokenizerParity
    num_piece_mismatches: int

    @property
    def problems(self) -> tuple[str, ...]:
        """Reasons to refuse the tokenizers, empty when they are good."""
        natural, stress = self.natural, self.stress
        counts = {
            "unexplained source ids": natural.count(MismatchKind.UNEXPLAINED) + stress.count(MismatchKind.UNEXPLAINED),
            "natural lines normalised differently": natural.count(MismatchKind.NORMALIZATION),
            "natural lines with too many ties": _excess(
                natural.count(MismatchKind.TIE), natural.num_lines, MAX_NATURAL_TIE_SHARE
            ),
            "stress lines with too many differences": _excess(
                stress.num_mismatches, stress.num_lines, MAX_STRESS_SHARE
            ),
            "lines decoded differently": natural.num_decoding_mismatches + stress.num_decoding_mismatches,
            "target ids decoded differently": self.num_piece_mismatches,
        }
        return tuple(f"{what}: {count}" for what, count in counts.items() if count)


def check_parity(checkpoint: Path, tokenizers: MarianTokenizers) -> ParityReport:
    """Compares on the built-in corpus. Raises ExportError when the checkpoint's files cannot be read."""
    num_ids = tokenizers.target_vocabulary_size
    sequences = [
        range(start, min(start + _DECODED_IDS_PER_SEQUENCE, num_ids))
        for start in range(0, num_ids, _DECODED_IDS_PER_SEQUENCE)
    ]
    return ParityReport(
        natural=compare(checkpoint, tokenizers, NATURAL_LINES),
        stress=compare(checkpoint, tokenizers, stress_lines()),
        num_piece_mismatches=compare_decoding(checkpoint, tokenizers, sequences),
    )


def compare(checkpoint: Path, tokenizers: MarianTokenizers, lines: Sequence[str]) -> TokenizerParity:
    """Encodes the lines as source texts and decodes them as target texts, both ways."""
    oracle = MarianOracle(checkpoint)
    source = SourceTokenizer.from_json(
        tokenizers.source_json, tokenizers.source_vocabulary_size, tokenizers.source_special.unk
    )
    segmenter = Tokenizer.from_str(tokenizers.source_json)
    mismatches = []
    for line, (text, actual) in enumerate(zip(lines, source.encode_batch(lines), strict=True)):
        pieces = oracle.source_pieces(text)
        expected = oracle.source_ids(pieces)
        if actual != expected:
            kind = _kind(oracle, pieces, segmenter.encode(text, add_special_tokens=False).tokens)
            mismatches.append(Mismatch(line, kind, tuple(expected), tuple(actual)))
    decoded = compare_decoding(checkpoint, tokenizers, [oracle.target_ids(text) for text in lines])
    return TokenizerParity(len(lines), tuple(mismatches), decoded)


def compare_decoding(checkpoint: Path, tokenizers: MarianTokenizers, sequences: Iterable[Sequence[int]]) -> int:
    """Returns how many sequences of target ids give a different text."""
    oracle = MarianOracle(checkpoint)
    target = TargetTokenizer.from_json(tokenizers.target_json)
    return sum(target.decode(ids) != oracle.target_text(ids) for ids in sequences)


def _kind(oracle: MarianOracle, expected: Sequence[str], actual: Sequence[str]) -> MismatchKind:
    if "".join(expected) != "".join(actual):
        return MismatchKind.NORMALIZATION
    first, second = oracle.source_score(expected), oracle.source_score(actual)
    # Each of the additions may be off by half a unit in the last place of the running sum.
    rounding = _FLOAT32_EPSILON * abs(first) * max(len(expected), len(actual))
    same_pieces = list(expected) == list(actual)
    return MismatchKind.TIE if abs(first - second) <= rounding and not same_pieces else MismatchKind.UNEXPLAINED


def _excess(count: int, num_lines: int, accepted_share: float) -> int:
    """Returns the count when it is over the accepted share of lines, 0 otherwise."""
    return count if count > math.floor(num_lines * accepted_share) else 0
