"""Markdown: runs of text rewritten where they stand; code, formulas, front matter, addresses and structure stay.

A run that changes is written on one line (its soft line breaks are spaces then); one that does not stays byte for byte.
Blocks of HTML are taken apart as HTML.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from service.documents.markdown_events import markdown_events
from service.documents.markdown_inlines import HtmlStretch, MarkdownMark, Run, bounds, inlines, stretches
from service.documents.markdown_writing import write_run
from service.documents.plain import read_plain
from service.documents.splicing import replacing, spliced
from service.documents.units import Cutting, Unit
from service.text.document import Document, Segment
from service.text.markup.html import parse_html
from service.text.segmentation import UNSPACED_LANGUAGES

_LINE_BREAK: Final = re.compile(r"[\n\r]+")


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Bytes start to end; a unit for a run in a kind of block, else a document of HTML."""

    start: int
    end: int
    block: str
    document: Document
    unit: Unit[MarkdownMark] | None = None


class MarkdownFile:
    """Markdown in UTF-8; one document for each run of text and each block of HTML."""

    def __init__(self, content: bytes, cutting: Cutting) -> None:
        """Any text is Markdown; raises InvalidDocumentError if it is not UTF-8."""
        self._plain = read_plain(content)
        self._data = self._plain.text.encode("utf-8")
        self._stretches = [stretch for stretch in self._read(cutting) if _has_segments(stretch.document)]
        self.documents = tuple(stretch.document for stretch in self._stretches)

    def put_together(self, targets: Sequence[str]) -> bytes:
        """Returns the file with the translations of its documents, in their order."""
        splices = [
            replacing(stretch.start, stretch.end, written)
            for stretch, target in zip(self._stretches, targets, strict=True)
            if (written := _written(stretch, target)) is not None
        ]
        return self._plain.mark.encode("utf-8") + spliced(self._data, splices)

    def _read(self, cutting: Cutting) -> Iterator[_Stretch]:
        between_lines = "" if cutting.language in UNSPACED_LANGUAGES else " "
        for found in stretches(markdown_events(self._plain.text)):
            if isinstance(found, HtmlStretch):
                text = self._data[found.start : found.end].decode("utf-8")
                yield _Stretch(found.start, found.end, "", _html(text, cutting))
                continue
            start, end = bounds(self._data, found)
            unit = Unit(inlines(self._data, found, between_lines), cutting)
            yield _Stretch(start, end, self._kind(found, start), unit.document, unit)

    def _kind(self, run: Run, start: int) -> str:
        """Returns the kind of a run's block; a heading that is underlined is a paragraph to those who write it."""
        line = self._data[self._data.rfind(b"\n", max(0, start - 1000), start) + 1 : start]
        return "Paragraph" if run.block == "Heading" and b"#" not in line else run.block


def _html(text: str, cutting: Cutting) -> Document:
    """Takes a block of HTML apart; a line break of a target's own could end the block."""
    document = parse_html(text, cutting.language, cutting.options)
    return Document(document.parts, lambda target: document.escape(_LINE_BREAK.sub(" ", target)))


def _has_segments(document: Document) -> bool:
    return any(isinstance(part, Segment) for part in document.parts)


def _written(stretch: _Stretch, target: str) -> bytes | None:
    """Returns what is written in place of a stretch; None where it stays."""
    if stretch.unit is None:
        return target.encode("utf-8")
    items = stretch.unit.read(target)
    return None if items is None else write_run(items, stretch.block).encode("utf-8")
