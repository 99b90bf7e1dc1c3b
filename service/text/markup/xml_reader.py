"""From the tokens of XML to pieces: which elements cut text and which travel in it, by options and by where text is."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from service.text.markup.pieces import Piece, PieceKind, reference_piece, text_pieces
from service.text.markup.references import escape_cdata
from service.text.markup.runs import segments_of
from service.text.markup.source import Source
from service.text.markup.tokens import Token, TokenKind
from service.text.spaces import WHITE_SPACE

_TEXT: Final = (TokenKind.TEXT, TokenKind.REFERENCE, TokenKind.ENTITY, TokenKind.CDATA)
_TRANSLATE: Final = ("translate", "its:translate")
_CDATA_START: Final = len("<![CDATA[")
_CDATA_END: Final = len("]]>")


@dataclass(frozen=True, slots=True)
class XmlTags:
    """What tags do, by name, as in DeepL's API.

    outline: whether elements cut beside which no text stands; names of elements that stand in text somewhere are taken
    for inline everywhere. splitting: names that always cut. non_splitting: that never do, unless they are in splitting.
    ignored: whose content is not translated.
    """

    outline: bool = True
    splitting: frozenset[str] = frozenset()
    non_splitting: frozenset[str] = frozenset()
    ignored: frozenset[str] = frozenset()


@dataclass(slots=True)
class _Element:
    """An open element: whether it is structure, else where its start tag is among the pieces and the cuts before it."""

    cuts_text: bool
    piece: int = 0
    num_cuts: int = 0


@dataclass(slots=True)
class _Kept:
    """A stretch that is not translated: where it began, how deep inside it the reader is, and what was found in it."""

    start: int
    depth: int
    cuts_text: bool
    shown: list[str]


class XmlReader:
    """Reads the tokens of one text; elements are well nested in it."""

    def __init__(self, source: Source, tags: XmlTags) -> None:
        self._source = source
        self._tags = tags
        self._names_in_text: frozenset[str] = frozenset()
        self._pieces: list[Piece] = []
        self._open: list[_Element] = []
        self._num_cuts = 0
        self._kept: _Kept | None = None

    def read(self, tokens: Sequence[Token]) -> list[Piece]:
        """Return the pieces of a text."""
        if self._tags.outline:
            self._names_in_text = _names_in_text(self._source.text, tokens)
        for token in tokens:
            if self._kept is not None:
                self._keep(self._kept, token)
            elif token.kind is TokenKind.START:
                self._start(token)
            elif token.kind is TokenKind.END:
                self._end(token)
            else:
                self._content(token)
        return self._pieces

    def _cuts_text(self, name: str) -> bool:
        if name in self._tags.splitting:
            return True
        return self._tags.outline and name not in self._tags.non_splitting and name not in self._names_in_text

    def _start(self, token: Token) -> None:
        cuts_text = self._cuts_text(token.name)
        if token.name in self._tags.ignored or any(token.attributes.get(name) == "no" for name in _TRANSLATE):
            self._kept = _Kept(token.start, 1, cuts_text, [])
        elif cuts_text:
            self._open.append(_Element(cuts_text))
            self._cut(token)
        else:
            self._open.append(_Element(cuts_text, len(self._pieces), self._num_cuts))
            self._pieces.append(Piece(PieceKind.OPEN, token.start, token.end, pair=len(self._pieces) + 1))

    def _end(self, token: Token) -> None:
        element = self._open.pop()
        if element.cuts_text:
            self._cut(token)
            return
        half = self._pieces[element.piece]
        if element.piece == len(self._pieces) - 1:
            # An element without content stands for something, where text stands for itself.
            self._pieces[element.piece] = Piece(PieceKind.WORD, half.start, token.end)
        elif element.num_cuts == self._num_cuts:
            self._pieces.append(Piece(PieceKind.CLOSE, token.start, token.end, pair=half.pair))
        else:
            self._pieces[element.piece] = replace(half, kind=PieceKind.CUT)
            self._cut(token)

    def _content(self, token: Token) -> None:
        match token.kind:
            case TokenKind.TEXT:
                self._pieces += text_pieces(self._source.text, token.start, token.end, self._source.between_lines)
            case TokenKind.REFERENCE:
                self._pieces.append(reference_piece(token.start, token.end, token.text))
            case TokenKind.ENTITY:
                self._pieces.append(Piece(PieceKind.WORD, token.start, token.end))
            case TokenKind.CDATA:
                self._add_section(token)
            case _:
                self._pieces.append(Piece(PieceKind.MARK, token.start, token.end))

    def _add_section(self, token: Token) -> None:
        """Translate a CDATA section by itself: what is written in it is escaped in no other way."""
        start, end = token.start + _CDATA_START, token.end - _CDATA_END
        pieces = text_pieces(self._source.text, start, end, self._source.between_lines)
        values = tuple(segments_of(self._source.written(escape_cdata), pieces))
        self._pieces.append(Piece(PieceKind.CUT, token.start, token.end, values=values))
        self._num_cuts += 1

    def _keep(self, kept: _Kept, token: Token) -> None:
        match token.kind:
            case TokenKind.START:
                kept.depth += 1
                kept.cuts_text |= self._cuts_text(token.name)
            case TokenKind.END:
                kept.depth -= 1
            case TokenKind.TEXT | TokenKind.REFERENCE:
                kept.shown.append(token.text)
        if kept.depth:
            return
        self._kept = None
        if kept.cuts_text:
            self._pieces.append(Piece(PieceKind.CUT, kept.start, token.end))
            self._num_cuts += 1
        else:
            shown = " ".join("".join(kept.shown).split())
            self._pieces.append(Piece(PieceKind.WORD, kept.start, token.end, shown))

    def _cut(self, token: Token) -> None:
        self._pieces.append(Piece(PieceKind.CUT, token.start, token.end))
        self._num_cuts += 1


def _names_in_text(text: str, tokens: Sequence[Token]) -> frozenset[str]:
    """Return the names of elements that have text beside them, in the same element, anywhere."""
    names: list[set[str]] = [set()]
    has_text = [False]
    found: set[str] = set()
    for token in tokens:
        if token.kind is TokenKind.START:
            names[-1].add(token.name)
            names.append(set())
            has_text.append(False)
        elif token.kind is TokenKind.END:
            inside = names.pop()
            found |= inside if has_text.pop() else set()
        elif token.kind in _TEXT and text[token.start : token.end].strip(WHITE_SPACE):
            has_text[-1] = True
    return frozenset(found | (names[0] if has_text[0] else set()))
