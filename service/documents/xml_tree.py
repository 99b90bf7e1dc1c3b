"""XML with byte positions: elements of a few names as small trees, everything else only passed over.

Expat says where things begin; nothing is serialised, so whoever changes a stretch leaves all others as they are. What
the elements mean is for the formats. Entities are never declared or fetched: a document that does is refused.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final
from xml.parsers import expat

from service.errors import InvalidDocumentError

MAX_DEPTH: Final = 250
"""Deeper nesting does not occur in documents, and would end the recursion of those who walk the trees."""

_CHUNK: Final = 64 * 1024


@dataclass(slots=True)
class XmlElement:
    """Bytes start to end of a document; what is between its tags is inner_start to inner_end.

    name: "namespace local", or "local" without a namespace; attributes likewise.
    """

    name: str
    attributes: dict[str, str]
    start: int
    inner_start: int = -1
    inner_end: int = -1
    end: int = -1
    children: list["XmlElement | XmlText"] = field(default_factory=list)

    @property
    def local(self) -> str:
        """The name without its namespace."""
        return local_name(self.name)

    def descendants(self) -> Iterator["XmlElement"]:
        """Gives all elements inside, in document order."""
        for child in self.children:
            if isinstance(child, XmlElement):
                yield child
                yield from child.descendants()

    def find(self, local: str) -> "XmlElement | None":
        """Returns the first child element of a local name."""
        found = (child for child in self.children if isinstance(child, XmlElement) and child.local == local)
        return next(found, None)


@dataclass(slots=True)
class XmlText:
    """Bytes start to end of character data; text is what they say."""

    start: int
    end: int
    text: str


def local_name(name: str) -> str:
    """Returns a name of expat without its namespace."""
    return name.rpartition(" ")[2]


def read_elements(
    data: bytes,
    is_wanted: Callable[[str], bool],
    is_closed: Callable[[str, Mapping[str, str]], bool] = lambda *_: False,
) -> Iterator[XmlElement]:
    """Gives the outermost elements whose names are wanted, in order, whole and with byte positions.

    data: UTF-8, whatever its declaration says. is_closed: by name and attributes, elements in which nothing is wanted.
    Raises InvalidDocumentError if it is not well formed, declares entities, or is nested too deeply.
    """
    reader = _Reader(data, is_wanted, is_closed)
    for start in range(0, max(len(data), 1), _CHUNK):
        try:
            reader.feed(data[start : start + _CHUNK], is_last=start + _CHUNK >= len(data))
        except expat.ExpatError as error:
            problem = f"not well-formed XML: line {error.lineno}, {expat.ErrorString(error.code)}"
            raise InvalidDocumentError(problem) from None
        yield from reader.found
        reader.found = []


def elements_named(
    found: Iterable[XmlElement],
    is_wanted: Callable[[str], bool],
    is_closed: Callable[[str, Mapping[str, str]], bool] = lambda *_: False,
) -> Iterator[XmlElement]:
    """Gives elements that were read and those inside them whose names are wanted as well, in order."""
    for element in found:
        if is_closed(element.name, element.attributes):
            continue
        if is_wanted(element.name):
            yield element
        inner = (child for child in element.children if isinstance(child, XmlElement))
        yield from elements_named(inner, is_wanted, is_closed)


class _Reader:
    def __init__(
        self, data: bytes, is_wanted: Callable[[str], bool], is_closed: Callable[[str, Mapping[str, str]], bool]
    ) -> None:
        self._data = data
        self._is_wanted, self._is_closed = is_wanted, is_closed
        self.found: list[XmlElement] = []
        self._open: list[XmlElement] = []
        self._depth = 0
        self._closed_depth = 0
        # The element whose start tag, and the text whose end, only the next event bounds.
        self._entered: XmlElement | None = None
        self._text: XmlText | None = None
        self._parser = parser = expat.ParserCreate("utf-8", " ")
        parser.buffer_text = False
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.EntityDeclHandler = self._entity
        # Comments, instructions, CDATA marks, entities that a DTD elsewhere might declare.
        parser.DefaultHandler = self._other

    def feed(self, data: bytes, *, is_last: bool) -> None:
        self._parser.Parse(data, is_last)

    def _position(self) -> int:
        """Returns where the event at hand begins, after settling what ends there."""
        position = self._parser.CurrentByteIndex
        if self._entered is not None:
            self._entered.inner_start = position
            self._entered = None
        if self._text is not None:
            self._text.end = position
            self._text = None
        return position

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        position = self._position()
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise InvalidDocumentError("XML that is nested too deeply")
        if self._closed_depth or (not self._open and self._is_closed(name, attributes)):
            self._closed_depth += 1
            return
        if not self._open and not self._is_wanted(name):
            return
        element = XmlElement(name, attributes, position)
        if self._open:
            self._open[-1].children.append(element)
        self._open.append(element)
        self._entered = element

    def _end(self, name: str) -> None:
        entered = self._entered
        position = self._position()
        self._depth -= 1
        if self._closed_depth:
            self._closed_depth -= 1
        elif self._open:
            element = self._open.pop()
            # The end of an empty-element tag is reported behind it, that of another element at its end tag.
            is_empty = entered is element and self._data[position - 2 : position] == b"/>"
            element.inner_end = position
            element.end = position if is_empty else self._data.index(b">", position) + 1
            if not self._open:
                self.found.append(element)

    def _characters(self, text: str) -> None:
        position = self._position()
        if self._open:
            self._text = XmlText(position, position, text)
            self._open[-1].children.append(self._text)

    def _other(self, _: str) -> None:
        self._position()

    def _entity(self, *_: object) -> None:
        raise InvalidDocumentError("XML that declares entities of its own")
