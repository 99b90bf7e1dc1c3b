"""Making a segment of the pieces of a sentence: what `edges` leaves of it becomes items.

Values inside tags that stand outside are segments beside it; those inside placeholders travel as parts of these.
"""

from collections.abc import Iterable, Iterator, Sequence

from service.text.document import Gap, Item, Part, Placeholder, Segment, Span
from service.text.markup.edges import without_edges
from service.text.markup.pieces import Piece, PieceKind
from service.text.markup.references import reads_on
from service.text.markup.source import Source
from service.text.segmentation import has_letters


def filled(text: str, segments: Iterable[Segment], start: int, end: int) -> tuple[Part, ...]:
    """Return segments, in order, with gaps for all that lies between them from start to end of a document."""
    parts: list[Part] = []
    position = start
    for segment in segments:
        if segment.span.start > position:
            parts.append(Gap(text[position : segment.span.start]))
        parts.append(segment)
        position = segment.span.end
    if position < end:
        parts.append(Gap(text[position:end]))
    return tuple(parts)


def assembled(source: Source, chunk: Sequence[Piece], *, is_first: bool) -> Iterator[Segment]:
    """Give the segment of a sentence, if it has letters, and the segments inside tags around it, in order.

    is_first: whether a list mark may stand before the sentence.
    """
    before, inside, behind = without_edges(chunk, may_have_list_mark=is_first)
    items = tuple(_items(source.text, inside))
    if not has_letters(items):
        yield from _values(chunk)
        return
    yield from _values(before)
    # What was let go must not read on into the target; then the segment takes it in again.
    start, end = max(chunk[0].start, reads_on(source.text, inside[0].start)), inside[-1].end
    yield Segment(source.text[start:end], Span(start, end), items, source.escape)
    yield from _values(behind)


def _values(pieces: Iterable[Piece]) -> Iterator[Segment]:
    for piece in pieces:
        yield from piece.values


def _items(text: str, pieces: Sequence[Piece]) -> Iterator[Item]:
    """Give the items of a segment; halves that touch at both ends are one."""
    closing = _closing(pieces)
    number = 0
    ending: dict[int, tuple[int, int]] = {}
    said: list[str] = []
    index = 0
    while index < len(pieces):
        piece = pieces[index]
        if piece.kind is PieceKind.TEXT:
            said.append(piece.text)
            index += 1
            continue
        if any(said):
            yield "".join(said)
        said = []
        last = index
        pair = 0
        if piece.kind is PieceKind.OPEN:
            number += 1
            while _touch(pieces, closing, last):
                last += 1
            ending[closing[last]] = closing[index], number
            pair = number
        elif piece.kind is PieceKind.CLOSE:
            last, pair = ending[index]
        yield _placeholder(text, pieces[index : last + 1], pair)
        index = last + 1
    if any(said):
        yield "".join(said)


def _closing(pieces: Sequence[Piece]) -> dict[int, int]:
    """Return where the second half of each first one is."""
    opened: list[int] = []
    closing: dict[int, int] = {}
    for index, piece in enumerate(pieces):
        if piece.kind is PieceKind.OPEN:
            opened.append(index)
        elif piece.kind is PieceKind.CLOSE:
            closing[opened.pop()] = index
    return closing


def _touch(pieces: Sequence[Piece], closing: dict[int, int], index: int) -> bool:
    """Say whether nothing is between a pair and the one in it."""
    inner = closing.get(index + 1)
    if inner is None or inner + 1 != closing[index]:
        return False
    return pieces[index].end == pieces[index + 1].start and pieces[inner].end == pieces[inner + 1].start


def _placeholder(text: str, pieces: Sequence[Piece], pair: int) -> Placeholder:
    start, end = pieces[0].start, pieces[-1].end
    values = tuple(_values(pieces))
    parts = filled(text, values, start, end) if values else ()
    match pieces[0].kind:
        case PieceKind.OPEN:
            return Placeholder(text[start:end], "open", pair, parts=parts)
        case PieceKind.CLOSE:
            return Placeholder(text[start:end], "close", pair, parts=parts)
        case _:
            return Placeholder(text[start:end], shown=pieces[0].text, parts=parts)
