"""From the texts of a request to documents, with what must not change in them found."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from service.text.document import Document, Item, Placeholder, Span
from service.text.markup.html import parse_html
from service.text.markup.xml import parse_xml
from service.text.protection import protect
from service.text.segmentation import SegmentationOptions, segment
from service.text.spaces import UNSPACED
from service.translation.translation import TranslationRequest

# A letter or digit of a script with spaces between words, before and behind a name.
_NOT_BEHIND_WORD = rf"(?<![^\W{UNSPACED}])"
_NOT_BEFORE_WORD = rf"(?![^\W{UNSPACED}])"
_SPACED = re.compile(rf"[^\W{UNSPACED}]")


class Protector:
    """Finds what must not change in a text: what `protection` knows, and what a request names."""

    def __init__(self, is_known: Callable[[str], bool], literals: Sequence[str]) -> None:
        self._is_known = is_known
        self._literals = tuple(literals)

    def __call__(self, text: str) -> tuple[Item, ...]:
        """Returns the items of a text; joined, they are the text."""
        return protect(text, self._is_known, self._named(text))

    def _named(self, text: str) -> tuple[Span, ...]:
        present = [literal for literal in self._literals if literal in text]
        return tuple(Span(*match.span()) for match in _pattern(present).finditer(text)) if present else ()


def open_document(text: str | Document, language: str, request: TranslationRequest, protector: Protector) -> Document:
    """Takes a text of a request apart.

    language: the shortest code of its language. Raises InvalidRequestError for XML that is not well formed.
    """
    if isinstance(text, Document):
        return text
    options = SegmentationOptions(request.split_sentences, protector)
    if request.format == "html":
        return parse_html(text, language, options)
    if request.format == "xml":
        return parse_xml(text, language, options)
    return segment(text, language, options)


def protected_items(items: Iterable[Item], protector: Protector, escape: Callable[[str], str]) -> Iterator[Item]:
    """Gives items with what must not change in their strings found as well.

    escape: how text is written in the document; what was read from it must be written so again.
    """
    for item in items:
        if isinstance(item, str):
            yield from (
                replace(piece, text=escape(piece.text)) if isinstance(piece, Placeholder) else piece
                for piece in protector(item)
            )
        else:
            yield item


def _pattern(literals: Sequence[str]) -> re.Pattern[str]:
    """Matches any of the literals, the longest first, but no part of a word: "Go" is not in "Google"."""
    return re.compile("|".join(map(_bounded, sorted(literals, key=len, reverse=True))))


def _bounded(literal: str) -> str:
    before = _NOT_BEHIND_WORD if _SPACED.match(literal[0]) else ""
    behind = _NOT_BEFORE_WORD if _SPACED.match(literal[-1]) else ""
    return before + re.escape(literal) + behind
