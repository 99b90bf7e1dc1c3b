"""Cutting a sentence that is too long for a model into pieces that fit.

A cut is made where it hurts least: after a sentence inside quotes, after a clause, between words, and only then inside
a word, never inside what is seen as one character while that fits. What "fits" means is the caller's; `clusters` knows
what one character is.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from service.errors import UntranslatableError
from service.text.clusters import starts_cluster
from service.text.document import Part, Span
from service.text.segmentation import is_translatable, parts_from_spans
from service.text.spaces import BREAKING_SPACES, UNSPACED, WHITE_SPACE, skip_white_space, trim

_FIRST_GUESS: Final = 512
_STEPS_PER_LENGTH: Final = 8
_TOLERANCES_PER_LENGTH: Final = 6

_CLOSING: Final = "\"'”’»›)]}）］】」』〉》"
_CLOSING_BRACKETS: Final = frozenset(")]}）］】")
_SENTENCE: Final = "!?…。！？｡؟۔।"
_CLAUSE: Final = ";:—–；：؛"
_COMMA: Final = ",、，､،"
_BREAK: Final = re.compile(rf"[{BREAKING_SPACES}]+|[。！？｡、，；：､—]+[{re.escape(_CLOSING)}]*")
_FULL_STOP: Final = re.compile(r"[^\W\d_]{4}\.$")
_LOOK_BACK: Final = 12

_WORD_EDGE: Final = re.compile(rf"\b|(?<=[{UNSPACED}])|(?=[{UNSPACED}])")


@dataclass(frozen=True, slots=True)
class _Reach:
    """How far a piece from `start` can go: to `limit` it fits, to `beyond` it does not (or the text has ended)."""

    start: int
    limit: int
    beyond: int


def cut(text: str, fits: Callable[[str], bool], offset: int = 0) -> tuple[Part, ...]:
    """Cut a sentence into pieces that fit, as few and as even as good places to cut allow; nothing is lost.

    fits: says whether a model can hold a text; it is given a small multiple of the text's characters in all, and is
        expected to hold for most texts shorter than one that fits. Every segment returned has been found to fit.
    offset: where the text starts in its document; spans count from the document's start.

    White space at a cut and pieces without a letter become gaps. A single code point with a letter that does not fit
    raises UntranslatableError.
    """
    return parts_from_spans(text, _piece_spans(text, fits), offset)


def _piece_spans(text: str, fits: Callable[[str], bool]) -> Iterator[Span]:
    text = text.rstrip(WHITE_SPACE)
    letters_end = next((end for end in range(len(text), 0, -1) if text[end - 1].isalpha()), 0)
    start, guess = skip_white_space(text, 0, len(text)), _FIRST_GUESS
    while start < letters_end:
        reach = _reach(text, start, fits, guess)
        piece, end = _fitting_piece(text, reach, fits)
        if is_translatable(text[piece.start : piece.end]):
            yield piece
        start, guess = skip_white_space(text, end, len(text)), max(1, reach.limit - reach.start)


def _reach(text: str, start: int, fits: Callable[[str], bool], guess: int) -> _Reach:
    """Find how much fits from a start, to a tolerance, beginning with a guess and growing or shrinking from there."""
    available = len(text) - start
    good, bad = 0, available + 1
    probe, step = min(guess, available), max(1, guess // _STEPS_PER_LENGTH)
    while good < available and (bad > available or bad - good > max(1, good // _TOLERANCES_PER_LENGTH)):
        if fits(text[start : start + probe]):
            good = probe
        else:
            bad = probe
        if bad > available:
            probe = min(probe + step, available)
        else:
            probe = (good + bad) // 2 if good or step >= bad else bad - step
        step *= 2
    return _Reach(start, start + good, start + bad)


def _fitting_piece(text: str, reach: _Reach, fits: Callable[[str], bool]) -> tuple[Span, int]:
    """Give the best next piece and where it was cut; tries shorter ones while fits says no to a part of what fits."""
    end = _best_cut(text, reach, fits)
    while True:
        piece = Span(*trim(text, reach.start, end))
        content = text[piece.start : piece.end]
        if not is_translatable(content) or fits(content):
            return piece, end
        if end - reach.start <= 1:
            raise UntranslatableError("A single character does not fit into the model's input.")
        half = reach.start + (end - reach.start) // 2
        end = _best_cut(text, _Reach(reach.start, half, end), fits)


def _best_cut(text: str, reach: _Reach, fits: Callable[[str], bool]) -> int:
    start, limit = reach.start, reach.limit
    available, length = len(text) - start, limit - start
    if length == available:
        return len(text)
    if length == 0:
        return start + 1
    pieces = -(-available // length)
    even = -(-available // pieces)
    target = start + even
    low, high = start + max(1, even // 2), min(limit, len(text) - even // 2)
    for candidates in (
        _breaks(text, start, low, high, target),
        _breaks(text, start, start + 1, limit, target),
        _word_edges(text, low, high, target),
        sorted(range(start + 1, limit + 1), key=lambda position: abs(position - target)),
    ):
        for position in candidates:
            if starts_cluster(text, position, start):
                return position
    return _end_of_fitting_cluster(text, reach, fits) or limit


def _breaks(text: str, start: int, low: int, high: int, target: int) -> list[int]:
    """Give the breaks between words or clauses from low to high, the best and then the nearest to a target first."""
    found = (
        match.start() if text[match.start()] in BREAKING_SPACES else match.end()
        for match in _BREAK.finditer(text, low, high + 1)
    )
    return sorted(
        (position for position in found if low <= position <= high),
        key=lambda position: (_severity(text, start, position), abs(position - target)),
    )


def _severity(text: str, start: int, position: int) -> int:
    """Rank a break by what is before it: 0 a sentence, 1 a clause, 2 a comma, 3 a word."""
    before = text[max(start, position - _LOOK_BACK) : position]
    content = before.rstrip(_CLOSING)
    last = content[-1:] or " "
    if last in _SENTENCE or _FULL_STOP.search(content):
        return 0
    if last in _CLAUSE or not _CLOSING_BRACKETS.isdisjoint(before[len(content) :]):
        return 1
    return 2 if last in _COMMA else 3


def _word_edges(text: str, low: int, high: int, target: int) -> list[int]:
    edges = (match.start() for match in _WORD_EDGE.finditer(text, low, high + 1))
    return sorted((position for position in edges if position <= high), key=lambda position: abs(position - target))


def _end_of_fitting_cluster(text: str, reach: _Reach, fits: Callable[[str], bool]) -> int | None:
    """Find the end of a cluster longer than the limit that does fit: the limit is only known to a tolerance."""
    ends = range(reach.limit + 1, min(reach.beyond, len(text) + 1))
    end = next((end for end in ends if starts_cluster(text, end, reach.start)), None)
    return end if end is not None and fits(text[reach.start : end]) else None
