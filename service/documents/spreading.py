"""Spreading a translation over the lines that its source stood on, in the proportions of the source.

Breaks fall between words, near where the source has its own and rather behind punctuation; in scripts without spaces
between characters.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

from service.text.clusters import starts_cluster
from service.text.spaces import WHITE_SPACE

# A break behind punctuation may lie this share of the whole further from where the source has its own.
_PUNCTUATION_PULL: Final = 0.06
_PUNCTUATION: Final = frozenset(".,;:!?…。，、；：！？—–")
# What no line begins with in Chinese and Japanese typesetting.
_NEVER_FIRST: Final = frozenset("。，、；：！？）」』】》〉”’…ー々")
# No cluster and no run of spaces that matters is longer.
_NEAR: Final = 64


def line_starts(text: str, lengths: Sequence[int], *, spaced: bool, least: int = 1) -> list[int]:
    """Returns the offsets at which lines begin, that of the first left out: one fewer than there are lengths, or less.

    lengths: of the lines of the source. spaced: whether the language puts spaces between words. least: how many lines
    there must be if the text has so many characters; words are taken apart where it has fewer words.
    """
    places = [place for place in _places(text) if text[place - 1] in WHITE_SPACE] if spaced else []
    if len(places) + 1 < min(least, len(lengths)) or not spaced:
        places = [place for place in _places(text) if _may_break(text, place)]
    count = min(len(lengths) - 1, len(places))
    total = sum(lengths) or 1
    ideal = [len(text) * reached / total for reached in accumulate(lengths)]
    chosen: list[int] = []
    first = 0
    for index in range(count):
        # Each line that is still to come needs a place of its own.
        nearest = _nearest(text, places, range(first, len(places) - (count - index) + 1), ideal[index])
        chosen.append(places[nearest])
        first = nearest + 1
    return chosen


def _places(text: str) -> Iterator[int]:
    """Gives the offsets at which a line may begin: with a character to see, and one before it."""
    first = len(text) - len(text.lstrip(WHITE_SPACE))
    return (place for place in range(first + 1, len(text)) if text[place] not in WHITE_SPACE)


def _may_break(text: str, place: int) -> bool:
    return text[place] not in _NEVER_FIRST and starts_cluster(text, place, max(0, place - _NEAR))


def _nearest(text: str, places: Sequence[int], among: range, ideal: float) -> int:
    """Returns the index of the best of the places; only those around the ideal can be it."""
    pull = len(text) * _PUNCTUATION_PULL
    low = bisect_left(places, ideal - pull, among.start, among.stop)
    high = bisect_left(places, ideal + pull, among.start, among.stop)
    around = range(max(among.start, low - 1), min(among.stop, high + 1))

    def distance(index: int) -> float:
        place = places[index]
        before = text[max(0, place - _NEAR) : place].rstrip(WHITE_SPACE)
        return abs(place - ideal) - (pull if before[-1:] in _PUNCTUATION else 0)

    return min(around, key=distance)
