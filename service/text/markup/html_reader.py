"""From the tokens of HTML to pieces: what cuts text, what travels in it, and what is never translated.

Elements that begin and end in one run become pairs; one that goes beyond its run becomes structure, and a tag without
its partner a mark. Attributes are for `html_attributes`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from service.text.document import Segment
from service.text.markup.html_attributes import value_segments
from service.text.markup.html_elements import (
    BREAKING_OUT,
    FOREIGN,
    INLINE_LEVEL,
    QUOTED,
    UNSEEN,
    VERBATIM,
    VOID,
    level,
)
from service.text.markup.open_elements import OpenElement, OpenElements
from service.text.markup.pieces import Piece, PieceKind, reference_piece, text_pieces
from service.text.markup.references import reads_on
from service.text.markup.source import Source
from service.text.markup.tokens import Token, TokenKind

_KEPT_BY_KIND: Final = UNSEEN | QUOTED | VERBATIM
_KEPT_CLASS: Final = "notranslate"


@dataclass(slots=True)
class _Kept:
    """A stretch that is not translated, from a start on.

    element: the one that says so. by_attribute: whether its content is text to translate for all that is known of its
    kind. breaks_text: whether structure is in the stretch. shown: what a reader sees of it. values: segments in its
    start tag.
    """

    element: OpenElement
    start: int
    by_attribute: bool
    breaks_text: bool
    values: tuple[Segment, ...] = ()
    shown: list[str] = field(default_factory=list)

    @property
    def kind(self) -> PieceKind:
        """What the stretch is to the text around it."""
        if self.breaks_text:
            return PieceKind.CUT
        return PieceKind.WORD if self.text else PieceKind.MARK

    @property
    def text(self) -> str:
        """What a reader sees, white space as single spaces."""
        return " ".join("".join(self.shown).split())


class HtmlReader:
    """Reads tokens one after the other; `pieces` are complete after `finish`.

    is_xml: whether the tokens are of well-formed XML, in which every element has its end and no rule of HTML ends one
    before.
    """

    def __init__(self, source: Source, *, is_xml: bool = False) -> None:
        self.pieces: list[Piece] = []
        self._source = source
        self._is_xml = is_xml
        self._open = OpenElements()
        self._num_cuts = 0
        self._kept: _Kept | None = None
        # Stretches that an element with translate="yes" interrupts, the outermost first.
        self._interrupted: list[tuple[OpenElement, _Kept]] = []

    def read(self, tokens: Iterable[Token]) -> list[Piece]:
        """Return the pieces of all tokens of a text."""
        for token in tokens:
            match token.kind:
                case TokenKind.START:
                    self._start(token)
                case TokenKind.END:
                    self._end(token)
                case _:
                    self._content(token)
        for element in self._open.ended_at_end():
            self._close(element, len(self._source.text))
        return self.pieces

    def _content(self, token: Token) -> None:
        text = self._source.text
        if self._kept is not None:
            if token.kind in (TokenKind.TEXT, TokenKind.REFERENCE) and self._kept.element.name not in UNSEEN | VERBATIM:
                self._kept.shown.append(token.text or text[token.start : token.end])
        elif token.kind is TokenKind.TEXT:
            self.pieces += text_pieces(text, token.start, token.end, self._source.between_lines)
        elif token.kind is TokenKind.REFERENCE:
            self.pieces.append(reference_piece(token.start, token.end, token.text))
        elif token.kind is TokenKind.OTHER:
            self.pieces.append(Piece(PieceKind.MARK, token.start, token.end))
        elif token.kind is TokenKind.ENTITY:
            self.pieces.append(Piece(PieceKind.WORD, token.start, token.end))
        else:
            self._cut(token.start, token.end)

    def _start(self, token: Token) -> None:
        element = OpenElement(token.name, self._level_at_start(token))
        is_void = token.name in VOID or (token.is_empty and self._closes_itself(token))
        says = _says(token)
        if self._kept is not None and not (self._kept.by_attribute and says is True and not is_void):
            self._kept.breaks_text |= element.level > INLINE_LEVEL
            if not is_void:
                self._open.push(element)
            return
        values = () if says is False or not token.attributes else value_segments(self._source, token)
        if self._kept is not None:
            self._interrupt(element, token, values)
        elif is_void:
            self._add_void(element, token, values)
        elif says is False or token.name in _KEPT_BY_KIND:
            by_attribute = token.name not in _KEPT_BY_KIND
            self._kept = _Kept(element, token.start, by_attribute, element.level > INLINE_LEVEL, values)
        elif element.level > INLINE_LEVEL:
            self._cut(token.start, token.end, values)
        else:
            element.piece, element.cuts = len(self.pieces), self._num_cuts
            self.pieces.append(Piece(PieceKind.OPEN, token.start, token.end, pair=len(self.pieces) + 1, values=values))
        if not is_void:
            self._open.push(element)

    def _level_at_start(self, token: Token) -> int:
        """End what a start tag ends, and return the level of its element."""
        if self._kept is not None and self._is_foreign:
            if self._is_xml or token.name not in BREAKING_OUT or self._open.holds_html():
                return INLINE_LEVEL
            for element in self._open.ended_inside(self._kept.element):
                self._close(element, token.start)
        if not self._is_xml:
            for element in self._open.ended_by_start(token.name):
                self._close(element, token.start)
        return level(token.name)

    @property
    def _is_foreign(self) -> bool:
        return self._kept is not None and self._kept.element.name in FOREIGN and not self._kept.by_attribute

    def _closes_itself(self, token: Token) -> bool:
        return token.name in FOREIGN or self._is_foreign

    def _interrupt(self, element: OpenElement, token: Token, values: tuple[Segment, ...]) -> None:
        """Translate again inside of what is kept."""
        if self._kept is not None:
            self._kept.breaks_text = True
            self._interrupted.append((element, self._kept))
            self._finish_kept(token.start)
        self._cut(token.start, token.end, values)

    def _add_void(self, element: OpenElement, token: Token, values: tuple[Segment, ...]) -> None:
        if element.level > INLINE_LEVEL:
            self._cut(token.start, token.end, values)
        else:
            self.pieces.append(Piece(PieceKind.MARK, token.start, token.end, values=values))

    def _end(self, token: Token) -> None:
        own_level = level(token.name)
        ended = self._open.ended_by_tag(token.name, INLINE_LEVEL) if self._is_foreign else []
        if not ended and not (self._is_foreign and own_level == INLINE_LEVEL):
            ended = self._open.ended_by_tag(token.name, own_level)
        for element in ended[:-1]:
            self._close(element, token.start)
        if ended:
            self._close(ended[-1], token.end, token)
        elif self._kept is not None:
            self._kept.breaks_text |= own_level > INLINE_LEVEL
        elif token.start < token.end:
            self._add_void(OpenElement(token.name, own_level), token, ())

    def _close(self, element: OpenElement, end: int, tag: Token | None = None) -> None:
        """Say where an element ends; tag: its end tag, if it has one."""
        if self._kept is not None:
            if self._kept.element is element:
                # Without its end tag it would take in what is put behind it, or its last character would read on.
                text = self._source.text
                goes_on = tag is None and end < len(text)
                kept_end = max(self._kept.start, reads_on(text, end)) if goes_on else end
                self._kept.breaks_text |= tag is None
                self._finish_kept(kept_end)
                self.pieces += text_pieces(text, kept_end, end, self._source.between_lines)
        elif self._interrupted and self._interrupted[-1][0] is element:
            if tag is not None:
                self._cut(tag.start, tag.end)
            self._kept = replace(self._interrupted.pop()[1], start=end, values=(), shown=[])
        elif element.piece is not None:
            self._close_pair(element.piece, element.cuts, tag)
        elif tag is not None:
            self._cut(tag.start, tag.end)

    def _finish_kept(self, end: int) -> None:
        kept, self._kept = self._kept, None
        if kept is None or kept.start == end:
            return
        if kept.kind is PieceKind.CUT:
            self._cut(kept.start, end, kept.values)
        else:
            self.pieces.append(Piece(kept.kind, kept.start, end, kept.text, values=kept.values))

    def _close_pair(self, index: int, cuts: int, tag: Token | None) -> None:
        """Join the halves of an inline element; beyond its run they are structure, alone it is a mark."""
        half = self.pieces[index]
        if tag is None:
            self.pieces[index] = replace(half, kind=PieceKind.MARK)
        elif cuts == self._num_cuts:
            self.pieces.append(Piece(PieceKind.CLOSE, tag.start, tag.end, pair=half.pair))
        else:
            self.pieces[index] = replace(half, kind=PieceKind.CUT)
            self._cut(tag.start, tag.end)

    def _cut(self, start: int, end: int, values: tuple[Segment, ...] = ()) -> None:
        self.pieces.append(Piece(PieceKind.CUT, start, end, values=values))
        self._num_cuts += 1


def _says(tag: Token) -> bool | None:
    """Return whether a start tag says that its element is to be translated."""
    value = tag.attributes.get("translate", "inherit").lower()
    if value == "no" or _KEPT_CLASS in tag.attributes.get("class", "").split():
        return False
    return True if value in ("", "yes") else None
