"""Character references: reading those in attribute values, and writing text so that it reads back as it is.

References in text are read by the parsers of a format.
"""

import html
import re
from collections.abc import Iterator
from html.entities import html5
from typing import Final

from service.text.markup.pieces import Piece, reference_piece, text_pieces

_REFERENCE: Final = re.compile(r"&(?:#(?:[0-9]+|[xX][0-9A-Fa-f]+);?|(?P<name>[A-Za-z0-9]+;?))")
_ESCAPED: Final = {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;"}
_ESCAPED_IN: Final = {
    '"': _ESCAPED | {ord('"'): "&quot;"},
    "'": _ESCAPED | {ord("'"): "&#39;"},
    # A value without quotes ends at white space.
    "": _ESCAPED | {ord(char): f"&#{ord(char)};" for char in "\"'=` \t\n\f\r"},
}
_UNFINISHED: Final = re.compile(r"(?:<[/!?]?|&#?[0-9A-Za-z]*)\Z")
_LONGEST_REFERENCE: Final = max(map(len, html5))
_NOT_IN_XML: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def escape_html(text: str) -> str:
    """Return a text as it is written between tags."""
    return text.translate(_ESCAPED)


def escape_xml(text: str) -> str:
    """Return a text as it is written between tags of XML; characters that XML cannot hold become U+FFFD."""
    return _NOT_IN_XML.sub("\ufffd", text).translate(_ESCAPED)


def escape_cdata(text: str) -> str:
    """Return a text as it is written inside a CDATA section."""
    return _NOT_IN_XML.sub("\ufffd", text).replace("]]>", "]]]]><![CDATA[>")


def escape_in_double_quotes(text: str) -> str:
    """Return a text as it is written in an attribute value between double quotes."""
    return _NOT_IN_XML.sub("\ufffd", text).translate(_ESCAPED_IN['"'])


def escape_in_single_quotes(text: str) -> str:
    """Return a text as it is written in an attribute value between single quotes."""
    return _NOT_IN_XML.sub("\ufffd", text).translate(_ESCAPED_IN["'"])


def escape_without_quotes(text: str) -> str:
    """Return a text as it is written in an attribute value that has no quotes."""
    return _NOT_IN_XML.sub("\ufffd", text).translate(_ESCAPED_IN[""])


def reads_on(text: str, position: int) -> int:
    """Return where an unfinished tag or reference right before a position begins; the position if there is none.

    Such is text, or a reference, only by what stands behind it: "<" before "<b>", "&#160" before "x".
    """
    while found := _UNFINISHED.search(text, max(0, position - _LONGEST_REFERENCE), position):
        position = found.start()
    return position


def value_pieces(text: str, start: int, end: int) -> Iterator[Piece]:
    """Give the pieces of an attribute value of HTML, by its standard's rules for references there."""
    position = start
    for found in _REFERENCE.finditer(text, start, end):
        decoded = _decoded(found, text[found.end() : min(end, found.end() + 1)])
        if decoded is None:
            continue
        yield from text_pieces(text, position, found.start())
        yield reference_piece(found.start(), found.end(), decoded)
        position = found.end()
    yield from text_pieces(text, position, end)


def _decoded(found: re.Match[str], behind: str) -> str | None:
    """Return what a reference in a value stands for; None: it is text (an unknown name, or a parameter of a URL)."""
    name = found["name"]
    if name is None:
        return html.unescape(found[0])
    return None if behind == "=" and not name.endswith(";") else html5.get(name)
