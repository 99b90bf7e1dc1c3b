"""XML elements with text and other elements in one another, as words and marks, and back.

Which elements are halves, words or marks is for the formats. What is no element and no text (comments, instructions,
unknown entities) is a mark.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from service.documents.pairing import nested_pairs
from service.documents.splicing import Copy
from service.documents.units import Mark, MarkKind
from service.documents.xml_tree import XmlElement, XmlText
from service.text.markup.references import escape_xml

Kind = Callable[[XmlElement], MarkKind]
"""Says what an inline element is: "open" for a pair around its content, "mark", "word" or "cut" for one thing."""

Half = Callable[[XmlElement], tuple[str, bool] | None]
"""Says of an element that is half of a pair what both halves are named, and whether it is the second."""

_LINE_BREAK: Final = re.compile(r"\s*[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]\s*")
_NO_MARK: Final = frozenset({b"<![CDATA[", b"]]>"})


@dataclass(frozen=True, slots=True, eq=False)
class XmlMark(Mark):
    """Bytes start to end of the source, which are what stands for it."""

    start: int = 0
    end: int = 0


class MixedContent:
    """What is in an element: its words and marks in order."""

    def __init__(self, data: bytes, element: XmlElement, kind: Kind, half: Half = lambda _: None) -> None:
        self._data = data
        self._kind, self._half = kind, half
        self._number = 0
        self.items: list[str | XmlMark] = list(self._items(element))

    def _items(self, element: XmlElement) -> Iterator[str | XmlMark]:
        halves = self._halves(element)
        position = element.inner_start
        for index, child in enumerate(element.children):
            yield from self._between(position, child.start)
            position = child.end
            if isinstance(child, XmlText):
                yield child.text
            elif index in halves:
                yield replace(halves[index], start=child.start, end=child.end)
            elif (kind := self._kind(child)) == "open":
                yield from self._element(child)
            else:
                yield XmlMark(kind, shown=shown(child) if kind == "word" else "", start=child.start, end=child.end)
        yield from self._between(position, element.inner_end)

    def _element(self, element: XmlElement) -> Iterator[str | XmlMark]:
        self._number += 1
        number = self._number
        yield XmlMark("open", number, start=element.start, end=element.inner_start)
        yield from self._items(element)
        yield XmlMark("close", number, start=element.inner_end, end=element.end)

    def _halves(self, element: XmlElement) -> dict[int, XmlMark]:
        """Returns marks for the children that are halves of a pair, by where they are."""
        tags = [
            (index, *half)
            for index, child in enumerate(element.children)
            if isinstance(child, XmlElement) and (half := self._half(child)) is not None
        ]
        halves: dict[int, XmlMark] = {}
        for first, second in nested_pairs(tags):
            self._number += 1
            halves[first], halves[second] = XmlMark("open", self._number), XmlMark("close", self._number)
        return halves

    def _between(self, start: int, end: int) -> Iterator[XmlMark]:
        if start < end and self._data[start:end] not in _NO_MARK:
            yield XmlMark("mark", start=start, end=end)


def write_mixed(items: Sequence[str | XmlMark], copy: Copy[bytes]) -> bytes:
    """Returns words and marks as content of an element."""
    return b"".join(
        escape_xml(_LINE_BREAK.sub(" ", item)).encode() if isinstance(item, str) else copy(item.start, item.end)
        for item in items
    )


def shown(element: XmlElement) -> str:
    """Returns all text in an element."""
    own = (child.text if isinstance(child, XmlText) else shown(child) for child in element.children)
    return "".join(own)
