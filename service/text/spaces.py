"""Which characters are white space and which end a line, for every module that takes text apart.

Wider than `str.isspace`: characters without width that only say where words may break count as white space too, so
that none of them opens or closes a segment.
"""

import re
from typing import Final

LINE_BREAKS: Final = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")
"""A run of line breaks of any kind; CR LF is never taken apart."""

ZERO_WIDTH_SPACE: Final = "\u200b"

NO_BREAK_SPACES: Final = "\xa0\u2007\u202f\u2060\ufeff"
"""White space at which words should stay together; the last two are word joiner and byte order mark."""

BREAKING_SPACES: Final = (
    "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\u1680"
    "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2008\u2009\u200a"
    "\u2028\u2029\u205f\u3000" + ZERO_WIDTH_SPACE
)

WHITE_SPACE: Final = BREAKING_SPACES + NO_BREAK_SPACES
"""Every white space character, to be given to `str.strip` and its kin."""

_WHITE_RUN: Final = re.compile(f"[{WHITE_SPACE}]*")


def trim(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the offsets of text[start:end] without the white space at either side (start == end when all is)."""
    stripped_end = start + len(text[start:end].rstrip(WHITE_SPACE))
    return skip_white_space(text, start, stripped_end), stripped_end


def skip_white_space(text: str, start: int, end: int) -> int:
    """Return where the white space that text[start:end] begins with ends."""
    run = _WHITE_RUN.match(text, start, end)
    return run.end() if run else start
