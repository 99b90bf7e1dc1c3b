"""Tokens of markup with source positions, as the tokenizers of both formats give them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class TokenKind(Enum):
    """REFERENCE is to characters. OTHER is what no reader sees: comments and their like. ENTITY stands for text that is
    not known here. CDATA is a whole section of it. REST is structure without a name, or broken beyond use.
    """

    TEXT = "text"
    REFERENCE = "reference"
    START = "start"
    END = "end"
    OTHER = "other"
    ENTITY = "entity"
    CDATA = "cdata"
    REST = "rest"


@dataclass(frozen=True, slots=True)
class Token:
    """Code points start to end of a text.

    name: of a tag; of HTML in lower case. text: of a reference, decoded. attributes: of a start tag, decoded; the first
    of each name. is_empty: whether a tag of HTML ends with a slash. In XML an empty element is a start and an end of no
    length.
    """

    kind: TokenKind
    start: int
    end: int
    name: str = ""
    text: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)
    is_empty: bool = False
