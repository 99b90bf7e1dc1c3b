"""XML as tokens with source positions, from expat.

A text may be a document or a fragment of one. Entities are never expanded into the text; what a document declares is
limited, because expat expands it inside attribute values.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html.entities import html5
from typing import Final
from xml.parsers import expat

from service.errors import InvalidRequestError
from service.text.markup.tokens import Token, TokenKind

# A name that begins no text by accident; it makes a fragment a document.
_ROOT: Final = "verso-fragment"
_BEFORE: Final = f"<{_ROOT}>"
_BEHIND: Final = f"</{_ROOT}>"
_PROLOG: Final = ("<?xml", "<!DOCTYPE")
_MAX_DECLARATIONS: Final = 64


def xml_tokens(text: str) -> list[Token]:
    """Return the tokens of a document or fragment; what no token covers is outside of the outermost element.

    Raises InvalidRequestError where a text is not well-formed, or declares more entities than a text needs.
    """
    is_document = text.lstrip("\ufeff \t\r\n").startswith(_PROLOG)
    before, behind = ("", "") if is_document else (_BEFORE, _BEHIND)
    try:
        raw = f"{before}{text}{behind}".encode()
    except UnicodeEncodeError as error:
        raise InvalidRequestError("The text has half of a surrogate pair, which XML cannot hold.") from error
    tokens = list(_tokens(raw, _Recorder().events_of(raw, len(before)), len(before)))
    return tokens if is_document else tokens[1:-1]


@dataclass(frozen=True, slots=True)
class _Event:
    """What begins at a byte of the text."""

    kind: TokenKind
    start: int
    name: str = ""
    text: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)


class _Recorder:
    """Writes down what the parser says."""

    def __init__(self) -> None:
        self._events: list[_Event] = []
        self._depth = 0
        self._is_in_cdata = False
        self._num_declarations = 0
        self._parser = parser = expat.ParserCreate("utf-8")
        # An entity that nobody declares (&nbsp;) is then told as it stands instead of ending the parse.
        parser.UseForeignDTD()
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.StartCdataSectionHandler = self._start_cdata
        parser.EndCdataSectionHandler = self._end_cdata
        parser.SkippedEntityHandler = self._entity
        parser.CommentHandler = parser.DefaultHandler = self._other
        parser.ProcessingInstructionHandler = self._other
        parser.EntityDeclHandler = self._declaration

    def events_of(self, raw: bytes, before: int) -> list[_Event]:
        """Return what a text in UTF-8 holds, from its first tag to its last; before: bytes that are not its own."""
        try:
            self._parser.Parse(raw, True)  # noqa: FBT003 - the parser takes no keywords
        except expat.ExpatError as error:
            column = error.offset - (before if error.lineno == 1 else 0)
            place = f"line {error.lineno}, column {column + 1}"
            raise InvalidRequestError(f"The text is not well-formed XML ({place}).") from error
        return self._events

    def _add(self, event: _Event) -> None:
        if self._depth:
            self._events.append(event)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        self._add(_Event(TokenKind.START, self._parser.CurrentByteIndex, name, attributes=attributes))

    def _end(self, name: str) -> None:
        self._add(_Event(TokenKind.END, self._parser.CurrentByteIndex, name))
        self._depth -= 1

    def _characters(self, text: str) -> None:
        if not self._is_in_cdata:
            self._add(_Event(TokenKind.TEXT, self._parser.CurrentByteIndex, text=text))

    def _start_cdata(self) -> None:
        self._is_in_cdata = True
        self._add(_Event(TokenKind.CDATA, self._parser.CurrentByteIndex))

    def _end_cdata(self) -> None:
        self._is_in_cdata = False

    def _entity(self, name: str, is_parameter: bool) -> None:
        if not is_parameter:
            known = html5.get(f"{name};")
            kind = TokenKind.REFERENCE if known else TokenKind.ENTITY
            self._add(_Event(kind, self._parser.CurrentByteIndex, text=known or ""))

    def _other(self, *_: str) -> None:
        self._add(_Event(TokenKind.OTHER, self._parser.CurrentByteIndex))

    def _declaration(self, *_: object) -> None:
        self._num_declarations += 1
        if self._num_declarations > _MAX_DECLARATIONS:
            raise InvalidRequestError(f"The text declares more than {_MAX_DECLARATIONS} XML entities.")


def _tokens(raw: bytes, events: Sequence[_Event], before: int) -> Iterator[Token]:
    """Turn events into tokens with places in code points; each ends where the next event begins."""
    stops = [*(event.start for event in events[1:]), len(raw)]
    position = offset = 0
    is_start = False
    for event, stop in zip(events, stops, strict=True):
        offset += len(raw[position : event.start].decode())
        position = event.start
        if event.kind is TokenKind.END:
            # The end of <x/> is told behind it; any other begins with the first character of its tag.
            is_empty = is_start and raw.endswith(b"/>", 0, position)
            stop = position if is_empty else raw.index(b">", position) + 1
        is_start = event.kind is TokenKind.START
        start = offset - before
        end = start + len(raw[position:stop].decode())
        kind = event.kind
        if kind is TokenKind.TEXT and raw.startswith(b"&", position):
            kind = TokenKind.REFERENCE
        yield Token(kind, start, end, event.name, event.text, event.attributes)
