"""Cutting a document into segments a model translates and the gaps between them, and joining them again.

Law: the texts of all parts, joined in order, are the document. Lines are kept; white space at their edges and between
sentences, list marks, and stretches without a letter are gaps. Where sentences end is decided by `sentences`; a segment
may be longer than a model can hold (`cutting`).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from service.text.list_marks import list_mark_end
from service.text.sentences import sentence_ends
from service.text.spaces import LINE_BREAKS, trim


@dataclass(frozen=True, slots=True)
class Span:
    """Characters start to end (excluded) of a document, counted in code points."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of a document to translate: no line break inside, no white space at its edges, at least one letter."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Gap:
    """A stretch of a document that stays as it is."""

    text: str


Part = Segment | Gap


def segment(text: str, language: str) -> tuple[Part, ...]:
    """Cut a document into parts: no part is empty, no gap follows a gap, and spans index the document.

    language: code of the document's language; an unknown one is cut by general rules.
    """
    return parts_from_spans(text, _segment_spans(text, language))


def join(parts: Iterable[Part]) -> str:
    """Put parts together again; the inverse of `segment`."""
    return "".join(part.text for part in parts)


def is_translatable(text: str) -> bool:
    """Say whether a text has at least one letter (Unicode categories L*).

    Digits, letter-like numbers (Ⅷ, ①), symbols, emoji and combining marks alone give a model nothing to translate.
    """
    return any(map(str.isalpha, text))


def parts_from_spans(text: str, spans: Iterable[Span], offset: int = 0) -> tuple[Part, ...]:
    """Make segments of the spans of a text (in order, apart) and gaps of all that lies between.

    offset: where the text starts in its document; the spans of the segments count from the document's start.
    """
    parts: list[Part] = []
    end = 0
    for span in spans:
        if span.start > end:
            parts.append(Gap(text[end : span.start]))
        end = span.end
        parts.append(Segment(text[span.start : end], Span(offset + span.start, offset + end)))
    if end < len(text):
        parts.append(Gap(text[end:]))
    return tuple(parts)


def _segment_spans(text: str, language: str) -> Iterator[Span]:
    for line in _lines(text):
        yield from _sentence_spans(text, Span(_start_of_text(text, line), line.end), language)


def _sentence_spans(text: str, line: Span, language: str) -> Iterator[Span]:
    start = line.start
    for length in sentence_ends(text[line.start : line.end], language):
        end = line.start + length
        sentence = Span(*trim(text, start, end))
        if is_translatable(text[sentence.start : sentence.end]):
            yield sentence
        start = end


def _lines(text: str) -> Iterator[Span]:
    """Give the lines of a text that have a letter, without line breaks and white space at their edges."""
    start = 0
    while start < len(text):
        found = LINE_BREAKS.search(text, start)
        end = found.start() if found else len(text)
        line = Span(*trim(text, start, end))
        if is_translatable(text[line.start : line.end]):
            yield line
        start = found.end() if found else len(text)


def _start_of_text(text: str, line: Span) -> int:
    """Give where a line starts behind its list marks, unless nothing translatable would be left."""
    start = list_mark_end(text, line.start, line.end)
    return start if is_translatable(text[start : line.end]) else line.start
