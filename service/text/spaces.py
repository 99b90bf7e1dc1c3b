"""Which characters are white space and which end a line, for every module that takes text apart.

Wider than `str.isspace`: characters without width that only say where words may break count as white space too, so
that none of them opens or closes a segment.
"""

import re
import unicodedata
from typing import Final

LINE_BREAKS: Final = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")
"""A run of line breaks of any kind; CR LF is never taken apart."""

LINE_OR_COLUMN_BREAKS: Final = re.compile(f"{LINE_BREAKS.pattern}|\t+| {{3,}}")
"""A run of line breaks, or white space wide enough to part columns of a table: tabs, three spaces or more."""

SOFT_LINE_BREAK: Final = re.compile("\r\n|[\n\r\x85\u2028]")
"""One line break of a kind that wrapped lines end with; the others end pages, records or paragraphs."""

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
UNSPACED: Final = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""For a class of a pattern: letters of scripts without spaces between words: Thai to Burmese, Khmer, kana, Han."""

_ANY_BREAK: Final = re.compile("\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_SPACE_FOR_BREAK: Final = dict.fromkeys(map(ord, "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"), " ")
_ODD_WHITE_SPACE: Final = re.compile(f"[{WHITE_SPACE.replace(' ', '')}]")
_WHITE_RUNS: Final = re.compile(f"[{WHITE_SPACE}]+")


def is_one_line(text: str) -> bool:
    """Say, of most lines, that no line and no column breaks in them; other lines may still be one."""
    return text.isprintable() and "   " not in text


def trim(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the offsets of text[start:end] without the white space at either side (start == end when all is)."""
    stripped_end = start + len(text[start:end].rstrip(WHITE_SPACE))
    return skip_white_space(text, start, stripped_end), stripped_end


def skip_white_space(text: str, start: int, end: int) -> int:
    """Return where the white space that text[start:end] begins with ends, marks that combine with it included."""
    position = start
    while (behind := _white_end(text, position, end)) > position:
        position = behind
        while position < end and unicodedata.category(text[position])[0] == "M":
            position += 1
    return position


def joined_lines(text: str, between: str) -> str:
    """Return a text with its wrapped lines joined: a line break and the white space around it become `between`."""
    return _WHITE_RUNS.sub(lambda run: between if SOFT_LINE_BREAK.search(run[0]) else run[0], text)


def around_line_breaks(text: str) -> list[str]:
    """Return a text in pieces, by turns without and with a line break; a break takes the white space around it along.

    The first and the last piece are without one, and may be empty.
    """
    pieces: list[str] = []
    end = 0
    for run in _WHITE_RUNS.finditer(text):
        if SOFT_LINE_BREAK.search(run[0]):
            pieces += [text[end : run.start()], run[0]]
            end = run.end()
    return [*pieces, text[end:]]


def without_line_breaks(text: str) -> str:
    """Return a text of the same length with a space for each character of a line break."""
    return text if text.isprintable() else text.translate(_SPACE_FOR_BREAK)


def is_one_line_break(text: str) -> bool:
    """Say whether a text is white space with exactly one line break, of a kind that wrapped lines end with."""
    return not text.strip(WHITE_SPACE) and len(SOFT_LINE_BREAK.findall(text)) == 1 == len(_ANY_BREAK.findall(text))


def has_odd_white_space(text: str) -> bool:
    """Say whether there is other white space in a text than single spaces."""
    # Of all white space only the space itself is printable.
    return "  " in text or (not text.isprintable() and _ODD_WHITE_SPACE.search(text) is not None)


def with_single_spaces(text: str) -> str:
    """Return a text with one space for every run of white space."""
    return _WHITE_RUNS.sub(" ", text)


def _white_end(text: str, start: int, end: int) -> int:
    run = _WHITE_RUN.match(text, start, end)
    return run.end() if run else start
