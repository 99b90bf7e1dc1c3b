"""The elements that are open at a place in HTML, as far as it matters to text: which end tag ends what.

A small part of the standard's tree construction: scopes by level (`html_elements.level`) and implied ends. Every
operation takes time in proportion to the elements that it ends.
"""

from collections import defaultdict
from dataclasses import dataclass, field

from service.text.markup.html_elements import ENDED_BY, HOLDING_HTML, INLINE_LEVEL

_LEVELS = 4


@dataclass(slots=True)
class OpenElement:
    """An element that has begun.

    level: see `html_elements.level`; inside SVG and MathML all is inline. piece: where its start tag is among the
    pieces, when that may be the first half of a pair. cuts: how many cuts were before it.
    """

    name: str
    level: int
    piece: int | None = None
    cuts: int = 0


def _counts() -> list[defaultdict[str, int]]:
    return [defaultdict(int)]


@dataclass(slots=True)
class OpenElements:
    """The open elements, the outermost first."""

    _elements: list[OpenElement] = field(default_factory=list)
    _blocks: list[OpenElement] = field(default_factory=list)
    # For each level, the open elements of that level by name, since each element of a higher one.
    _counts: tuple[list[defaultdict[str, int]], ...] = field(
        default_factory=lambda: tuple(_counts() for _ in range(_LEVELS))
    )

    def push(self, element: OpenElement) -> None:
        """Open an element."""
        self._elements.append(element)
        self._counts[element.level][-1][element.name] += 1
        if element.level > INLINE_LEVEL:
            self._blocks.append(element)
        for lower in range(element.level):
            self._counts[lower].append(defaultdict(int))

    def ended_by_tag(self, name: str, level: int) -> list[OpenElement]:
        """Close what an end tag ends, the innermost first and its own element last; nothing when it has none."""
        if not self._counts[level][-1].get(name):
            return []
        ended = [self._pop()]
        while (ended[-1].name, ended[-1].level) != (name, level):
            ended.append(self._pop())
        return ended

    def ended_by_start(self, name: str) -> list[OpenElement]:
        """Close what a start tag ends though no end tag says so."""
        ended: list[OpenElement] = []
        names = ENDED_BY.get(name, ())
        while self._blocks and self._blocks[-1].name in names:
            ended += self._through(self._blocks[-1])
        return ended

    def ended_inside(self, element: OpenElement) -> list[OpenElement]:
        """Close all that is open inside of an open element, and the element."""
        return self._through(element)

    def ended_at_end(self) -> list[OpenElement]:
        """Close everything."""
        return [self._pop() for _ in range(len(self._elements))]

    def holds_html(self) -> bool:
        """Say whether HTML may stand here though it is inside SVG or MathML."""
        counts = self._counts[INLINE_LEVEL][-1]
        return any(counts.get(name) for name in HOLDING_HTML)

    def _through(self, element: OpenElement) -> list[OpenElement]:
        ended = [self._pop()]
        while ended[-1] is not element:
            ended.append(self._pop())
        return ended

    def _pop(self) -> OpenElement:
        element = self._elements.pop()
        for lower in range(element.level):
            self._counts[lower].pop()
        if element.level > INLINE_LEVEL:
            self._blocks.pop()
        self._counts[element.level][-1][element.name] -= 1
        return element
