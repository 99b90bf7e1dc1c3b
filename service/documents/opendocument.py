"""OpenDocument texts (odt, ott): paragraphs and headings of the content, and of headers and footers in the styles.

Everything else stays as it is, byte for byte: styles, fields, comments, deleted text, pictures, forms.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from service.documents.archive import Archive
from service.documents.containers import ContainerFile
from service.documents.units import Cutting, MarkKind, Unit
from service.documents.xml_mixed import MixedContent, shown, write_mixed
from service.documents.xml_parts import Block, XmlPart, in_utf_8
from service.documents.xml_tree import XmlElement, elements_named, local_name, read_elements
from service.errors import InvalidDocumentError

_TEXT: Final = "urn:oasis:names:tc:opendocument:xmlns:text:1.0 "
_TYPES: Final = (b"application/vnd.oasis.opendocument.text", b"application/vnd.oasis.opendocument.text-template")
_PARTS: Final = ("content.xml", "styles.xml")
_BLOCKS: Final = frozenset({_TEXT + "p", _TEXT + "h"})
_CLOSED: Final = frozenset({"annotation", "forms", "scripts", "tracked-changes"})
_PAIRS: Final = frozenset({_TEXT + "a", _TEXT + "meta", _TEXT + "span"})
_CUTS: Final = frozenset({_TEXT + "line-break", _TEXT + "tab"})
# What stands beside words though it may have text in it.
_MARKS: Final = frozenset({"annotation", "annotation-end", "change", "change-end", "change-start", "note", "ruby"})
_DRAWING: Final = "urn:oasis:names:tc:opendocument:xmlns:drawing:1.0 "


def read_opendocument(content: bytes, cutting: Cutting) -> ContainerFile:
    """Takes a text document apart, by paragraphs; raises InvalidDocumentError if it is none, or damaged."""
    archive = Archive(content)
    if "mimetype" not in archive.names or archive.read("mimetype").strip() not in _TYPES:
        raise InvalidDocumentError("not an OpenDocument text")
    names = [name for name in _PARTS if name in archive.names]
    return ContainerFile(archive, {name: _part(archive.read(name), cutting) for name in names})


def _part(data: bytes, cutting: Cutting) -> XmlPart:
    return XmlPart(in_utf_8(data), list(_blocks(data, cutting)))


def _blocks(data: bytes, cutting: Cutting) -> Iterator[Block]:
    found = read_elements(data, _is_block, _is_closed)
    for element in elements_named(found, _is_block, _is_closed):
        content = MixedContent(data, element, _kind)
        unit = Unit(content.items, cutting)
        if unit.is_translatable:
            yield Block(element.inner_start, element.inner_end, unit, write_mixed)


def _is_block(name: str) -> bool:
    return name in _BLOCKS


def _is_closed(name: str, _: Mapping[str, str]) -> bool:
    return local_name(name) in _CLOSED


def _kind(element: XmlElement) -> MarkKind:
    if element.name in _PAIRS:
        return "open"
    if element.name in _CUTS:
        return "cut"
    is_beside = element.local in _MARKS or element.name.startswith(_DRAWING)
    return "mark" if is_beside or not shown(element).strip() else "word"
