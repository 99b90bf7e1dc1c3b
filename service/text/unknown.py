"""What a vocabulary cannot express in a text: whole words for letters, runs of signs for everything else."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Final

from service.text.clusters import starts_cluster
from service.text.document import Span
from service.text.words import is_word_character

_CHUNK: Final = re.compile(r"\S+")
# Categories of signs that may be in a word, and those among them that part words.
_JOINING: Final = frozenset({"Po", "Sk", "Sm", "So", "Sc"})
_PARTING: Final = frozenset('.,;:!?…/|\\·¡¿"。、，！？；：・｡､؟۔،؛।॥։።')


def unknown_spans(text: str, stretches: Iterable[Span], is_known: Callable[[str], bool]) -> Iterator[Span]:
    """Give what a vocabulary does not know in stretches of a text, in order and apart.

    is_known: says whether a vocabulary can express a text; it is asked about words only in stretches it cannot express,
    and about characters only in words it cannot express.
    """
    ask = cache(is_known)
    for stretch in stretches:
        if stretch.start < stretch.end and not is_known(text[stretch.start : stretch.end]):
            for chunk in _CHUNK.finditer(text, stretch.start, stretch.end):
                if not ask(chunk[0]):
                    yield from _in_chunk(text, Span(*chunk.span()), ask)


def _in_chunk(text: str, chunk: Span, ask: Callable[[str], bool]) -> Iterator[Span]:
    end = chunk.start
    unknown = [cluster for cluster in _clusters(text, chunk) if not ask(text[cluster.start : cluster.end])]
    # Characters that are known one by one and not together: the whole is unknown.
    for cluster in unknown or [chunk]:
        if cluster.start < end:
            continue
        start, stop = cluster.start, cluster.end
        while start > max(chunk.start, end) and _is_one_word(text, start):
            start -= 1
        while stop < chunk.end and _is_one_word(text, stop):
            stop += 1
        end = stop
        yield Span(start, stop)


def _clusters(text: str, chunk: Span) -> Iterator[Span]:
    start = chunk.start
    for place in range(chunk.start + 1, chunk.end + 1):
        if place == chunk.end or starts_cluster(text, place, start):
            yield Span(start, place)
            start = place


def _is_one_word(text: str, place: int) -> bool:
    return _holds(text, place - 1) and _holds(text, place)


def _holds(text: str, place: int) -> bool:
    """Say whether a character is part of a word: a letter or digit, or a sign between two, as in AT&T."""
    if is_word_character(text[place]):
        return True
    if text[place] in _PARTING or unicodedata.category(text[place]) not in _JOINING:
        return False
    sides = text[place - 1 : place], text[place + 1 : place + 2]
    return all(side and is_word_character(side) for side in sides)
