"""What a stretch of markup is to the text around it: the common form of HTML, XML and ready-made items.

Readers of a format make pieces; `runs` makes segments of them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from service.text.document import Segment
from service.text.spaces import skip_white_space

_SPACES: Final = "\t\n\v\f\r\x1c\x1d\x1e\x85\u2028\u2029 "
_LINE_BREAKS: Final = "\n\r\v\f\x1c-\x1e\x85\u2028\u2029"
_WIDE_SPACE: Final = re.compile(f"[{_SPACES}]{{2,}}|[{_LINE_BREAKS}]")
_TO_SPACE: Final = dict.fromkeys(map(ord, _SPACES), " ")


class PieceKind(Enum):
    """TEXT is for the model. MARK stands between words and is no part of the sentence, WORD is one; both are atoms.
    OPEN and CLOSE are two halves. CUT is structure: no sentence goes on behind it.
    """

    TEXT = "text"
    MARK = "mark"
    WORD = "word"
    OPEN = "open"
    CLOSE = "close"
    CUT = "cut"


@dataclass(frozen=True, slots=True)
class Piece:
    """Code points start to end of a source.

    text: what a TEXT says, white space as single ordinary spaces; of the source's own length, it stands there as it is,
        else it cannot be taken apart. Of a WORD, what a reader sees. pair: joins the halves of a pair. breaks: a TEXT
        that is white space with a line break. values: segments inside a piece of another kind.
    """

    kind: PieceKind
    start: int
    end: int
    text: str = ""
    pair: int = 0
    breaks: bool = False
    values: tuple[Segment, ...] = ()

    @property
    def is_literal(self) -> bool:
        """Whether each character of the text is one of the source."""
        return len(self.text) == self.end - self.start

    @property
    def is_visible(self) -> bool:
        """Whether there is anything to see but white space."""
        if self.kind is not PieceKind.TEXT:
            return self.kind is PieceKind.WORD
        return skip_white_space(self.text, 0, len(self.text)) < len(self.text)

    def sliced(self, start: int, end: int) -> "Piece":
        """Return the piece of text[start:end]; the text is literal, or the slice all or nothing of it."""
        if start == 0 and end >= len(self.text):
            return self
        if self.is_literal:
            return replace(self, start=self.start + start, end=self.start + end, text=self.text[start:end])
        return replace(self, start=self.end if start else self.start, end=self.end if start else self.start, text="")


def text_pieces(text: str, start: int, end: int, between: str = " ") -> Iterator[Piece]:
    """Give the pieces of a stretch that says what it looks like; runs of white space are pieces of their own.

    between: what a run with a line break is for the model.
    """
    position = start
    for run in _WIDE_SPACE.finditer(text, start, end):
        if run.start() > position:
            yield _literal(text, position, run.start())
        breaks = any(char not in "\t " for char in run[0])
        yield Piece(PieceKind.TEXT, run.start(), run.end(), between if breaks else " ", breaks=breaks)
        position = run.end()
    if position < end:
        yield _literal(text, position, end)


def reference_piece(start: int, end: int, decoded: str) -> Piece:
    """Return the piece of a reference to characters; white space is an ordinary space here as well."""
    breaks = len(decoded) == 1 and decoded in _SPACES and decoded not in "\t "
    return Piece(PieceKind.TEXT, start, end, decoded.translate(_TO_SPACE), breaks=breaks)


def _literal(text: str, start: int, end: int) -> Piece:
    return Piece(PieceKind.TEXT, start, end, text[start:end].translate(_TO_SPACE))
