"""Text with marks in it, as documents and back: what formats have in common between a paragraph and a translator.

A format gives the words of a paragraph and, as marks, what stands between them; it gets the translated words with the
same marks, each exactly once and halves nested, and writes them in its own way. Inside the document a mark is a short
stretch that only this module reads.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, Literal, TypeVar

from service.text.document import Document, Segment
from service.text.markup.pieces import Piece, PieceKind, text_pieces
from service.text.markup.runs import parts_of
from service.text.markup.source import Source
from service.text.segmentation import SegmentationOptions

MarkKind = Literal["mark", "word", "open", "close", "cut"]
# Code points that Unicode keeps free for use inside programs; the private ones serve texts that hold all of them.
_SIGNS: Final = (*map(chr, range(0xFDD0, 0xFDF0)), *map(chr, range(0xF0000, 0xF0400)))


@dataclass(frozen=True, slots=True, eq=False)
class Mark:
    """What stands between words.

    kind: a "mark" is no part of the sentence, a "word" is one, "open" and "close" are halves of a pair, and no sentence
        goes on behind a "cut", which never moves. pair: a number of its own in the paragraph, from one. shown: what a
        reader sees.
    """

    kind: MarkKind
    pair: int = 0
    shown: str = ""


M = TypeVar("M", bound=Mark)


@dataclass(frozen=True, slots=True)
class Cutting:
    """How texts are taken apart: the language they are in (its shortest code), and how sentences are cut."""

    language: str
    options: SegmentationOptions = field(default_factory=SegmentationOptions)


class Unit(Generic[M]):
    """A paragraph: words and marks, with halves that are balanced and nested; the numbers of pairs begin at one."""

    def __init__(self, items: Sequence[str | M], cutting: Cutting) -> None:
        self._marks: list[M] = []
        self._sign = _unused("".join(item for item in items if isinstance(item, str)))
        self._mark = re.compile(f"<{self._sign}([0-9]{{1,9}})>")
        text, pieces = self._written(items)
        self.text: Final = text
        parts = parts_of(Source(text, cutting.language, cutting.options), pieces)
        self.document: Final = Document(parts, lambda target: target.replace(self._sign, ""))

    @property
    def is_translatable(self) -> bool:
        """Whether there is anything to translate."""
        return any(isinstance(part, Segment) for part in self.document.parts)

    def read(self, target: str) -> list[str | M] | None:
        """Returns the words and marks of the translated document; None where nothing changed.

        None as well where the marks are not what they were, or no words are left: the source is better than that.
        """
        if target == self.text:
            return None
        items: list[str | M] = []
        pieces = self._mark.split(target)
        for text, number in zip(pieces[::2], [*pieces[1::2], None], strict=True):
            if text:
                items.append(text)
            if number is not None:
                if int(number) >= len(self._marks):
                    return None
                items.append(self._marks[int(number)])
        return items if any(map(_is_seen, items)) and self._is_sound(items) else None

    def _written(self, items: Sequence[str | M]) -> tuple[str, list[Piece]]:
        texts: list[str] = []
        pieces: list[Piece] = []
        end = 0
        fixed = _pairs_over_cuts(items)
        for item in items:
            start = end
            text = item if isinstance(item, str) else self._spelled(item)
            texts.append(text)
            end = start + len(text)
            if not isinstance(item, str):
                kind = PieceKind.CUT if item.pair in fixed else PieceKind(item.kind)
                shown = item.shown if kind is PieceKind.WORD else ""
                pieces.append(Piece(kind, start, end, shown, item.pair))
        return "".join(texts), list(_with_texts("".join(texts), pieces))

    def _spelled(self, mark: M) -> str:
        self._marks.append(mark)
        return f"<{self._sign}{len(self._marks) - 1}>"

    def _is_sound(self, items: Sequence[str | M]) -> bool:
        marks = [item for item in items if isinstance(item, Mark)]
        return len(marks) == len(set(map(id, marks))) == len(self._marks) and is_nested(marks)


def is_nested(items: Sequence[str | Mark]) -> bool:
    """Says whether halves are balanced and nested."""
    opened: list[int] = []
    for item in items:
        if isinstance(item, str) or item.kind not in ("open", "close"):
            continue
        if item.kind == "open":
            opened.append(item.pair)
        elif not opened or opened.pop() != item.pair:
            return False
    return not opened


def _is_seen(item: str | Mark) -> bool:
    """Says whether an item is a text with anything to see."""
    return isinstance(item, str) and any(char.isprintable() and not char.isspace() for char in item)


def _pairs_over_cuts(items: Sequence[str | Mark]) -> set[int]:
    """Returns the pairs with a cut between their halves: those stay where they are as well."""
    opened: list[int] = []
    found: set[int] = set()
    for item in items:
        if isinstance(item, str):
            continue
        if item.kind == "cut":
            found.update(opened)
        elif item.kind == "open":
            opened.append(item.pair)
        elif item.kind == "close":
            opened.pop()
    return found


def _with_texts(text: str, marks: Sequence[Piece]) -> Iterator[Piece]:
    position = 0
    for mark in marks:
        yield from text_pieces(text, position, mark.start)
        yield mark
        position = mark.end
    yield from text_pieces(text, position, len(text))


def _unused(text: str) -> str:
    used = set(text)
    return next(sign for sign in _SIGNS if sign not in used)
