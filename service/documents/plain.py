"""What all formats of plain characters share: reading UTF-8, and keeping the byte order mark."""

from dataclasses import dataclass

from service.errors import InvalidDocumentError

_BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class PlainText:
    """A text and the byte order mark before it, or nothing."""

    mark: str
    text: str

    def encoded(self, text: str) -> bytes:
        """Returns another text as bytes, with the same mark."""
        return (self.mark + text).encode("utf-8")


def read_plain(content: bytes) -> PlainText:
    """Reads UTF-8; raises InvalidDocumentError that says at which byte it stops being that."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidDocumentError(f"not UTF-8 at byte {error.start}") from None
    if text.startswith(_BYTE_ORDER_MARK):
        return PlainText(_BYTE_ORDER_MARK, text[1:])
    return PlainText("", text)
