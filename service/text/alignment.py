"""Which words of a source the words of its translation come from, read from cross-attention weights.

Subwords are put together to words and special tokens are left out. Some source words are looked at from everywhere, so
every word's weight is divided by all it gets; words that say the same are drawn together. Which layer and heads the
weights come from is the package's business.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from service.text.document import Span
from service.text.spaces import trim
from service.text.words import words

LEAST_SHARE: Final = 0.05
# Keeps the little that a word nobody looks at gets from counting as all there is.
_LEAST_ATTENTION: Final = 0.1
# What a word that stands in both texts as it is, a name, a number or a comma, gains.
_SAME_TEXT: Final = 0.5


@dataclass(frozen=True, slots=True)
class Link:
    """A word of the target with one of the source.

    source, target: their characters in the two texts. weight: the source word's share in the target word, at most 1;
    those of all source words of a target word sum to 1, but shares below LEAST_SHARE are not told.
    """

    source: Span
    target: Span
    weight: float


def word_links(
    matrix: Sequence[Sequence[float]],
    source_offsets: Sequence[Span | None],
    target_offsets: Sequence[Span | None],
    source: str,
    target: str,
) -> tuple[Link, ...]:
    """Return the links of a translation in the order of its words.

    matrix: how much each target token (row) attends to each source token (column), not negative.
    source_offsets, target_offsets: the characters each token stands for in its text, in order; None or an empty span
    for a token that stands for none (end and language tokens). Raises ValueError when they do not fit the matrix.
    """
    source_words, source_owners = _grouped(source, source_offsets)
    target_words, target_owners = _grouped(target, target_offsets)
    rows = [[0.0] * len(source_words) for _ in target_words]
    for weights, row_words in zip(matrix, target_owners, strict=True):
        for weight, column_words in zip(weights, source_owners, strict=True):
            for column in column_words:
                for row in row_words:
                    rows[row][column] += weight
    _share_out(rows)
    _draw_together(rows, _spelled(source, source_words), _spelled(target, target_words))
    return tuple(
        Link(source_words[column], target_words[row], share)
        for row, weights in enumerate(rows)
        for column, share in _shares(weights)
    )


def mutual_links(links: Iterable[Link]) -> tuple[Link, ...]:
    """Return the links that are the strongest of both their words: few of them are wrong, and some words have none."""
    links = tuple(links)
    by_target: dict[Span, Link] = {}
    by_source: dict[Span, Link] = {}
    for link in links:
        for best, word in ((by_target, link.target), (by_source, link.source)):
            if word not in best or best[word].weight < link.weight:
                best[word] = link
    return tuple(link for link in links if by_target[link.target] is link and by_source[link.source] is link)


def _grouped(text: str, offsets: Sequence[Span | None]) -> tuple[list[Span], list[range]]:
    """Give the words of a text, and for each token the words it touches."""
    stretches = [(0, 0) if place is None else trim(text, place.start, place.end) for place in offsets]
    found = words(text, (start for start, end in stretches if start < end))
    starts, ends = [word.start for word in found], [word.end for word in found]
    return found, [
        range(bisect_right(ends, start), bisect_right(starts, end - 1)) if start < end else range(0)
        for start, end in stretches
    ]


def _share_out(rows: list[list[float]]) -> None:
    totals = [sum(column) + _LEAST_ATTENTION for column in zip(*rows, strict=True)]
    for row in rows:
        row[:] = [weight / total for weight, total in zip(row, totals, strict=True)]


def _draw_together(rows: list[list[float]], source: list[str], target: list[str]) -> None:
    columns: dict[str, list[int]] = {}
    for column, word in enumerate(source):
        columns.setdefault(word, []).append(column)
    for row, word in zip(rows, target, strict=True):
        for column in columns.get(word, ()):
            row[column] += _SAME_TEXT


def _spelled(text: str, found: Iterable[Span]) -> list[str]:
    return [text[word.start : word.end].casefold() for word in found]


def _shares(weights: list[float]) -> Iterable[tuple[int, float]]:
    total = sum(weights)
    for column, weight in enumerate(weights):
        if weight > 0 and weight >= LEAST_SHARE * total:
            yield column, weight / total
