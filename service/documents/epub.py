"""Books (EPUB): the pages of the package as HTML, and the labels of its table of contents.

Metadata, styles, pictures, fonts and all other members stay as they are.
"""

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from service.documents.archive import Archive
from service.documents.containers import ContainerFile, Part
from service.documents.units import Cutting, MarkKind, Unit
from service.documents.xml_mixed import MixedContent, write_mixed
from service.documents.xml_parts import Block, XmlPart, in_utf_8
from service.documents.xml_tree import XmlElement, local_name, read_elements
from service.errors import InvalidDocumentError
from service.text.document import Document
from service.text.markup.html import parse_html

_CONTAINER: Final = "META-INF/container.xml"
_ENCRYPTION: Final = "META-INF/encryption.xml"
_PAGES: Final = frozenset({"application/xhtml+xml", "text/html"})
_CONTENTS: Final = "application/x-dtbncx+xml"


# Says to a reader that a page is in the syntax of XML, where <title/> is empty.
_DECLARATION: Final = '<?xml version="1.0"?>'


@dataclass(frozen=True, slots=True)
class _Page:
    """A page as one document, behind what was put before it to read it."""

    before: str
    text: str
    document: Document

    @property
    def documents(self) -> Sequence[Document]:
        """The page."""
        return (self.document,)

    def put_together(self, targets: Sequence[str]) -> bytes | None:
        """Returns the page translated; None where nothing changed."""
        target = targets[0].removeprefix(self.before)
        return target.encode("utf-8") if target != self.text else None


def read_epub(content: bytes, cutting: Cutting) -> ContainerFile:
    """Takes a book apart, by pages; raises InvalidDocumentError if it is none, encrypted, or damaged."""
    archive = Archive(content)
    names = set(archive.names)
    if _CONTAINER not in names:
        raise InvalidDocumentError("not an EPUB book")
    encrypted = set(_addresses(archive, _ENCRYPTION, "CipherReference", "URI")) if _ENCRYPTION in names else set()
    parts: dict[str, Part] = {}
    for name, media_type in _manifest(archive):
        if name not in names or media_type not in (*_PAGES, _CONTENTS):
            continue
        if name in encrypted:
            raise InvalidDocumentError("the book is encrypted")
        read = _page if media_type in _PAGES else _labels
        parts[name] = read(in_utf_8(archive.read(name)), cutting)
    return ContainerFile(archive, parts)


def _manifest(archive: Archive) -> Iterator[tuple[str, str]]:
    """Gives the members that belong to the book, with their types, in the order of the manifests."""
    for package in _addresses(archive, _CONTAINER, "rootfile", "full-path"):
        for item in read_elements(archive.read(package), lambda name: local_name(name) == "item"):
            path = unquote(item.attributes.get("href", ""))
            yield (
                posixpath.normpath(posixpath.join(posixpath.dirname(package), path)),
                item.attributes.get("media-type", ""),
            )


def _addresses(archive: Archive, name: str, element: str, attribute: str) -> Iterator[str]:
    for found in read_elements(archive.read(name), lambda name: local_name(name) == element):
        yield found.attributes.get(attribute, "")


def _page(data: bytes, cutting: Cutting) -> Part:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidDocumentError(f"a page is not UTF-8 at byte {error.start}") from None
    before = "" if text.removeprefix("\ufeff").startswith("<?xml") else _DECLARATION
    return _Page(before, text, parse_html(before + text, cutting.language, cutting.options))


def _labels(data: bytes, cutting: Cutting) -> Part:
    blocks = []
    for element in read_elements(data, lambda name: local_name(name) == "text"):
        unit = Unit(MixedContent(data, element, _mark).items, cutting)
        if unit.is_translatable:
            blocks.append(Block(element.inner_start, element.inner_end, unit, write_mixed))
    return XmlPart(data, blocks)


def _mark(_: XmlElement) -> MarkKind:
    return "mark"
