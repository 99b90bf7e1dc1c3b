"""The words of a text for alignment: what a placeholder may stand beside, never inside.

A word is a run of letters, digits and marks, with apostrophes, hyphens and the like between them; any other visible
character is a word of its own. Scripts that put no spaces between words are cut where a tokenizer cut them.
"""

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

from service.text.clusters import starts_cluster
from service.text.document import Span
from service.text.spaces import UNSPACED, WHITE_SPACE

_WORD: Final = re.compile(
    rf"[^\W{UNSPACED}]+(?:['’.,·‐‑-][^\W{UNSPACED}]+)*|[{UNSPACED}]+|[^\w{re.escape(WHITE_SPACE)}]"
)
_IS_UNSPACED: Final = re.compile(rf"[{UNSPACED}]")
_JOINERS: Final = "\u200c\u200d"
# Stands for a mark, which the regular expressions of the standard library take for no part of a word.
_LETTER: Final = "a"


def words(text: str, cuts: Iterable[int] = ()) -> list[Span]:
    """Return where the words of a text stand, in order; no character that is seen as one is parted.

    cuts: where a tokenizer cut the text; what is between letters of a spaced script does not count.
    """
    places = sorted(set(cuts))
    found: list[Span] = []
    for match in _WORD.finditer(text if text.isascii() else _without_marks(text)):
        start, end = match.span()
        if found and found[-1].end == start and not starts_cluster(text, start, found[-1].start):
            start = found.pop().start
        if _IS_UNSPACED.match(text, start):
            found.extend(_cut(text, start, end, places))
        else:
            found.append(Span(start, end))
    return found


def is_word_character(char: str) -> bool:
    """Say whether a character touching another such character makes one word with it: no unspaced script, no sign."""
    return (char.isalnum() or char == "_" or _is_mark(char)) and not _IS_UNSPACED.match(char)


def _cut(text: str, start: int, end: int, places: list[int]) -> Iterable[Span]:
    inner = [place for place in places if start < place < end and starts_cluster(text, place, start)]
    edges = [start, *inner, end]
    return map(Span, edges, edges[1:])


def _without_marks(text: str) -> str:
    return "".join(_LETTER if _is_mark(char) else char for char in text)


def _is_mark(char: str) -> bool:
    return not char.isascii() and (char in _JOINERS or unicodedata.category(char)[0] == "M")
