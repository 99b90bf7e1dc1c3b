"""HTML as tokens with source positions: the only module that knows turbohtml.

Tokens come in order and cover the text. What elements mean is for `html_reader`; a tree matters here only where the
tokenizer would need one: in SVG and MathML, whose <title> and the like hold no raw text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from turbohtml import Token as LibraryToken
from turbohtml import Tokenizer, TokenType

from service.text.markup.html_elements import BREAKING_OUT, FOREIGN, HOLDING_HTML
from service.text.markup.tokens import Token, TokenKind

# Elements whose content the tokenizer reads as raw text by their name alone, and those that say where it must not.
_RAW: Final = ("iframe", "noembed", "noframes", "noscript", "plaintext", "script", "style", "textarea", "title", "xmp")
_SWITCHING: Final = re.compile(rf"<(?=/?(?:{'|'.join([*_RAW, *sorted(FOREIGN)])})[\s/>])", re.IGNORECASE | re.ASCII)
_ALWAYS_MARKUP: Final = re.compile(r"</?noscript[\s/>]", re.IGNORECASE | re.ASCII)
_BOUNDS_FOREIGN: Final = re.compile(r"</?(?:math|svg)[\s/>]", re.IGNORECASE | re.ASCII)
# The first letter of a name that must not switch the tokenizer. No element of HTML begins with it.
_MASK: Final = "y"
_HOLDING: Final = HOLDING_HTML | {f"{_MASK}itle"}
_DROPPED: Final = "</>"

_KINDS: Final = {
    TokenType.TEXT: TokenKind.TEXT,
    TokenType.CHARACTER_REFERENCE: TokenKind.REFERENCE,
    TokenType.START_TAG: TokenKind.START,
    TokenType.END_TAG: TokenKind.END,
    TokenType.COMMENT: TokenKind.OTHER,
    TokenType.DOCTYPE: TokenKind.OTHER,
    TokenType.PROCESSING_INSTRUCTION: TokenKind.ENTITY,
}


def html_tokens(text: str) -> Iterator[Token]:
    """Give the tokens of any text; each begins where the one before it ends, and none is empty."""
    # The tokenizer counts lines after it has made a line feed of every line break; so it is given such.
    fed = text.replace("\r\n", " \n").replace("\r", "\n")
    found = list(_library_tokens(fed))
    starts = [*_starts(found, fed), len(text)]
    yield from _uncovered(text, 0, starts[0])
    for token, start, end in zip(found, starts, starts[1:], strict=False):
        if token.type is TokenType.TEXT:
            yield from _text_tokens(fed, start, end, len(token.data or ""))
        else:
            own_end = start + len(token.source or "")
            yield _token(token, fed, start, own_end)
            yield from _uncovered(fed, own_end, end)


def _library_tokens(text: str) -> Iterator[LibraryToken]:
    """Feed the tokenizer piece by piece, so that names that would switch it are masked where they must not."""
    tokenizer = Tokenizer(resolve_references=False, capture_source=True)
    foreign = _Foreign()
    start = 0
    for end in (*(found.start() for found in _SWITCHING.finditer(text)), len(text)):
        piece = text[start:end]
        if _ALWAYS_MARKUP.match(piece) or (foreign.depth and not _BOUNDS_FOREIGN.match(piece)):
            piece = _masked(piece)
        for token in tokenizer.feed(piece):
            foreign.pass_by(token)
            yield token
        start = end
    yield from tokenizer.close()


def _masked(piece: str) -> str:
    """Change the first letter of the tag that a piece begins with."""
    letter = 2 if piece.startswith("</") else 1
    return piece[:letter] + _MASK + piece[letter + 1 :]


@dataclass(slots=True)
class _Foreign:
    """Whether the tokenizer is inside SVG or MathML: open elements of these, and open ones in them that hold HTML."""

    depth: int = 0
    holding: int = 0

    def pass_by(self, token: LibraryToken) -> None:
        if token.type is TokenType.START_TAG and not token.self_closing:
            if token.tag in FOREIGN:
                self.depth += 1
            elif self.depth and token.tag in _HOLDING:
                self.holding += 1
            elif token.tag in BREAKING_OUT and not self.holding:
                self.depth = 0
        elif token.type is TokenType.END_TAG:
            if token.tag in FOREIGN:
                self.depth = max(0, self.depth - 1)
            elif token.tag in _HOLDING:
                self.holding = max(0, self.holding - 1)
        if not self.depth:
            self.holding = 0


def _starts(tokens: list[LibraryToken], text: str) -> Iterator[int]:
    line, line_start = 1, 0
    for token in tokens:
        while line < token.line:
            line_start = text.index("\n", line_start) + 1
            line += 1
        yield line_start + token.col


def _token(token: LibraryToken, text: str, start: int, end: int) -> Token:
    kind = _KINDS[token.type]
    if kind is TokenKind.REFERENCE:
        return Token(kind, start, end, text=token.data or "")
    if kind not in (TokenKind.START, TokenKind.END):
        return Token(kind, start, end)
    letter = start + (1 if kind is TokenKind.START else 2)
    name = text[letter].lower() + (token.tag or "")[1:]
    return Token(kind, start, end, name, attributes=dict(token.attrs or ()), is_empty=token.self_closing)


def _text_tokens(text: str, start: int, end: int, length: int) -> Iterator[Token]:
    """Give what stands where the tokenizer saw text of a length: all of it, unless the standard dropped "</>"."""
    if length == end - start:
        yield Token(TokenKind.TEXT, start, end)
        return
    position = start
    while length and position < end:
        dropped = text.find(_DROPPED, position, end)
        stop = min(position + length, end if dropped < 0 else dropped)
        if stop > position:
            yield Token(TokenKind.TEXT, position, stop)
        length -= stop - position
        position = stop
        if stop == dropped:
            position += len(_DROPPED)
            yield Token(TokenKind.OTHER, stop, position)
    yield from _uncovered(text, position, end)


def _uncovered(text: str, start: int, end: int) -> Iterator[Token]:
    """Give what the tokenizer passes over: "</>", and at the end of a text a tag that has no end."""
    position = start
    while text.startswith(_DROPPED, position, end):
        yield Token(TokenKind.OTHER, position, position + len(_DROPPED))
        position += len(_DROPPED)
    if position < end:
        yield Token(TokenKind.REST, position, end)
