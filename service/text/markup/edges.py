"""What needs no translation at the edges of a sentence: it is let go, so that it stays where and as it is.

White space, marks, halves around all of it, list marks, signs that stand apart.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from service.text.list_marks import list_mark_end
from service.text.markup.pieces import Piece, PieceKind
from service.text.segmentation import is_translatable
from service.text.spaces import WHITE_SPACE, trim

_QUOTATION_MARKS: Final = ("Pi", "Pf")
_SIGNS: Final = ("Pd", "Po", "Sk", "Sm", "So")
# What anchors of headings show, and the categories of emoji with what modifies them.
_ANCHORS: Final = "#\xa7\xb6 "
_EMOJI: Final = ("Cf", "Me", "Mn", "Sk", "Sm", "So")
_LONGEST_SIGN: Final = 4


def without_edges(
    chunk: Sequence[Piece], *, may_have_list_mark: bool
) -> tuple[Sequence[Piece], Sequence[Piece], Sequence[Piece]]:
    """Return the pieces of a sentence in three: what is let go before it, what is left, what is let go behind it."""
    core = _Core(list(chunk), 0, len(chunk))
    core.let_go(may_have_list_mark=may_have_list_mark)
    return core.pieces[: core.start], core.pieces[core.start : core.end], core.pieces[core.end :]


@dataclass(slots=True)
class _Core:
    """The pieces from start to end (excluded) that a segment is made of; the others become gaps."""

    pieces: list[Piece]
    start: int
    end: int

    def let_go(self, *, may_have_list_mark: bool) -> None:
        """Move start and end past all that needs no translation and may stand outside."""
        while True:
            self._trim()
            if self._let_pair_go() or self._let_references_go() or self._let_signs_go():
                continue
            if not may_have_list_mark or not self._let_list_mark_go():
                return
            may_have_list_mark = False

    def _trim(self) -> None:
        while self.start < self.end and _is_nothing(self.pieces[self.start]):
            self.start += 1
        while self.start < self.end and _is_nothing(self.pieces[self.end - 1]):
            self.end -= 1
        if self.start == self.end:
            return
        first = self.pieces[self.start]
        if first.kind is PieceKind.TEXT:
            self.pieces[self.start] = first.sliced(trim(first.text, 0, len(first.text))[0], len(first.text))
        last = self.pieces[self.end - 1]
        if last.kind is PieceKind.TEXT:
            self.pieces[self.end - 1] = last.sliced(0, trim(last.text, 0, len(last.text))[1])

    def _let_pair_go(self) -> bool:
        if self.end - self.start < 2:
            return False
        first, last = self.pieces[self.start], self.pieces[self.end - 1]
        if first.kind is not PieceKind.OPEN or last.kind is not PieceKind.CLOSE or first.pair != last.pair:
            return False
        self.start += 1
        self.end -= 1
        return True

    def _let_references_go(self) -> bool:
        """Let a reference go that stands apart at an edge (an arrow, a dash), so that it keeps its spelling."""
        if self.end - self.start < 2:
            return False
        if self._stands_apart(self.start, self.pieces[self.start + 1].text[:1]):
            self.start += 1
            return True
        if self._stands_apart(self.end - 1, self.pieces[self.end - 2].text[-1:]):
            self.end -= 1
            return True
        return False

    def _let_signs_go(self) -> bool:
        """Let a pair go at an edge in which only signs are: the anchor of a heading, an emoji of its own."""
        first = self.pieces[self.start : self.start + _LONGEST_SIGN]
        last = self.pieces[max(self.start, self.end - _LONGEST_SIGN) : self.end]
        if length := _length_of_signs(first, PieceKind.OPEN, PieceKind.CLOSE):
            self.start += length
            return True
        if length := _length_of_signs(last[::-1], PieceKind.CLOSE, PieceKind.OPEN):
            self.end -= length
            return True
        return False

    def _stands_apart(self, index: int, beside: str) -> bool:
        """Say whether a reference at an edge is a sign of its own, with white space between it and the text.

        A quotation mark is none when its partner may be in the text.
        """
        piece = self.pieces[index]
        if piece.kind is not PieceKind.TEXT or piece.is_literal or len(piece.text) != 1 or piece.text == '"':
            return False
        if not beside or beside.strip(WHITE_SPACE):
            return False
        category = unicodedata.category(piece.text)
        if category in _QUOTATION_MARKS:
            inside = (char for part in self.pieces[self.start : self.end] for char in part.text)
            return sum(unicodedata.category(char) in _QUOTATION_MARKS for char in inside) == 1
        return category in _SIGNS

    def _let_list_mark_go(self) -> bool:
        texts = []
        for piece in self.pieces[self.start : self.end]:
            if piece.kind is not PieceKind.TEXT:
                break
            texts.append(piece.text)
        behind = list_mark_end("".join(texts), 0, sum(map(len, texts)))
        if not behind:
            return False
        index = self.start
        while behind and behind >= len(self.pieces[index].text):
            behind -= len(self.pieces[index].text)
            index += 1
        if behind and not self.pieces[index].is_literal:
            return False
        rest = self.pieces[index : self.end]
        if behind:
            rest[0] = rest[0].sliced(behind, len(rest[0].text))
        if not any(piece.kind is PieceKind.TEXT and is_translatable(piece.text) for piece in rest):
            return False
        self.pieces[index : self.end] = rest
        self.start = index
        return True


def _is_nothing(piece: Piece) -> bool:
    """Say whether a piece may stand outside of a sentence wherever it is at its edge."""
    return piece.kind is PieceKind.MARK or (piece.kind is PieceKind.TEXT and not piece.is_visible)


def _length_of_signs(pieces: Sequence[Piece], first: PieceKind, last: PieceKind) -> int:
    """Return how many pieces a pair at an edge takes in which only signs are; zero if there is none."""
    if not pieces or pieces[0].kind is not first:
        return 0
    for index, piece in enumerate(pieces[1:], 1):
        if piece.kind is last and piece.pair == pieces[0].pair:
            return index + 1
        if piece.kind is not PieceKind.TEXT or not all(map(_is_sign, piece.text)):
            return 0
    return 0


def _is_sign(char: str) -> bool:
    return char in _ANCHORS or unicodedata.category(char) in _EMOJI
