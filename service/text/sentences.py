"""Where the sentences of one line end: sentencex behind a guard, and two rules that take back cuts it gets wrong.

The only module that knows the splitting library. Lines, white space and list marks belong to `segmentation`, sentences
too long for a model to `cutting`.
"""

import re
from typing import Final

import sentencex

from service.text.spaces import WHITE_SPACE, ZERO_WIDTH_SPACE, trim

# The library slices inside the bytes of a space outside ASCII between a capital and a full stop, and panics.
_ASCII_FOR_SPACE: Final = {
    ord(space): " " for space in WHITE_SPACE if not space.isascii() and (space.isspace() or space == ZERO_WIDTH_SPACE)
}
# German ordinals ("im 16. Jahrhundert") and French abbreviations ("M. Dupont", "art. 3", "av. J.-C.").
_NEVER_ENDS: Final = {
    "de": re.compile(r"(?:^|[\s(„“«»‚–-])\d{1,2}\.$"),
    "fr": re.compile(r"(?:^|[\s(«“’'–-])(?:MM?|[Aa]rt|J)\.$"),
}
_TAIL_LENGTH: Final = 16


def sentence_ends(line: str, language: str) -> list[int]:
    """Return where each sentence of a line ends, white space behind it included; the last end is len(line).

    language: a code as the caller wrote it ("de", "de-AT", "zh_Hans"); unknown ones are cut by the library's general
    rules. A line that the library cannot cut is one sentence.
    """
    primary = language.replace("_", "-").partition("-")[0].lower()
    never_ends = _NEVER_ENDS.get(primary)
    ends: list[int] = []
    start = 0
    goes_on = False
    for piece in _pieces(line, primary):
        end = start + len(piece)
        if goes_on:
            ends.pop()
        ends.append(end)
        _, visible_end = trim(line, start, end)
        tail = line[max(0, visible_end - _TAIL_LENGTH) : visible_end]
        goes_on = never_ends is not None and never_ends.search(tail) is not None
        start = end
    return ends


def _pieces(line: str, language: str) -> list[str]:
    """Cut a line by the library; the pieces have the line's length, their spaces outside ASCII are replaced."""
    guarded = line.translate(_ASCII_FOR_SPACE)
    try:
        pieces: list[str] = sentencex.segment(language, guarded)
    except BaseException as error:
        # A panic of the library is no Exception; what else is none (exit, interrupt, cancelling) goes on.
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":
            return [line]
        raise
    return pieces if "".join(pieces) == guarded else [line]
