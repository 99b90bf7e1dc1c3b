"""Making placeholders of the numbers in items, for a translation that has not kept them; see `digits`."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from service.text.document import Item, Placeholder

_NUMBER: Final = re.compile(r"\d(?:[.,:'’/\u00a0\u202f-]?\d)*")


def protect_digits(items: Sequence[Item]) -> tuple[Item, ...]:
    """Return items with a placeholder for every number in their strings."""
    return tuple(piece for item in items for piece in (_pieces(item) if isinstance(item, str) else (item,)))


def _pieces(text: str) -> Iterator[Item]:
    end = 0
    for match in _NUMBER.finditer(text):
        if match.start() > end:
            yield text[end : match.start()]
        yield Placeholder(match[0], shown=match[0])
        end = match.end()
    if end < len(text):
        yield text[end:]
