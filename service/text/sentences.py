"""Where the sentences of one line end: sentencex behind a guard, and rules that take back cuts it gets wrong.

The only module that knows the splitting library. Lines, white space and list marks belong to `segmentation`, sentences
too long for a model to `cutting`.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

import sentencex

from service.text.document import Span
from service.text.spaces import WHITE_SPACE, ZERO_WIDTH_SPACE, trim

# The library slices inside the bytes of a space outside ASCII between a capital and a full stop, and panics.
_ASCII_FOR_SPACE: Final = {
    ord(space): " " for space in WHITE_SPACE if not space.isascii() and (space.isspace() or space == ZERO_WIDTH_SPACE)
}
# German ordinals ("im 16. Jahrhundert"), French titles, initials and references ("M. Dupont", "art. 3", "J.-J. R.").
_NEVER_ENDS: Final = {
    "de": re.compile(r"(?:^|[\s(„“«»‚–-])\d{1,2}\.$"),
    "fr": re.compile(r"(?:^|[\s(«“’'–-])(?:MM?|Mmes?|Mlles?|Dr|Pr|Mgr|Ste?|[Aa]rt|[Aa]pr?|[Aa]v|J|[A-Z]\.-[ABD-Z])\.$"),
    "es": re.compile(r"(?:^|[\s(«¿¡“-])(?:Dña|[ad])\.$"),
}
_LAST_WORD: Final = re.compile(r"(?<![^\W\d_])([^\W\d_]{1,4})\.$")
_REFERENCE: Final = re.compile(
    r"(?:^|[\s(\[«“„])"
    r"(?:[Nn](?:os?|rs?|um|úms?)?|[Vv]ols?|[Cc]h(?:ap)?|[Ee]qs?|[Ff]igs?|[Aa]rts?|[Pp]{1,2}|[SstTc]|[Cc]ap|[Éé]d|[Tt][ée]l|"
    r"[Ss]ect?|[Aa]pprox|[Cc]a|Abs|Abb|Bd|Kap|Tab|Ziff)\.$"
)
_HYPHENS: Final = "-\u2010\u2011"
_CONTINUING: Final = ",;:"
_TAIL_LENGTH: Final = 16
_LONGEST_STRETCH: Final = 4_000


def sentence_ends(line: str, language: str, whole: Sequence[Span] = ()) -> list[int]:
    """Return where each sentence of a line ends, white space behind it included; the last end is len(line).

    language: a code as the caller wrote it ("de", "de-AT", "zh_Hans"); unknown ones are cut by the library's general
    rules. A line that the library cannot cut is one sentence. whole: stretches, in order, inside which none ends.
    """
    primary = language.replace("_", "-").partition("-")[0].lower()
    never_ends = _NEVER_ENDS.get(primary)
    ends: list[int] = []
    begun = start = passed = 0
    for piece in _pieces(line, primary):
        while passed < len(whole) and whole[passed].end <= start:
            passed += 1
        is_inside = passed < len(whole) and whole[passed].start < start
        if ends and (is_inside or _goes_on(line, Span(begun, start), never_ends)):
            ends.pop()
        begun, start = start, start + len(piece)
        ends.append(start)
    return ends


def _goes_on(line: str, piece: Span, never_ends: re.Pattern[str] | None) -> bool:
    """Say whether the sentence of a piece goes on behind it: its full stop was of an abbreviation, initial or ordinal.

    When in doubt it does: two sentences in one segment are translated well enough, half a sentence is not.
    """
    _, visible_end = trim(line, piece.start, piece.end)
    if line[visible_end - 1 : visible_end] != ".":
        return False
    tail = line[max(0, visible_end - _TAIL_LENGTH) : visible_end]
    if never_ends is not None and never_ends.search(tail):
        return True
    following = line[piece.end : piece.end + 1]
    word = _LAST_WORD.search(tail)
    if word is None:
        return False
    if visible_end == piece.end and (following in _HYPHENS or len(word[1]) == 1):
        return True
    if following.isdigit():
        return _REFERENCE.search(tail) is not None
    return following.islower() or following in _CONTINUING


def _pieces(line: str, language: str) -> Iterator[str]:
    """Give the pieces the library cuts a line into; they have its length, their spaces outside ASCII are replaced.

    The library takes time by the square of a run of quotation marks, so it is given a bounded stretch at a time. The
    last piece of a stretch goes on in the next one.
    """
    start = 0
    while start < len(line):
        end = _end_of_stretch(line, start)
        found = _cut(line[start:end], language)
        for piece in found[:-1] if end < len(line) and len(found) > 1 else found:
            yield piece
            start += len(piece)


def _end_of_stretch(line: str, start: int) -> int:
    """Return where a stretch for the library ends, behind white space if there is any."""
    end = start + _LONGEST_STRETCH
    if end >= len(line):
        return len(line)
    return next((place for place in range(end, start, -1) if line[place - 1] in WHITE_SPACE), end)


def _cut(stretch: str, language: str) -> list[str]:
    guarded = stretch if stretch.isascii() else stretch.translate(_ASCII_FOR_SPACE)
    try:
        pieces: list[str] = sentencex.segment(language, guarded)
    except BaseException as error:
        # A panic of the library is no Exception; what else is none (exit, interrupt, cancelling) goes on.
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":
            return [stretch]
        raise
    return pieces if "".join(pieces) == guarded else [stretch]
