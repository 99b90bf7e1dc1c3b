"""Paragraphs of Word and PowerPoint as words and marks, and written again as runs.

The format most of a paragraph, or of a link in it, is written in needs no mark: words that stand outside of all
others get it when they are written. Texts in another format stand between halves.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from service.documents.office_fields import with_fields
from service.documents.office_pieces import OfficeParagraph, OfficePiece, Written
from service.documents.splicing import Copy
from service.documents.units import Mark
from service.documents.xml_tree import XmlElement

_LINE_BREAK: Final = re.compile(r"\s*[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]\s*")
# What differs between formats that look the same: languages, and what a spelling checker has seen.
_UNSEEN: Final = re.compile(
    rb"""<(?:\w+:)?(?:lang|noProof)(?:\s[^<>]*)?/>|\s(?:altLang|bmk|dirty|err|lang|noProof|smtClean)="[^"]*\""""
)
_EMPTY: Final = re.compile(rb"<(\S+)\s*(?:/>|>\s*</\1\s*>)")


@dataclass(frozen=True, slots=True, eq=False)
class OfficeMark(Mark):
    """written: what stands for it. format: of the words directly inside a first half."""

    written: Written = ()
    format: bytes = b""


class Runs:
    """One paragraph: what is translated of it, and how that is written."""

    def __init__(self, data: bytes, element: XmlElement) -> None:
        self._paragraph = OfficeParagraph(data, element)
        self.start, self.end = self._paragraph.start, self._paragraph.end
        self._number = 0
        pieces = with_fields(self._paragraph, self._paragraph.pieces)
        self._usual = _usual_format(pieces)
        self.items: list[str | OfficeMark] = list(self._items(pieces, self._usual))

    def write(self, items: Sequence[str | OfficeMark], copy: Copy[bytes]) -> bytes:
        """Returns words and marks as runs."""
        written: list[tuple[int, int] | bytes] = []
        formats = [self._usual]
        for item in items:
            if isinstance(item, str):
                written += self._paragraph.text_run(formats[-1], _LINE_BREAK.sub(" ", item))
                continue
            written += item.written
            if item.kind == "open":
                formats.append(item.format)
            elif item.kind == "close":
                formats.pop()
        return b"".join(part if isinstance(part, bytes) else copy(*part) for part in written)

    def _items(self, pieces: Sequence[OfficePiece], usual: bytes) -> Iterator[str | OfficeMark]:
        """Gives the items of one container whose usual format is given."""
        current: _Format | None = None
        index = 0
        while index < len(pieces):
            piece = pieces[index]
            index += 1
            if piece.kind == "text":
                current, halves = self._changed(current, piece, usual)
                yield from halves
                yield piece.text
            elif piece.kind in ("mark", "word"):
                yield OfficeMark(piece.kind, shown=piece.shown, written=piece.written)
            else:
                if current is not None:
                    yield OfficeMark("close", current.number)
                    current = None
                if piece.kind == "cut":
                    yield OfficeMark("cut", written=piece.written)
                else:
                    end = _end_of_container(pieces, index)
                    yield from self._container(piece, pieces[index:end], pieces[end])
                    index = end + 1
        if current is not None:
            yield OfficeMark("close", current.number)

    def _container(
        self, opening: OfficePiece, inside: Sequence[OfficePiece], closing: OfficePiece
    ) -> Iterator[str | OfficeMark]:
        self._number += 1
        number = self._number
        usual = _usual_format(inside)
        yield OfficeMark("open", number, written=opening.written, format=usual)
        yield from self._items(inside, usual)
        yield OfficeMark("close", number, written=closing.written)

    def _changed(
        self, current: "_Format | None", piece: OfficePiece, usual: bytes
    ) -> tuple["_Format | None", list[OfficeMark]]:
        """Returns the format that a text is in, and the halves between it and the format before."""
        wanted = look(piece.format)
        look_now = look(usual) if current is None else current.look
        # White space looks the same in nearly every format.
        if wanted == look_now or not piece.text.strip():
            return current, []
        halves = [] if current is None else [OfficeMark("close", current.number)]
        if wanted == look(usual):
            return None, halves
        self._number += 1
        halves.append(OfficeMark("open", self._number, format=piece.format))
        return _Format(self._number, wanted), halves


@dataclass(frozen=True, slots=True)
class _Format:
    """A format other than the usual one that texts are in, by the number of its halves."""

    number: int
    look: bytes


def look(run_format: bytes) -> bytes:
    """Returns what a reader sees of a format; empty if that is nothing."""
    seen = _UNSEEN.sub(b"", run_format).strip()
    return b"" if _EMPTY.fullmatch(seen) else seen


def _usual_format(pieces: Sequence[OfficePiece]) -> bytes:
    """Returns the format that most characters outside of containers are in; of all, where there are none."""
    direct: list[OfficePiece] = []
    depth = 0
    for piece in pieces:
        depth += (piece.kind == "open") - (piece.kind == "close")
        if depth == 0:
            direct.append(piece)
    sizes: Counter[bytes] = Counter()
    firsts: dict[bytes, bytes] = {}
    texts = [piece for piece in direct if piece.kind == "text"] or [piece for piece in pieces if piece.kind == "text"]
    for piece in texts:
        key = look(piece.format)
        sizes[key] += len(piece.text.strip())
        firsts.setdefault(key, piece.format)
    return firsts[sizes.most_common(1)[0][0]] if sizes else b""


def _end_of_container(pieces: Sequence[OfficePiece], start: int) -> int:
    depth = 1
    for index in range(start, len(pieces)):
        depth += (pieces[index].kind == "open") - (pieces[index].kind == "close")
        if depth == 0:
            return index
    raise AssertionError("containers are balanced")
