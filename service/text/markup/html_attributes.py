"""Values of HTML attributes that a reader sees or hears: which they are, and as segments of their own.

The tokenizer says what a tag's attributes are; where they stand is found here, and trusted only where both agree.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from service.text.document import Segment
from service.text.markup.references import (
    escape_in_double_quotes,
    escape_in_single_quotes,
    escape_without_quotes,
    value_pieces,
)
from service.text.markup.runs import segments_of
from service.text.markup.source import Source
from service.text.markup.tokens import Token

_ATTRIBUTE: Final = re.compile(
    r"""[\s/]*(?P<name>[^\s/>][^\s/>=]*)(?:\s*=\s*(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<bare>[^\s>"'][^\s>]*)))?""",
    re.ASCII,
)
_TAG_NAME: Final = re.compile(r"<[^\s/>]+", re.ASCII)
_ESCAPES: Final[Mapping[str, Callable[[str], str]]] = {
    "double": escape_in_double_quotes,
    "single": escape_in_single_quotes,
    "bare": escape_without_quotes,
}

_ON_ANY: Final = frozenset({"alt", "aria-description", "aria-label", "placeholder", "title"})
_WITH_OTHER_TITLES: Final = frozenset({"base", "link", "script", "style"})
_WITH_LABELS: Final = frozenset({"optgroup", "option", "track"})
_DESCRIBING: Final = frozenset(
    {"description", "keywords", "og:description", "og:title", "twitter:description", "twitter:title"}
)


def value_segments(source: Source, tag: Token) -> tuple[Segment, ...]:
    """Return the segments of the values of a start tag, in order; each is written for the quotes it stands in."""
    wanted = {name for name, value in tag.attributes.items() if value and _is_read(tag, name)}
    if not wanted:
        return ()
    return tuple(segment for found in _placed(source.text, tag) for segment in _segments(source, tag, found, wanted))


def _is_read(tag: Token, name: str) -> bool:
    """Say whether a value is text, after the list of translatable attributes in the HTML standard."""
    if name in _ON_ANY:
        return tag.name not in _WITH_OTHER_TITLES
    kind = tag.attributes.get("type", "").lower()
    described = tag.attributes.get("name") or tag.attributes.get("property") or ""
    return (
        (name == "label" and tag.name in _WITH_LABELS)
        or (name == "value" and tag.name == "input" and kind in ("button", "reset"))
        or (name == "content" and tag.name == "meta" and described.lower() in _DESCRIBING)
    )


def _placed(text: str, tag: Token) -> Iterator[re.Match[str]]:
    name = _TAG_NAME.match(text, tag.start, tag.end)
    position = name.end() if name else tag.end
    while found := _ATTRIBUTE.match(text, position, tag.end - 1):
        yield found
        position = found.end()


def _segments(source: Source, tag: Token, found: re.Match[str], wanted: set[str]) -> Iterator[Segment]:
    name = found["name"].lower()
    quotes = found.lastgroup or ""
    if name not in wanted or quotes not in _ESCAPES:
        return
    wanted.discard(name)
    start, end = found.span(quotes)
    pieces = tuple(value_pieces(source.text, start, end))
    if "".join(piece.text for piece in pieces).split() == tag.attributes[name].split():
        yield from segments_of(source.written(_ESCAPES[quotes]), pieces)
