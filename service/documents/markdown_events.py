"""Markdown as events with byte ranges: the only module that knows pyromark.

CommonMark with what GitHub and most site generators add: tables, task lists, footnotes, strikethrough, alerts,
formulas, definition lists, heading attributes, front matter in YAML and TOML.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

import pyromark

EventKind = Literal[
    "text", "code", "formula", "html", "footnote", "soft break", "hard break", "open", "close", "enter", "leave", "rest"
]

_OPTIONS: Final = (
    pyromark.Options.ENABLE_TABLES
    | pyromark.Options.ENABLE_FOOTNOTES
    | pyromark.Options.ENABLE_STRIKETHROUGH
    | pyromark.Options.ENABLE_TASKLISTS
    | pyromark.Options.ENABLE_GFM
    | pyromark.Options.ENABLE_MATH
    | pyromark.Options.ENABLE_DEFINITION_LIST
    | pyromark.Options.ENABLE_HEADING_ATTRIBUTES
    | pyromark.Options.ENABLE_YAML_STYLE_METADATA_BLOCKS
    | pyromark.Options.ENABLE_PLUSES_DELIMITED_METADATA_BLOCKS
)
_KINDS: Final[dict[str, EventKind]] = {
    "Text": "text",
    "Code": "code",
    "InlineMath": "formula",
    "DisplayMath": "formula",
    "InlineHtml": "html",
    "FootnoteReference": "footnote",
    "SoftBreak": "soft break",
    "HardBreak": "hard break",
}
_INLINE: Final = frozenset({"Emphasis", "Strong", "Strikethrough", "Link", "Image"})


@dataclass(frozen=True, slots=True)
class MarkdownEvent:
    """Bytes start to end of a text in UTF-8.

    kind: "open" and "close" are of inline elements, "enter" and "leave" of blocks. name: of the element. text: what
    is said there; of a block of HTML, its lines are events of kind "rest" and name "Html". link: how a link or image
    names what it leads to ("Inline", "Reference", "Shortcut", "Collapsed", "Autolink", "Email"); label: of a
    reference.
    """

    kind: EventKind
    start: int
    end: int
    name: str = ""
    text: str = ""
    link: str = ""
    label: str = ""


def markdown_events(text: str) -> Iterator[MarkdownEvent]:
    """Gives the events of any text, in order."""
    for event, place in pyromark.events_with_range(text, options=_OPTIONS):
        yield _event(event, place["start"], place["end"])


def _event(event: Any, start: int, end: int) -> MarkdownEvent:
    if isinstance(event, str):
        return MarkdownEvent(_KINDS.get(event, "rest"), start, end, event)
    ((kind, content),) = event.items()
    if kind not in ("Start", "End"):
        return MarkdownEvent(_KINDS.get(kind, "rest"), start, end, kind, content if isinstance(content, str) else "")
    name, details = (content, {}) if isinstance(content, str) else next(iter(content.items()))
    if name not in _INLINE:
        return MarkdownEvent("enter" if kind == "Start" else "leave", start, end, name)
    details = details if isinstance(details, dict) else {}
    return MarkdownEvent(
        "open" if kind == "Start" else "close",
        start,
        end,
        name,
        details.get("dest_url", ""),
        details.get("link_type", ""),
        details.get("id", ""),
    )
