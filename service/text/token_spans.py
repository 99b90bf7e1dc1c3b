"""Which characters of a text each token of it stands for, found by reading pieces and text side by side.

Tokenisers normalise what they read, drop some characters and spell others out, so pieces and text need not agree in
every character; nor need a translation agree with its tokens once its case was restored. What disagrees is skipped.
"""

import unicodedata
from collections.abc import Iterator, Sequence
from typing import Final

from service.text.document import Span

# How far apart pieces and text may get before both go on by one character.
_REACH: Final = 12
_NEAR: Final = _REACH + 2
_SPACE_MARKS: Final = "▁"


def token_spans(pieces: Sequence[str], text: str, holes: Sequence[Span] = ()) -> tuple[Span, ...]:
    """Return the characters of a text for each piece of it; an empty span for a piece that is not found.

    holes: stretches of the text, in order, that no token stands for.
    """
    written = [(char, place) for place in _outside(len(text), holes) for char in _folded(text[place])]
    spoken = [(char, index) for index, piece in enumerate(pieces) for char in _folded(piece)]
    bounds: list[tuple[int, int] | None] = [None] * len(pieces)
    at = 0
    reading = 0
    while reading < len(spoken) and at < len(written):
        if spoken[reading][0] != written[at][0]:
            ahead, behind = _next_agreement(spoken[reading : reading + _NEAR], written[at : at + _NEAR])
            reading, at = reading + ahead, at + behind
            continue
        index, place = spoken[reading][1], written[at][1]
        start = place if (bound := bounds[index]) is None else bound[0]
        bounds[index] = (start, place + 1)
        reading, at = reading + 1, at + 1
    return tuple(_filled(bounds))


def _outside(length: int, holes: Sequence[Span]) -> Iterator[int]:
    start = 0
    for hole in holes:
        yield from range(start, hole.start)
        start = hole.end
    yield from range(start, length)


def _folded(text: str) -> str:
    """Fold what normalisation and case may change; marks of word beginnings and white space mean nothing here."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(char for char in folded if not char.isspace() and char not in _SPACE_MARKS)


def _next_agreement(spoken: Sequence[tuple[str, int]], written: Sequence[tuple[str, int]]) -> tuple[int, int]:
    """Return how much to skip on either side, as little as possible, so that two characters in a row agree."""
    for skipped in range(1, 2 * _REACH):
        for ahead in range(max(0, skipped - _REACH), min(skipped, _REACH) + 1):
            one = [char for char, _ in spoken[ahead : ahead + 2]]
            other = [char for char, _ in written[skipped - ahead : skipped - ahead + 2]]
            if one and one == other:
                return ahead, skipped - ahead
    return 1, 1


def _filled(bounds: Sequence[tuple[int, int] | None]) -> Iterator[Span]:
    """Give an empty span, behind the one before, to what was not found."""
    end = 0
    for bound in bounds:
        yield Span(end, end) if bound is None else Span(*bound)
        end = end if bound is None else bound[1]
