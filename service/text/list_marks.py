"""What stands before the text of a list item: bullets, numbers, letters, check boxes.

Such marks keep their place in the document and are never given to a model.
"""

import re
from typing import Final

_BULLET: Final = r"[-*+>·•‣⁃◦▪▫●○■□–—]"
_ROMAN: Final = r"(?:X{0,3}(?:IX|IV|VI{0,3}|I{1,3})|X{1,3})"
_NUMBER: Final = (
    rf"\d{{1,3}}(?:\.\d{{1,3}}){{0,5}}[.)]|[A-Za-z][)]|\(\d{{1,3}}\)|\([A-Za-z]\)|(?=[IVX]{{2}}){_ROMAN}\.|{_ROMAN}\)"
)
_CHECK_BOX: Final = r"\[[ xX✓]\]"
_MARKS: Final = re.compile(rf"(?:(?:{_BULLET}|{_NUMBER}|{_CHECK_BOX})[^\S\n]+)+")
_ORDINAL_NOUN: Final = re.compile(
    r"(?:Jan(?:uar|\.)|Jänner|Feb(?:ruar|\.)|März|April|Mai|Jun[io]|Jul[iy]|Aug(?:ust|\.)|Sept?(?:ember|\.)|"
    r"Okt(?:ober|\.)|Nov(?:ember|\.)|Dez(?:ember|\.)|Jahrhundert|Jh\.)(?!\w)"
)


def list_mark_end(line: str, start: int, end: int) -> int:
    """Return where the list marks at the start of line[start:end] end, white space behind them included.

    The result is `start` when there are none, or when a number before a German month or century is an ordinal.
    """
    found = _MARKS.match(line, start, end)
    if found is None or _ORDINAL_NOUN.match(line, found.end(), end):
        return start
    return found.end()
