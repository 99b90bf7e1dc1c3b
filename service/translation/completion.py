"""From results to text: writes segments in the target language, and puts the documents together again."""

from collections.abc import Iterable, Iterator, Mapping

from service.text.document import Document, Gap, Part, Placeholder, Segment, Span
from service.translation.direction import Direction
from service.translation.entries import Entry, Items, Unit, UnitResult
from service.translation.segment_details import segment_translation
from service.translation.translation import Details, SegmentTranslation, Translation


class Completion:
    """Writes documents whose segments are done; a segment without an entry stays as it is."""

    def __init__(self, entries: Iterable[Entry], direction: Direction, details: Details) -> None:
        # By identity, since placeholders travel with the segments inside them, and equal texts need not be equal here.
        self._entries: Mapping[int, Entry] = {id(entry.segment): entry for entry in entries}
        self._direction = direction
        self._details = details

    def translation(self, document: Document) -> Translation:
        """Returns the translation of one document."""
        entries = tuple(self._entries_of(document.parts))
        results = [result for entry in entries for result in entry.results]
        width = max((len(result.targets) for result in results), default=1)
        # Different tokens can spell the same text; an alternative says something new.
        texts = dict.fromkeys(self._joined(document.parts, rank) for rank in range(width))
        text, *alternatives = texts
        return Translation(
            text=text,
            alternatives=tuple(alternatives),
            segments=tuple(self._segments(entries)) if self._details.any else (),
            score=sum(result.targets[0].score for result in results) if results else None,
        )

    def written(self, items: Items, entry: Entry, rank: int) -> tuple[str, tuple[Span, ...]]:
        """Returns items as they stand in the document, and where placeholders are in that."""
        pieces: list[str] = []
        places: list[Span] = []
        end = 0
        for item in items:
            if isinstance(item, str):
                pieces.append(entry.escape(item))
            else:
                pieces.append(self._joined(item.parts, rank) if item.parts else item.text)
                places.append(Span(end, end + len(pieces[-1])))
            end += len(pieces[-1])
        return "".join(pieces), tuple(places)

    def _entries_of(self, parts: Iterable[Part]) -> Iterator[Entry]:
        for part in parts:
            if isinstance(part, Segment):
                if (entry := self._entries.get(id(part))) is not None:
                    yield entry
                for item in part.items:
                    if isinstance(item, Placeholder) and item.parts:
                        yield from self._entries_of(item.parts)

    def _joined(self, parts: Iterable[Part], rank: int) -> str:
        pieces: list[str] = []
        last: Part | None = None
        for part in parts:
            if isinstance(part, Gap):
                pieces.append(part.text)
            else:
                text = self._segment_text(part, rank)
                # Sentences that touch in the source (in Chinese they do) are parted where the target parts them.
                is_new = isinstance(last, Segment) and (text, pieces[-1]) != (part.text, last.text)
                pieces += [" "] if is_new and self._direction.joins_with_space else []
                pieces.append(text)
            last = part
        return "".join(pieces)

    def _segment_text(self, segment: Segment, rank: int) -> str:
        entry = self._entries.get(id(segment))
        if entry is None or self._is_unchanged(entry, rank):
            return segment.text
        results = iter(entry.results)
        pieces: list[str] = []
        after_unit = False
        for piece in entry.pieces:
            is_unit = isinstance(piece, Unit)
            items = _target(next(results), rank) if isinstance(piece, Unit) else piece
            pieces.append(" " if is_unit and after_unit and self._direction.joins_with_space else "")
            pieces.append(self.written(items, entry, rank)[0])
            after_unit = is_unit
        return "".join(pieces)

    def _is_unchanged(self, entry: Entry, rank: int) -> bool:
        """Says whether a segment's translation is its source; then it is written as it was, entities and all."""
        units = zip(entry.units, entry.results, strict=True)
        if any(_target(result, rank) != unit.items for unit, result in units):
            return False
        inside = (item for item in entry.segment.items if isinstance(item, Placeholder) and item.parts)
        return all(self._joined(item.parts, rank) == item.text for item in inside)

    def _segments(self, entries: Iterable[Entry]) -> Iterator[SegmentTranslation]:
        for entry in entries:
            for unit, result in zip(entry.units, entry.results, strict=True):
                texts = [self.written(target.items, entry, rank) for rank, target in enumerate(result.targets)]
                yield segment_translation(unit, result, texts, self._direction, self._details)


def _target(result: UnitResult, rank: int) -> Items:
    return result.targets[min(rank, len(result.targets) - 1)].items
