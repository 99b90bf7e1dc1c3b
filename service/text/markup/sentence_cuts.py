"""Where a run of pieces is cut into sentences, with the halves of pairs on the right side of each cut.

A pair around whole sentences is let go: its halves stand at the edges of segments. A pair that begins or ends inside a
sentence and goes beyond it keeps its sentences together, or is cut itself where that would be long.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import accumulate
from typing import Final

from service.text.markup.pieces import Piece, PieceKind
from service.text.markup.source import Source
from service.text.segmentation import whole_spans
from service.text.sentences import sentence_ends
from service.text.spaces import skip_white_space

_WORD: Final = "\ufffc"
# Characters; several sentences that a tag holds together are translated at once up to this, about half of what a model
# can hold. Beyond, a sentence is parted at the tag.
_LONGEST_TOGETHER: Final = 300


@dataclass(frozen=True, slots=True)
class _Pair:
    """A pair in a run; start and end are where the first text in it and behind it is to be seen."""

    number: int
    start: int
    end: int


def sentence_chunks(source: Source, run: Sequence[Piece]) -> Iterator[list[Piece]]:
    """Give the pieces of each sentence of a tidied run; what stands between two is at the end of the first."""
    texts = [_WORD if piece.kind is PieceKind.WORD else piece.text for piece in run]
    offsets = [0, *accumulate(map(len, texts))]
    plain = "".join(texts)
    seen = _seen_from(plain, offsets)
    starts = {skip_white_space(plain, end, len(plain)) for end in _ends(source, run, offsets, plain)}
    cuts, loose = _settled(sorted(starts | {seen[0], len(plain)}), _pairs(run, seen))
    # A cut at the end of all is none.
    ahead = [cut for cut in reversed(cuts) if seen[0] < cut < len(plain)]
    chunk: list[Piece] = []
    for index, piece in enumerate(run):
        if piece.kind in (PieceKind.OPEN, PieceKind.CLOSE) and piece.pair in loose:
            chunk.append(replace(piece, kind=PieceKind.MARK))
            continue
        rest, start = piece, offsets[index]
        while ahead and _belongs_behind(piece, ahead[-1], seen[index], offsets[index + 1]):
            at = ahead.pop() - start
            if at > 0 and rest.kind is PieceKind.TEXT and rest.is_literal:
                chunk.append(rest.sliced(0, at))
                rest, start = rest.sliced(at, len(rest.text)), start + at
            yield chunk
            chunk = []
        chunk.append(rest)
    yield chunk


def _belongs_behind(piece: Piece, cut: int, seen: int, end: int) -> bool:
    """Say whether a piece, or a part of it, stands behind a cut; closing halves and marks stay before it."""
    match piece.kind:
        case PieceKind.TEXT:
            return cut < end and (piece.is_literal or cut <= seen)
        case PieceKind.OPEN | PieceKind.WORD:
            return cut <= seen
        case _:
            return False


def _ends(source: Source, run: Sequence[Piece], offsets: Sequence[int], plain: str) -> Iterator[int]:
    if source.options.split_sentences == "off":
        return
    breaks = (end for piece, end in zip(run, offsets[1:], strict=True) if piece.breaks and source.breaks_end_sentences)
    start = 0
    for end in (*breaks, len(plain)):
        line = plain[start:end]
        whole = whole_spans(source.options.protect(line)) if line else ()
        for length in sentence_ends(line, source.language, whole):
            yield start + length
        start = end


def _seen_from(plain: str, offsets: Sequence[int]) -> list[int]:
    """Return, for the place before each piece and behind the last, where the next text to be seen begins."""
    seen = [len(plain)] * len(offsets)
    for index in range(len(offsets) - 2, -1, -1):
        start, end = offsets[index], offsets[index + 1]
        first = skip_white_space(plain, start, end)
        seen[index] = first if first < end else seen[index + 1]
    return seen


def _pairs(run: Sequence[Piece], seen: Sequence[int]) -> list[_Pair]:
    """Return the pairs of a run in the order in which they begin."""
    opened: list[tuple[int, Piece]] = []
    pairs: list[tuple[int, _Pair]] = []
    for index, piece in enumerate(run):
        if piece.kind is PieceKind.OPEN:
            opened.append((index, piece))
        elif piece.kind is PieceKind.CLOSE:
            first, half = opened.pop()
            pairs.append((first, _Pair(half.pair, seen[first], seen[index])))
    return [pair for _, pair in sorted(pairs, key=lambda found: found[0])]


def _settled(cuts: Sequence[int], pairs: Sequence[_Pair]) -> tuple[list[int], set[int]]:
    """Return where to cut in the end, and the numbers of the pairs whose halves are let go."""
    kept = set(cuts)
    ahead = list(cuts)
    loose: set[int] = set()
    sentence = cuts[0]
    for pair in pairs:
        while ahead and ahead[0] <= pair.start:
            sentence = heappop(ahead)
        if not ahead or ahead[0] >= pair.end:
            continue
        if pair.start in kept and pair.end in kept:
            loose.add(pair.number)
        elif pair.end - sentence <= _LONGEST_TOGETHER:
            while ahead and ahead[0] < pair.end:
                kept.discard(heappop(ahead))
        else:
            loose.add(pair.number)
            kept |= {pair.start, pair.end}
            heappush(ahead, pair.end)
            sentence = pair.start
    return sorted(kept), loose
