"""Word documents and PowerPoint presentations (docx, pptx): the paragraphs of the parts that hold their text.

Parts are found by their content types. Styles, properties, comments, deleted text, pictures and all other parts stay
as they are, byte for byte; so does everything in a part but the paragraphs that change.
"""

from collections.abc import Iterator
from typing import Final

from service.documents.archive import Archive
from service.documents.containers import ContainerFile
from service.documents.office_paragraphs import Runs
from service.documents.units import Cutting, Unit
from service.documents.xml_parts import Block, XmlPart, in_utf_8
from service.documents.xml_tree import elements_named, local_name, read_elements
from service.errors import InvalidDocumentError

_TYPES_PART: Final = "[Content_Types].xml"
_TYPES: Final = {
    "docx": (
        "wordprocessingml.document.main+xml",
        "wordprocessingml.template.main+xml",
        "ms-word.document.macroEnabled.main+xml",
        "ms-word.template.macroEnabledTemplate.main+xml",
    ),
    "pptx": (
        "presentationml.presentation.main+xml",
        "presentationml.slideshow.main+xml",
        "presentationml.template.main+xml",
        "ms-powerpoint.presentation.macroEnabled.main+xml",
    ),
}
_TEXT_TYPES: Final = (
    *_TYPES["docx"],
    "wordprocessingml.header+xml",
    "wordprocessingml.footer+xml",
    "wordprocessingml.footnotes+xml",
    "wordprocessingml.endnotes+xml",
    "presentationml.slide+xml",
    "presentationml.notesSlide+xml",
    "drawingml.chart+xml",
    "drawingml.diagramData+xml",
    "ms-office.drawingml.diagramDrawing+xml",
)
_NAMES: Final = {"docx": "Word document", "pptx": "PowerPoint presentation"}


def read_office(content: bytes, cutting: Cutting, kind: str) -> ContainerFile:
    """Takes a document of a kind ("docx" or "pptx") apart, by paragraphs.

    Raises InvalidDocumentError if it is not of the kind, or damaged.
    """
    archive = Archive(content)
    types = dict(_content_types(archive))
    if not any(own.endswith(_TYPES[kind]) for own in types.values()):
        raise InvalidDocumentError(f"not a {_NAMES[kind]}")
    names = [name for name in archive.names if types.get(name.casefold(), "").endswith(_TEXT_TYPES)]
    return ContainerFile(archive, {name: _part(archive.read(name), cutting) for name in names})


def _content_types(archive: Archive) -> Iterator[tuple[str, str]]:
    """Gives the name of each part that has a type of its own, in small letters, with its type."""
    if _TYPES_PART not in archive.names:
        raise InvalidDocumentError("not an Office document: it does not say what its parts are")
    for element in read_elements(archive.read(_TYPES_PART), lambda name: local_name(name) == "Override"):
        yield element.attributes.get("PartName", "").lstrip("/").casefold(), element.attributes.get("ContentType", "")


def _part(data: bytes, cutting: Cutting) -> XmlPart:
    return XmlPart(in_utf_8(data), list(_blocks(data, cutting)))


def _blocks(data: bytes, cutting: Cutting) -> Iterator[Block]:
    for element in elements_named(read_elements(data, _is_paragraph), _is_paragraph):
        runs = Runs(data, element)
        unit = Unit(runs.items, cutting)
        if unit.is_translatable:
            yield Block(runs.start, runs.end, unit, runs.write)


def _is_paragraph(name: str) -> bool:
    namespace, _, local = name.rpartition(" ")
    return local == "p" and ("wordprocessingml" in namespace or "drawingml" in namespace)
