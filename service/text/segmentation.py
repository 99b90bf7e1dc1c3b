"""Cutting plain text into segments a model translates and the gaps between them.

Law: the texts of all parts, joined in order, are the document. White space at the edges of lines and between sentences,
list marks, blocks of code, and stretches without a letter are gaps. Where sentences end is decided by `sentences`, what
must not change inside them by `protection`; a segment may be longer than a model can hold (`cutting`).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, Literal

from service.text.document import Document, Gap, Item, Part, Placeholder, Segment, Span
from service.text.fences import fenced_blocks
from service.text.list_marks import list_mark_end
from service.text.sentences import sentence_ends
from service.text.spaces import (
    LINE_OR_COLUMN_BREAKS,
    around_line_breaks,
    is_one_line,
    is_one_line_break,
    joined_lines,
    trim,
    without_line_breaks,
)

SplitSentences = Literal["on", "off", "nonewlines"]

# Scripts that put nothing between words, and so nothing where lines are joined.
UNSPACED_LANGUAGES: Final = frozenset({"zh", "ja", "th", "lo", "km", "my", "yue", "wuu"})


def _as_it_is(text: str) -> tuple[Item, ...]:
    return (text,)


@dataclass(frozen=True, slots=True)
class SegmentationOptions:
    """How to cut a text.

    split_sentences: "on" cuts lines into sentences. "nonewlines" joins the lines of a paragraph before it cuts it into
        sentences; a line break inside a sentence becomes a space. "off" leaves a paragraph whole; a line break inside
        it is a placeholder. Blank lines, list marks and blocks of code end paragraphs.
    protect: finds what must not change in a text; its items joined are the text, and no cut is made inside a
        placeholder.
    """

    split_sentences: SplitSentences = "on"
    protect: Callable[[str], tuple[Item, ...]] = _as_it_is


def segment(text: str, language: str, options: SegmentationOptions = SegmentationOptions()) -> Document:
    """Cut a document: no part is empty, no gap follows a gap, and spans index the document.

    language: code of the document's language; an unknown one is cut by general rules.
    """
    return Document(tuple(_merged(text, _segments(text, language, options))))


def join(parts: Iterable[Part]) -> str:
    """Put parts together again; the inverse of `segment`."""
    return "".join(part.text for part in parts)


def is_translatable(text: str) -> bool:
    """Say whether a text has at least one letter (Unicode categories L*).

    Digits, letter-like numbers (Ⅷ, ①), symbols, emoji and combining marks alone give a model nothing to translate.
    """
    return any(map(str.isalpha, text))


def has_letters(items: Iterable[Item]) -> bool:
    """Say whether there is anything to translate among items: a letter outside placeholders."""
    return any(is_translatable(item) for item in items if isinstance(item, str))


def parts_from_spans(text: str, spans: Iterable[Span], offset: int = 0) -> tuple[Part, ...]:
    """Make segments of the spans of a text (in order, apart) and gaps of all that lies between.

    offset: where the text starts in its document; the spans of the segments count from the document's start.
    """
    segments = (Segment(text[span.start : span.end], Span(offset + span.start, offset + span.end)) for span in spans)
    return tuple(_merged(text, segments, offset))


def whole_spans(items: Sequence[Item]) -> tuple[Span, ...]:
    """Return where the placeholders stand in a text whose items, joined, are the text."""
    placed = zip(items, accumulate(map(_length, items)), strict=True)
    return tuple(Span(end - _length(item), end) for item, end in placed if isinstance(item, Placeholder))


def sliced_items(items: Sequence[Item], spans: Sequence[Span]) -> Iterator[tuple[Item, ...]]:
    """Give the items of each span of a text whose items, joined, are the text.

    spans: in order and apart; none begins or ends inside a placeholder.
    """
    index = end = 0
    for span in spans:
        sliced: list[Item] = []
        while index < len(items):
            item = items[index]
            start, end = end, end + _length(item)
            if end > span.start:
                sliced.append(item[max(0, span.start - start) : span.end - start] if isinstance(item, str) else item)
            if end >= span.end:
                # The next span may begin inside this item.
                end = start
                break
            index += 1
        yield tuple(sliced)


def _merged(text: str, segments: Iterable[Segment], offset: int = 0) -> Iterator[Part]:
    """Give segments with the gaps around them."""
    end = 0
    for part in segments:
        start = part.span.start - offset
        if start > end:
            yield Gap(text[end:start])
        yield part
        end = part.span.end - offset
    if end < len(text):
        yield Gap(text[end:])


def _segments(text: str, language: str, options: SegmentationOptions) -> Iterator[Segment]:
    split = options.split_sentences
    between = "" if language in UNSPACED_LANGUAGES else " "
    for unit in _lines(text) if split == "on" else _paragraphs(text):
        content = text[unit.start : unit.end]
        items = options.protect(content)
        spans = [Span(0, len(content))] if split == "off" else _sentence_spans(content, language, whole_spans(items))
        for span, own in zip(spans, sliced_items(items, spans), strict=True):
            if split == "off":
                own = tuple(_with_breaks_kept(own))
            elif split == "nonewlines":
                own = tuple(joined_lines(item, between) if isinstance(item, str) else item for item in own)
            if has_letters(own):
                yield Segment(content[span.start : span.end], Span(unit.start + span.start, unit.start + span.end), own)


def _sentence_spans(text: str, language: str, whole: Sequence[Span]) -> list[Span]:
    spans = []
    start = 0
    for end in sentence_ends(without_line_breaks(text), language, whole):
        sentence = Span(*trim(text, start, end))
        if sentence.start < sentence.end:
            spans.append(sentence)
        # White space behind a sentence is looked at again, as the next may begin with a mark that combines with it.
        start = sentence.end
    return spans


def _with_breaks_kept(items: Iterable[Item]) -> Iterator[Item]:
    """Make placeholders of the line breaks inside items, the white space around them included."""
    for item in items:
        if isinstance(item, str):
            pieces = around_line_breaks(item)
            yield from (Placeholder(piece) if index % 2 else piece for index, piece in enumerate(pieces) if piece)
        else:
            yield item


def _paragraphs(text: str) -> Iterator[Span]:
    """Give runs of lines that only one ordinary line break parts, each; a list mark begins a new one."""
    start: int | None = None
    end = 0
    for line in _lines(text):
        gap = text[end : line.start]
        if start is not None and not is_one_line_break(gap):
            yield Span(start, end)
            start = None
        start = line.start if start is None else start
        end = line.end
    if start is not None:
        yield Span(start, end)


def _lines(text: str) -> Iterator[Span]:
    """Give the lines and columns of a text that have a letter, without white space at their edges and list marks."""
    start = 0
    unbroken = is_one_line(text)
    for block in (*fenced_blocks(text), Span(len(text), len(text))):
        while start < block.start:
            found = None if unbroken else LINE_OR_COLUMN_BREAKS.search(text, start, block.start)
            end = found.start() if found else block.start
            line = Span(*trim(text, start, end))
            if is_translatable(text[line.start : line.end]):
                yield Span(_start_of_text(text, line), line.end)
            start = found.end() if found else block.start
        start = block.end


def _start_of_text(text: str, line: Span) -> int:
    """Give where a line starts behind its list marks, unless nothing translatable would be left."""
    start = list_mark_end(text, line.start, line.end)
    return start if is_translatable(text[start : line.end]) else line.start


def _length(item: Item) -> int:
    return len(item if isinstance(item, str) else item.text)
