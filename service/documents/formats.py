"""The formats that files are translated in, and which one a file is in.

Plain text is not among them: it is translated line by line, without being read whole. A format is imported when a
file needs it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from service.documents.units import Cutting
    from service.text.document import Document

TEXT: Final = "text"
"""The format of everything that is not known: lines of plain text."""


class DocumentFile(Protocol):
    """A file taken apart."""

    @property
    def documents(self) -> "Sequence[Document]":
        """What is translated of it, in order."""

    def put_together(self, targets: Sequence[str]) -> bytes:
        """Returns the file with the translations of its documents, in their order; unchanged ones change no byte."""


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A format by its name and the suffixes of its files.

    is_text: whether it is made of characters, so that a terminal can show it. read: takes a file apart, given how to
    cut and the code of the target language; raises InvalidDocumentError.
    """

    name: str
    suffixes: tuple[str, ...]
    read: "Callable[[bytes, Cutting, str], DocumentFile]"
    is_text: bool


def format_of(name: str) -> str:
    """Returns the name of the format that a file's suffix stands for; "text" for every suffix that is not known."""
    return _BY_SUFFIX.get(PurePath(name).suffix.lower(), TEXT)


def unsupported_kind(name: str) -> str | None:
    """Returns what files of this suffix are, if they are known not to be text and cannot be translated."""
    return _UNSUPPORTED.get(PurePath(name).suffix.lower())


def _markdown(content: bytes, cutting: "Cutting", _: str) -> DocumentFile:
    from service.documents.markdown import MarkdownFile

    return MarkdownFile(content, cutting)


def _html(content: bytes, cutting: "Cutting", _: str) -> DocumentFile:
    from service.documents.html_page import HtmlFile

    return HtmlFile(content, cutting)


def _srt(content: bytes, cutting: "Cutting", target: str) -> DocumentFile:
    from service.documents.subtitles import SubtitleFile

    return SubtitleFile.srt(content, cutting, target)


def _vtt(content: bytes, cutting: "Cutting", target: str) -> DocumentFile:
    from service.documents.subtitles import SubtitleFile

    return SubtitleFile.vtt(content, cutting, target)


def _json(content: bytes, cutting: "Cutting", _: str) -> DocumentFile:
    from service.documents.json_strings import JsonFile

    return JsonFile(content, cutting)


def _po(content: bytes, cutting: "Cutting", _: str) -> DocumentFile:
    from service.documents.po_catalogue import PoFile

    return PoFile(content, cutting)


def _xliff(content: bytes, cutting: "Cutting", target: str) -> DocumentFile:
    from service.documents.xliff import XliffFile

    return XliffFile(content, cutting, target)


def _docx(content: bytes, cutting: "Cutting", _: str) -> DocumentFile:
    from service.documents.office import read_office

    return read_office(content, cutting, "docx")


def _pptx(content: bytes, cutting: "Cutting", _: str) -> DocumentFile:
    from service.documents.office import read_office

    return read_office(content, cutting, "pptx")


def _odt(content: bytes, cutting: "Cutting", _: str) -> DocumentFile:
    from service.documents.opendocument import read_opendocument

    return read_opendocument(content, cutting)


def _epub(content: bytes, cutting: "Cutting", _: str) -> DocumentFile:
    from service.documents.epub import read_epub

    return read_epub(content, cutting)


FORMATS: Final[Mapping[str, FileFormat]] = {
    found.name: found
    for found in (
        FileFormat("markdown", (".md", ".markdown"), _markdown, is_text=True),
        FileFormat("html", (".html", ".htm", ".xhtml"), _html, is_text=True),
        FileFormat("srt", (".srt",), _srt, is_text=True),
        FileFormat("vtt", (".vtt",), _vtt, is_text=True),
        FileFormat("json", (".json",), _json, is_text=True),
        FileFormat("po", (".po", ".pot"), _po, is_text=True),
        FileFormat("xliff", (".xliff", ".xlf"), _xliff, is_text=True),
        FileFormat("docx", (".docx", ".docm", ".dotx", ".dotm"), _docx, is_text=False),
        FileFormat("pptx", (".pptx", ".pptm", ".ppsx", ".potx"), _pptx, is_text=False),
        FileFormat("odt", (".odt", ".ott"), _odt, is_text=False),
        FileFormat("epub", (".epub",), _epub, is_text=False),
    )
}
"""Every format but plain text, by name."""

_BY_SUFFIX: Final = {suffix: found.name for found in FORMATS.values() for suffix in found.suffixes}
_UNSUPPORTED: Final = {
    ".doc": "Word documents before 2007",
    ".gz": "compressed files",
    ".ods": "OpenDocument spreadsheets",
    ".odp": "OpenDocument presentations",
    ".pdf": "PDF documents",
    ".ppt": "PowerPoint presentations before 2007",
    ".rtf": "Rich Text documents",
    ".xls": "Excel workbooks",
    ".xlsx": "Excel workbooks",
    ".zip": "compressed files",
}
