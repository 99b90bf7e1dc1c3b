"""XML members of a container, or one alone, whose blocks are rewritten where they stand.

What a block is, and how it is read and written, is for the formats: they give Blocks, this keeps their order and
places.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from service.documents.splicing import Copy, Splice, spliced
from service.documents.units import Unit
from service.errors import InvalidDocumentError
from service.text.document import Document

_DECLARED: Final = re.compile(rb"""<\?xml\s[^>]*?encoding\s*=\s*["']([A-Za-z0-9._-]+)["']""")
_UTF_8: Final = {"utf-8", "us-ascii", "ascii"}


@dataclass(frozen=True, slots=True)
class Block:
    """Bytes start to end of a part; `write` makes them of the translated words and marks of a unit.

    unchanged: what is written where the translation is the source; None where the bytes then stay.
    """

    start: int
    end: int
    unit: Unit[Any]
    write: Callable[[Sequence[Any], Copy[bytes]], bytes]
    unchanged: Sequence[Any] | None = None

    def splice(self, target: str) -> Splice[bytes] | None:
        """Returns what comes in place of the bytes; None where they stay."""
        changed: Sequence[Any] | None = self.unit.read(target)
        items = self.unchanged if changed is None else changed
        return None if items is None else Splice(self.start, self.end, lambda copy: self.write(items, copy))


@dataclass(frozen=True, slots=True)
class XmlPart:
    """A document of XML in UTF-8, and its blocks in order; one may lie in another."""

    data: bytes
    blocks: Sequence[Block]

    @property
    def documents(self) -> Sequence[Document]:
        """One document for each block."""
        return [block.unit.document for block in self.blocks]

    def put_together(self, targets: Sequence[str]) -> bytes | None:
        """Returns the part with its blocks translated; None where none changed."""
        pairs = zip(self.blocks, targets, strict=True)
        splices = [splice for block, target in pairs if (splice := block.splice(target)) is not None]
        return spliced(self.data, splices) if splices else None


def in_utf_8(data: bytes) -> bytes:
    """Returns XML in UTF-8 as it is, without a byte order mark; raises InvalidDocumentError for other encodings."""
    declared = _DECLARED.match(data.removeprefix(b"\xef\xbb\xbf"))
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or (declared and declared[1].decode().lower() not in _UTF_8):
        raise InvalidDocumentError("XML in another encoding than UTF-8")
    return data
