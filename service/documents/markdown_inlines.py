"""The inside of Markdown blocks: runs of text with emphasis, links, code and the like, as words and marks.

Which stretches of a text are such runs is found here too; how a translated run is written, in `markdown_writing`.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from service.documents.markdown_events import MarkdownEvent
from service.documents.pairing import nested_pairs
from service.documents.units import Mark

_VERBATIM: Final = frozenset({"CodeBlock", "HtmlBlock", "MetadataBlock"})
_TAG: Final = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9-]*)(?=[\s/>])[^>]*?(/?)>", re.DOTALL)
_VOID: Final = frozenset({"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"})
_QUOTED: Final = frozenset({"code", "kbd", "samp", "script", "style", "svg", "math", "tt", "var"})
_FOLDED: Final = re.compile(r"[ \t]*+\r?\n[ \t>]*+")
_BY_LABEL: Final = frozenset({"Shortcut", "Collapsed"})


@dataclass(frozen=True, slots=True)
class Run:
    """Inline events that follow one another in a block of a kind (Paragraph, Heading, TableCell, ...)."""

    block: str
    events: Sequence[MarkdownEvent]


@dataclass(frozen=True, slots=True)
class HtmlStretch:
    """Bytes start to end of a block of HTML."""

    start: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class MarkdownMark(Mark):
    """source: as written. sign: what it is to a reader of the page, told apart from others. name: of the element.

    definition: what must be defined elsewhere for the mark to be one.
    """

    source: str = ""
    sign: tuple[str, ...] = ()
    name: str = ""
    definition: str = ""


@dataclass(slots=True)
class _Reading:
    """Where the reading of events is: the blocks that are open, and the run at hand."""

    blocks: list[str] = field(default_factory=list)
    run: list[MarkdownEvent] = field(default_factory=list)
    html: list[MarkdownEvent] = field(default_factory=list)


def stretches(events: Iterable[MarkdownEvent]) -> Iterator[Run | HtmlStretch]:
    """Gives the runs of a text, and its blocks of HTML that no other block's marks run through, in order."""
    at = _Reading()
    for event in events:
        if event.kind in ("enter", "leave", "rest"):
            if at.run:
                yield Run(at.blocks[-1] if at.blocks else "", at.run)
                at.run = []
            yield from _change_block(at, event)
        elif not at.blocks or at.blocks[-1] not in _VERBATIM:
            at.run.append(event)
    if at.run:
        yield Run(at.blocks[-1] if at.blocks else "", at.run)


def _change_block(at: _Reading, event: MarkdownEvent) -> Iterator[HtmlStretch]:
    if event.kind == "enter":
        at.blocks.append(event.name)
        at.html = []
    elif event.name == "Html":
        at.html.append(event)
    elif event.kind == "leave" and at.blocks:
        at.blocks.pop()
        lines = at.html
        if lines and all(one.end == two.start for one, two in pairwise(lines)):
            yield HtmlStretch(lines[0].start, lines[-1].end)
        at.html = []


def bounds(data: bytes, run: Run) -> tuple[int, int]:
    """Returns the bytes of a run, start to end; a backslash that escapes its first character is in it."""
    return _start(data, run.events[0]), run.events[-1].end


def inlines(data: bytes, run: Run, between_lines: str) -> list[str | MarkdownMark]:
    """Returns the words and marks of a run of a text in UTF-8; between_lines: what a soft line break is."""
    reader = _InlineReader(data, run.events, between_lines)
    reader.read()
    return reader.items


def on_one_line(source: str) -> str:
    """Returns what stands on several lines as if on one; marks of blocks at the starts of lines are left out."""
    return _FOLDED.sub(" ", source)


def _start(data: bytes, event: MarkdownEvent) -> int:
    """Returns where an event begins; the range of an escaped character does not hold its backslash."""
    escaped = event.kind == "text" and event.start > 0 and data[event.start - 1 : event.start] == b"\\"
    return event.start - escaped


class _InlineReader:
    def __init__(self, data: bytes, events: Sequence[MarkdownEvent], between_lines: str) -> None:
        self._data = data
        self._events = events
        self._between_lines = between_lines
        self._tags = _tag_pairs(events)
        # The numbers of open elements by where they end, and what began them.
        self._closing: dict[int, int] = {}
        self._open: list[tuple[int, MarkdownEvent]] = []
        self._number = 0
        self.items: list[str | MarkdownMark] = []

    def read(self) -> None:
        """Reads all events."""
        index = 0
        while index < len(self._events):
            index = self._read(index, self._events[index])

    def _read(self, index: int, event: MarkdownEvent) -> int:
        """Reads one event, or an element that is one mark; returns the index behind it."""
        match event.kind:
            case "text":
                self.items.append(event.text)
            case "soft break":
                self.items.append(self._between_lines)
            case "hard break":
                following = self._events[index + 1 : index + 2]
                end = _start(self._data, following[0]) if following else event.end
                self.items.append(MarkdownMark("cut", source=self._slice(event.start, end), sign=("break",)))
            case "open":
                return self._read_element(index, event)
            case "close":
                number, first = self._open.pop()
                self.items.append(_closing(number, first, self._slice(self._events[index - 1].end, event.end)))
            case "html":
                return self._read_tag(index, event)
            case _:
                self.items.append(self._atom(event))
        return index + 1

    def _read_element(self, index: int, event: MarkdownEvent) -> int:
        inner = self._events[index + 1]
        source = self._slice(event.start, event.end)
        if event.link in ("Autolink", "Email"):
            self.items.append(MarkdownMark("word", shown=inner.text, source=source, sign=(event.name, event.text)))
            return index + 3
        if inner.kind == "close":
            self.items.append(MarkdownMark("mark", source=source, sign=("empty", *_sign(event))))
            return index + 2
        self._number += 1
        self._open.append((self._number, event))
        opening = self._slice(event.start, _start(self._data, inner))
        self.items.append(MarkdownMark("open", self._number, source=opening, sign=_sign(event), name=event.name))
        return index + 1

    def _read_tag(self, index: int, event: MarkdownEvent) -> int:
        """Reads a tag of HTML; an element of code is one word."""
        source = self._slice(event.start, event.end)
        if index in self._closing:
            self.items.append(
                MarkdownMark("close", self._closing[index], source=source, sign=("html", on_one_line(source)))
            )
            return index + 1
        if index not in self._tags:
            self.items.append(MarkdownMark("mark", source=source, sign=("html", on_one_line(source))))
            return index + 1
        last, name = self._tags[index]
        if name in _QUOTED:
            inside = self._events[index : last + 1]
            shown = "".join(one.text for one in inside if one.kind in ("text", "code"))
            source = self._slice(event.start, inside[-1].end)
            self.items.append(MarkdownMark("word", shown=shown, source=source, sign=("quoted", on_one_line(source))))
            return last + 1
        self._number += 1
        self._closing[last] = self._number
        self.items.append(MarkdownMark("open", self._number, source=source, sign=("html", on_one_line(source))))
        return index + 1

    def _atom(self, event: MarkdownEvent) -> MarkdownMark:
        source = self._slice(event.start, event.end)
        if event.kind == "footnote":
            return MarkdownMark("mark", source=source, sign=("footnote", source), definition=f"{source}: x")
        return MarkdownMark("word", shown=event.text, source=source, sign=(event.kind, on_one_line(source)))

    def _slice(self, start: int, end: int) -> str:
        return self._data[start:end].decode("utf-8")


def _closing(number: int, first: MarkdownEvent, source: str) -> MarkdownMark:
    # Where the text is the label, it is none in another language.
    written = f"][{first.label}]" if first.link in _BY_LABEL else source
    definition = f"[{first.label}]: x" if first.label else ""
    return MarkdownMark("close", number, source=written, sign=("/", first.name), name=first.name, definition=definition)


def _sign(event: MarkdownEvent) -> tuple[str, ...]:
    if event.name not in ("Link", "Image"):
        return (event.name,)
    return (event.name, "label", event.label.casefold()) if event.label else (event.name, event.text)


def _tag_pairs(events: Sequence[MarkdownEvent]) -> dict[int, tuple[int, str]]:
    """Returns, for tags of HTML with a partner inside the same elements, where it is, and their name."""
    levels: dict[int, list[tuple[int, str, bool]]] = {}
    path = [-1]
    for index, event in enumerate(events):
        if event.kind == "open":
            path.append(index)
        elif event.kind == "close":
            path.pop()
        elif event.kind == "html" and (tag := _TAG.fullmatch(event.text)) and not tag[3]:
            name = tag[2].lower()
            if name not in _VOID:
                levels.setdefault(path[-1], []).append((index, name, bool(tag[1])))
    names = {index: name for tags in levels.values() for index, name, _ in tags}
    return {first: (last, names[first]) for tags in levels.values() for first, last in nested_pairs(tags)}
