"""Gettext catalogues (PO, POT): messages without a translation get one; those that have one keep it.

Comments, context, flags, references, the header and obsolete messages stay as they are. Plural forms above the first
are translated from the plural.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from service.documents.plain import read_plain
from service.documents.po_entries import PoMessage, PoString, quoted, read_messages
from service.documents.splicing import replacing, spliced
from service.documents.units import Cutting
from service.errors import InvalidDocumentError
from service.text.document import Document, Segment
from service.text.segmentation import segment

_CHARSET: Final = re.compile(r"Content-Type:[^\n]*charset=([\w.:-]+)", re.IGNORECASE)
_UTF_8: Final = {"utf-8", "utf8", "us-ascii", "ascii", "charset"}


@dataclass(frozen=True, slots=True)
class _Empty:
    """A target to fill, with the document of its source."""

    target: PoString
    document: Document


class PoFile:
    """A catalogue in UTF-8; one document for each target to fill."""

    def __init__(self, content: bytes, cutting: Cutting) -> None:
        """Raises InvalidDocumentError if it is not a catalogue, or in another encoding than UTF-8."""
        self._plain = read_plain(content)
        self._line_break = "\r\n" if "\r\n" in self._plain.text else "\n"
        messages = list(read_messages(self._plain.text))
        _check_charset(messages)
        self._empty = [empty for message in messages for empty in _to_fill(message, cutting)]
        self.documents = tuple(empty.document for empty in self._empty)

    def put_together(self, targets: Sequence[str]) -> bytes:
        """Returns the catalogue with its empty targets filled, in their order."""
        filled = [
            replacing(empty.target.start, empty.target.end, quoted(text, self._line_break))
            for empty, text in zip(self._empty, targets, strict=True)
        ]
        return self._plain.encoded(spliced(self._plain.text, filled))


def _to_fill(message: PoMessage, cutting: Cutting) -> Iterator[_Empty]:
    has_translation = any(target.text for target in message.targets.values())
    if message.source is None or not message.source.text or has_translation or "fuzzy" in message.flags:
        return
    for number, target in message.targets.items():
        source = message.plural if number and message.plural else message.source
        document = segment(source.text, cutting.language, cutting.options)
        if any(isinstance(part, Segment) for part in document.parts):
            yield _Empty(target, document)


def _check_charset(messages: Sequence[PoMessage]) -> None:
    header = next((one for one in messages if one.source is not None and not one.source.text), None)
    found = _CHARSET.search(header.targets[0].text) if header and 0 in header.targets else None
    if found and found[1].lower() not in _UTF_8:
        raise InvalidDocumentError(f"in the encoding {found[1]}; convert it to UTF-8 first")
