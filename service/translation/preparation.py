"""From segments to units that a model can hold: protect, encode, and cut what is too long."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from service.text.cutting_items import cut_items
from service.text.document import Document, Part, Placeholder, Segment, Span
from service.text.segmentation import has_letters
from service.translation.entries import Entry, Items, Unit
from service.translation.opening import Protector, protected_items
from service.translation.unit_work import UnitWork, WorkSettings


@dataclass(frozen=True, slots=True, eq=False)
class WaitingSegment:
    """A segment of a document: how its target text is written, and whether its items are protected already."""

    segment: Segment
    escape: Callable[[str], str]
    is_protected: bool


@dataclass(frozen=True, slots=True, eq=False)
class PreparedSegment:
    """A segment with the works of its units, in order."""

    entry: Entry
    works: tuple[UnitWork, ...]


def waiting_segments(document: Document, *, is_protected: bool) -> Iterator[WaitingSegment]:
    """Gives the segments of a document in order, those inside placeholders behind the one they are in."""
    for segment in _segments_in(document.parts):
        yield WaitingSegment(segment, segment.escape or document.escape, is_protected)


def _segments_in(parts: Sequence[Part]) -> Iterator[Segment]:
    for part in parts:
        if isinstance(part, Segment):
            yield part
            for item in part.items:
                if isinstance(item, Placeholder) and item.parts:
                    yield from _segments_in(item.parts)


class Preparation:
    """Prepares the segments of a request."""

    def __init__(self, protector: Protector, settings: WorkSettings) -> None:
        self._protector = protector
        self._settings = settings
        self._direction = settings.direction

    def prepared(self, segments: Sequence[WaitingSegment]) -> list[PreparedSegment]:
        """Returns the segments with works that are ready to be decoded; a segment without a letter has none.

        Raises UntranslatableError if a character alone is too long for the model.
        """
        entries = [Entry(one.segment, one.escape, (self._whole(one),)) for one in segments]
        works = [tuple(UnitWork(unit, self._settings) for unit in entry.units) for entry in entries]
        encoded = iter(self._direction.encode([text for own in works for work in own for text in work.texts]))
        done: list[PreparedSegment] = []
        for entry, own in zip(entries, works, strict=True):
            ids = [[next(encoded) for _ in work.texts] for work in own]
            if all(self._all_fit(texts) for texts in ids):
                for work, texts in zip(own, ids, strict=True):
                    work.ask(texts)
                done.append(PreparedSegment(entry, own))
            else:
                done.append(self._cut(entry))
        return done

    def _whole(self, waiting: WaitingSegment) -> Unit | Items:
        segment, items = waiting.segment, waiting.segment.items
        if not waiting.is_protected:
            items = tuple(protected_items(items, self._protector, waiting.escape))
        return Unit(segment.text, segment.span, items) if has_letters(items) else items

    def _cut(self, entry: Entry) -> PreparedSegment:
        """Cuts a segment of one unit that is too long; the pieces of plain text have places of their own."""
        (whole,) = entry.units
        is_plain = "".join(item if isinstance(item, str) else item.text for item in whole.items) == whole.source
        pieces: list[Unit | Items] = []
        start = 0
        for items in cut_items(whole.items, self._fit):
            end = start + sum(len(item if isinstance(item, str) else item.text) for item in items)
            if not has_letters(items):
                pieces.append(items)
            elif is_plain:
                span = Span(whole.span.start + start, whole.span.start + end)
                pieces.append(Unit(whole.source[start:end], span, items))
            else:
                pieces.append(Unit(whole.source, whole.span, items))
            start = end
        entry.pieces = tuple(pieces)
        works = tuple(UnitWork(unit, self._settings) for unit in entry.units)
        for work in works:
            work.ask(self._direction.encode(work.texts))
        return PreparedSegment(entry, works)

    def _fit(self, items: Items) -> bool:
        """Says whether a model can hold items: the text it is given first, and all strings on their own together."""
        strings = [item for item in items if isinstance(item, str)]
        if len(strings) == len(items) == 1:
            return self._all_fit(self._direction.encode(strings))
        first = UnitWork(Unit("", Span(0, 0), items), self._settings).texts
        encoded = self._direction.encode([*first, *strings])
        alone = sum(map(len, encoded[len(first) :]))
        return self._all_fit(encoded[: len(first)]) and alone <= self._direction.longest

    def _all_fit(self, encoded: Sequence[Sequence[int]]) -> bool:
        return all(len(ids) <= self._direction.longest for ids in encoded)
