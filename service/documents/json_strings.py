"""JSON: the strings that are values, rewritten where they stand; keys, numbers, order and layout stay as they are.

Each string is a text of its own. Strings with code points that no text can hold (lone surrogates) are left alone.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from service.documents.plain import read_plain
from service.documents.splicing import replacing, spliced
from service.documents.units import Cutting
from service.errors import InvalidDocumentError
from service.text.document import Document, Segment
from service.text.segmentation import segment

_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_IS_KEY: Final = re.compile(r"[ \t\r\n]*+:")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class _Value:
    start: int
    end: int
    text: str
    document: Document


class JsonFile:
    """A JSON text in UTF-8; one document for each string with something to translate."""

    def __init__(self, content: bytes, cutting: Cutting) -> None:
        """Raises InvalidDocumentError if it is not JSON."""
        self._plain = read_plain(content)
        _check(self._plain.text)
        self._is_ascii = self._plain.text.isascii() and "\\u" in self._plain.text
        self._values = [*_values(self._plain.text, cutting)]
        self.documents = tuple(value.document for value in self._values)

    def put_together(self, targets: Sequence[str]) -> bytes:
        """Returns the file with the translations of its documents, in their order."""
        changed = [
            replacing(value.start, value.end, json.dumps(target, ensure_ascii=self._is_ascii))
            for value, target in zip(self._values, targets, strict=True)
            if target != value.text
        ]
        return self._plain.encoded(spliced(self._plain.text, changed))


def _check(text: str) -> None:
    try:
        json.loads(text, parse_int=str, parse_float=str)
    except json.JSONDecodeError as error:
        raise InvalidDocumentError(f"not JSON: line {error.lineno}, column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise InvalidDocumentError("JSON that is nested too deeply") from None


def _values(text: str, cutting: Cutting) -> Iterator[_Value]:
    # In valid JSON a quotation mark outside a string begins one.
    for found in _STRING.finditer(text):
        if _IS_KEY.match(text, found.end()):
            continue
        value: str = json.loads(found[0])
        if _SURROGATE.search(value):
            continue
        document = segment(value, cutting.language, cutting.options)
        if any(isinstance(part, Segment) for part in document.parts):
            yield _Value(*found.span(), value, document)
