"""Web pages (HTML): one document, taken apart and written by `text.markup`."""

from collections.abc import Sequence

from service.documents.plain import read_plain
from service.documents.units import Cutting
from service.text.markup.html import parse_html


class HtmlFile:
    """A page, or a piece of one, in UTF-8."""

    def __init__(self, content: bytes, cutting: Cutting) -> None:
        """Any text is HTML; raises InvalidDocumentError if it is not UTF-8."""
        self._plain = read_plain(content)
        self.documents = (parse_html(self._plain.text, cutting.language, cutting.options),)

    def put_together(self, targets: Sequence[str]) -> bytes:
        """Returns the page with its translation."""
        return self._plain.encoded(targets[0])
