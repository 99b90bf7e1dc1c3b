"""Compares converted tokenizers with SentencePiece and says whether the difference can be accepted.

Two differences are understood and counted apart. A tie: both segmentations have the same score, and the libraries add
scores in different precision (float32 in SentencePiece, float64 in tokenizers). A normalisation: the normalised texts
differ, because tokenizers applies the character map to whole graphemes. Anything else must never happen.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from tokenizers import Tokenizer

from export.tokenizer.converted import ConvertedTokenizers
from export.tokenizer.corpus import NATURAL_LINES, stress_lines
from export.tokenizer.file_oracle import FileOracle
from export.tokenizer.oracle import Oracle, PieceOracle
from export.tokenizer.original import Original, PieceOriginal
from service.package.tokenizer import normalize, segment

MAX_NATURAL_TIE_SHARE = 0.01
MAX_STRESS_SHARE = 0.05
"""Accepted shares of lines: ties in natural text; ties and normalisations together in stress lines."""

_DECODED_IDS_PER_SEQUENCE = 8
_BYTE = re.compile(r"<0x[0-9A-F]{2}>")


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


def check_parity(tokenizers: ConvertedTokenizers) -> ParityReport:
    """Compares on the built-in corpus."""
    comparison = Comparison(tokenizers)
    return ParityReport(
        natural=comparison.compare(NATURAL_LINES),
        stress=comparison.compare(stress_lines()),
        num_piece_mismatches=comparison.compare_decoding(_sequences(tokenizers)),
    )


class Comparison:
    """Converted tokenizers beside the checkpoint's own."""

    def __init__(self, tokenizers: ConvertedTokenizers) -> None:
        self._oracle = _open(tokenizers.original)
        self._source = tokenizers.source_tokenizer()
        self._source_json = tokenizers.source_json
        self._target = tokenizers.target_tokenizer()

    def compare(self, lines: Sequence[str]) -> TokenizerParity:
        """Encodes the lines as source texts and decodes them as target texts, both ways."""
        mismatches = []
        for line, (text, actual) in enumerate(zip(lines, self._source.encode_batch(lines), strict=True)):
            expected = self._oracle.source_ids(text)
            if actual != expected:
                kind = self._kind(text)
                mismatches.append(Mismatch(line, kind, tuple(expected), tuple(actual)))
        decoded = self.compare_decoding([self._oracle.target_ids(text) for text in lines])
        return TokenizerParity(len(lines), tuple(mismatches), decoded)

    @cached_property
    def _segmenter(self) -> Tokenizer:
        return Tokenizer.from_str(self._source_json)

    def _kind(self, text: str) -> MismatchKind:
        normalized, surfaces = self._oracle.restored(normalize(self._segmenter, text)), segment(self._segmenter, text)
        if normalized != self._oracle.normalized(text):
            return MismatchKind.NORMALIZATION
        actual = [self._oracle.restored(surface) for _, surface in surfaces]
        return MismatchKind.TIE if self._oracle.is_tie(text, actual) else MismatchKind.UNEXPLAINED

    def compare_decoding(self, sequences: Iterable[Sequence[int]]) -> int:
        """Returns how many sequences of target ids give a different text."""
        return sum(self._target.decode(ids) != self._oracle.target_text(ids) for ids in sequences)


def _sequences(tokenizers: ConvertedTokenizers) -> Iterator[Sequence[int]]:
    """Yields every target id, several at once; bytes one at a time, because the libraries differ about bytes that are
    no characters together: the whole run of bytes around them is lost here, only they themselves in SentencePiece.
    """
    ids = range(tokenizers.target_vocabulary_size)
    names = tokenizers.target_tokenizer().pieces(ids)
    bytes_ = [token_id for token_id, name in zip(ids, names, strict=True) if _BYTE.fullmatch(name)]
    others = sorted(set(ids).difference(bytes_))
    for start in range(0, len(others), _DECODED_IDS_PER_SEQUENCE):
        yield others[start : start + _DECODED_IDS_PER_SEQUENCE]
    yield from ([token_id] for token_id in bytes_)


def _open(original: Original) -> Oracle:
    return PieceOracle(original) if isinstance(original, PieceOriginal) else FileOracle(original)


def _excess(count: int, num_lines: int, accepted_share: float) -> int:
    """Returns the count when it is over the accepted share of lines, 0 otherwise."""
    return count if count > math.floor(num_lines * accepted_share) else 0
