"""Paragraphs of Word and PowerPoint taken apart: their runs as texts with formats, all else as what stands between.

A paragraph there is a row of runs, each with a format of its own. Fields, which go over several runs, are for
`office_fields`; which formats become marks, and how a translated paragraph is written, for `office_paragraphs`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from service.documents.units import MarkKind
from service.documents.xml_tree import XmlElement, XmlText
from service.text.markup.references import escape_xml

Written = tuple[tuple[int, int] | bytes, ...]
"""What is written for a piece: stretches of the source, and bytes."""

FieldPart = Literal["", "begin", "separate", "end", "instruction"]

_CONTAINERS: Final = frozenset({"bdo", "customXml", "dir", "hyperlink", "ins", "moveTo", "sdt", "smartTag"})
_CONTENTS: Final = {"sdt": "sdtContent"}
_OUTSIDE: Final = frozenset({"pPr", "endParaRPr", "rPr", "customXmlPr", "smartTagPr"})
_DROPPED: Final = frozenset({"proofErr", "lastRenderedPageBreak", "softHyphen"})
_CUTS: Final = frozenset({"br", "cr", "ptab", "tab"})
_WORDS: Final = frozenset({"fld", "fldSimple", "m", "oMath", "oMathPara", "object", "ruby", "sym"})
_INSTRUCTIONS: Final = frozenset({"delInstrText", "instrText"})
_FIELD_PARTS: Final[dict[str, FieldPart]] = {"begin": "begin", "separate": "separate", "end": "end"}
_NAME: Final = re.compile(rb"<([^\s/>]*?)p[\s/>]")
_NO_BREAK_HYPHEN: Final = "\u2011"


@dataclass(frozen=True, slots=True)
class OfficePiece:
    """A text in a format (the element that says it, as it stands), or a mark with what is written for it.

    shown: what a reader sees of a mark. part: the one it has in a field; instruction: what it says there.
    """

    kind: MarkKind | Literal["text"]
    text: str = ""
    format: bytes = b""
    written: Written = ()
    shown: str = ""
    part: FieldPart = ""
    instruction: str = ""


class OfficeParagraph:
    """A paragraph element of a document: its pieces, and the bytes they stand on."""

    def __init__(self, data: bytes, element: XmlElement) -> None:
        self._data = data
        self._is_word = "wordprocessingml" in element.name
        named = _NAME.match(data, element.start)
        self._prefix = named[1] if named else b""
        before, after = element.find("pPr"), element.find("endParaRPr")
        self.start = before.end if before else element.inner_start
        self.end = after.start if after else element.inner_end
        self.pieces = list(self._pieces(element))

    def run(self, run_format: bytes, content: Written) -> Written:
        """Returns what is written for a run with a format and a content."""
        return (b"<" + self._prefix + b"r>" + run_format, *content, b"</" + self._prefix + b"r>")

    def text_run(self, run_format: bytes, text: str) -> Written:
        """Returns what is written for a run of text."""
        space = b' xml:space="preserve"' if self._is_word and text != text.strip() else b""
        tag = self._prefix + b"t"
        return self.run(run_format, (b"<" + tag + space + b">" + escape_xml(text).encode() + b"</" + tag + b">",))

    def _pieces(self, parent: XmlElement) -> Iterator[OfficePiece]:
        for child in parent.children:
            if isinstance(child, XmlText) or child.local in _OUTSIDE | _DROPPED:
                continue
            if child.local == "r":
                yield from self._run_pieces(child)
            elif child.local in _CONTAINERS:
                yield from self._container(child)
            else:
                yield self._atom(child, ((child.start, child.end),))

    def _container(self, element: XmlElement) -> Iterator[OfficePiece]:
        content = element.find(_CONTENTS[element.local]) if element.local in _CONTENTS else element
        inside = list(self._pieces(content)) if content else []
        if content is None or not any(piece.text.strip() for piece in inside):
            yield self._atom(element, ((element.start, element.end),))
            return
        yield OfficePiece("open", written=((element.start, content.inner_start),))
        yield from inside
        yield OfficePiece("close", written=((content.inner_end, element.end),))

    def _run_pieces(self, run: XmlElement) -> Iterator[OfficePiece]:
        properties = run.find("rPr")
        own = self._data[properties.start : properties.end] if properties else b""
        for child in run.children:
            if isinstance(child, XmlText) or child.local in _OUTSIDE | _DROPPED:
                continue
            if child.local == "t":
                yield OfficePiece("text", self._text(child), own)
            elif child.local == "noBreakHyphen":
                yield OfficePiece("text", _NO_BREAK_HYPHEN, own)
            else:
                yield self._atom(child, self.run(own, ((child.start, child.end),)))

    def _text(self, element: XmlElement) -> str:
        text = said(element)
        keeps = not self._is_word or element.attributes.get("http://www.w3.org/XML/1998/namespace space") == "preserve"
        return text if keeps else text.strip()

    def _atom(self, element: XmlElement, written: Written) -> OfficePiece:
        if element.local in _INSTRUCTIONS:
            return OfficePiece("cut", written=written, part="instruction", instruction=said(element))
        if element.local == "fldChar":
            return OfficePiece("cut", written=written, part=_field_part(element))
        if element.local in _CUTS:
            return OfficePiece("cut", written=written)
        if element.local in _WORDS:
            inside = (one for one in element.descendants() if one.local == "t")
            return OfficePiece("word", written=written, shown="".join(map(said, inside)))
        return OfficePiece("mark", written=written)


def said(element: XmlElement) -> str:
    """Returns the character data directly in an element."""
    return "".join(child.text for child in element.children if isinstance(child, XmlText))


def _field_part(element: XmlElement) -> FieldPart:
    value = next((value for name, value in element.attributes.items() if name.endswith("fldCharType")), "")
    return _FIELD_PARTS.get(value, "")
