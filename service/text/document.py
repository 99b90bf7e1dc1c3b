"""What a text is once it has been taken apart: a Document of Segments and Gaps, and the items a segment consists of.

Values only. How a text is cut is for `segmentation` and `markup`, what must not change in it for `protection`, and how
placeholders come back for `weaving`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Span:
    """Characters start to end (excluded) of a document, counted in code points."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A stretch that comes back as it is, exactly once.

    text: as it stands in the document. kind: an "atom" stands alone; "open" and "close" are two halves, joined by
    having the same `pair`, a number of its own within the segment.
    shown: what is read in its place; empty for what is no word of its sentence (an image, a line break, an emoji).
    parts: where values inside the stretch are translated (alt="..."), what it consists of; joined they are the text.
    """

    text: str
    kind: Literal["atom", "open", "close"] = "atom"
    pair: int = 0
    shown: str = ""
    parts: "tuple[Segment | Gap, ...]" = ()


Item = str | Placeholder
"""A piece of a segment: a str is text for the model (decoded, without entities), and never empty."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of a document to translate: no white space at its edges, at least one letter in its items.

    text: the slice of the document at `span`. items: what the slice says, in order; halves are balanced and nested. In
    plain text the items joined are the text. Left out, the text is the only item. escape: applied to target text of
    this segment instead of what the document says (in an attribute the quote must be escaped too).
    """

    text: str
    span: Span
    items: tuple[Item, ...] = ()
    escape: Callable[[str], str] | None = None

    def __post_init__(self) -> None:
        """Makes the text the only item where none are given."""
        if not self.items and self.text:
            object.__setattr__(self, "items", (self.text,))


@dataclass(frozen=True, slots=True)
class Gap:
    """A stretch of a document that stays as it is."""

    text: str


Part = Segment | Gap


def _unchanged(text: str) -> str:
    return text


@dataclass(frozen=True, slots=True)
class Document:
    """A text in parts: the texts of all parts, joined in order, are the text.

    escape: applied to target text between placeholders before it is put into the document (in HTML: & < >).
    """

    parts: tuple[Part, ...]
    escape: Callable[[str], str] = _unchanged
