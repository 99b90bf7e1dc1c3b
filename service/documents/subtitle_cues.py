"""Where the cues of SubRip (SRT) and WebVTT files stand: their times, and the lines of their text.

Numbers, names, settings, notes, styles and regions are what lies between; nobody needs to understand them. Which lines
belong together is for `subtitle_groups`.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from service.errors import InvalidDocumentError
from service.text.document import Span

_LINE: Final = re.compile(r"[^\r\n]*+")
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_TIME: Final = r"(?:([0-9]{1,4}):)?([0-9]{1,2}):([0-9]{1,2})[.,]([0-9]{1,3})"
_TIMING: Final = re.compile(rf"[ \t]*+{_TIME}[ \t]*+-->[ \t]*+{_TIME}(?![0-9])")
_NUMBER: Final = re.compile(r"\s*+[0-9]++\s*+")
_VTT: Final = re.compile(r"WEBVTT(?![^ \t\r\n])")
_OTHER_BLOCK: Final = re.compile(r"(?:NOTE|STYLE|REGION)(?![^ \t])")


@dataclass(frozen=True, slots=True)
class Cue:
    """A stretch of time in milliseconds, and where the lines shown in it stand, without line ends; none is blank."""

    start: int
    end: int
    lines: tuple[Span, ...]


def read_srt(text: str) -> list[Cue]:
    """Returns the cues of a SubRip file, in order; raises InvalidDocumentError if it has text but no cue.

    A cue goes on until the number or the times of the next one, blank lines inside included, as players read it.
    """
    lines = list(_lines(text))
    timings = [(index, found) for index, line in enumerate(lines) if (found := _timing(text, line))]
    if not timings and text.strip():
        raise InvalidDocumentError("not a SubRip file: no line has times")
    cues = []
    for number, (index, found) in enumerate(timings, 1):
        end = timings[number][0] if number < len(timings) else len(lines)
        own = lines[index + 1 : end]
        if end < len(lines) and own and _NUMBER.fullmatch(text, own[-1].start, own[-1].end):
            own.pop()
        cues.append(_cue(text, found, own))
    return cues


def read_vtt(text: str) -> list[Cue]:
    """Returns the cues of a WebVTT file, in order; raises InvalidDocumentError if it does not begin like one."""
    if not _VTT.match(text):
        raise InvalidDocumentError("not a WebVTT file: it does not begin with WEBVTT")
    cues = []
    for block in _blocks(text, list(_lines(text))[1:]):
        if _OTHER_BLOCK.match(text, block[0].start, block[0].end):
            continue
        for index, line in enumerate(block[:2]):
            if found := _timing(text, line):
                cues.append(_cue(text, found, block[index + 1 :]))
                break
    return cues


def _lines(text: str) -> Iterator[Span]:
    start = 0
    while start < len(text):
        line = _LINE.match(text, start)
        assert line, "the pattern matches the empty text too"
        yield Span(*line.span())
        ending = _LINE_END.match(text, line.end())
        start = ending.end() if ending else len(text)


def _blocks(text: str, lines: Sequence[Span]) -> Iterator[list[Span]]:
    """Gives runs of lines that are not empty; a line of white space only is none that ends a block."""
    block: list[Span] = []
    for line in lines:
        if line.start < line.end:
            block.append(line)
        elif block:
            yield block
            block = []
    if block:
        yield block


def _timing(text: str, line: Span) -> re.Match[str] | None:
    return _TIMING.match(text, line.start, line.end)


def _cue(text: str, timing: re.Match[str], lines: Sequence[Span]) -> Cue:
    parts = timing.groups()
    shown = tuple(line for line in lines if text[line.start : line.end].strip())
    return Cue(_milliseconds(parts[:4]), _milliseconds(parts[4:]), shown)


def _milliseconds(parts: Sequence[str | None]) -> int:
    hours, minutes, seconds, fraction = (part or "0" for part in parts)
    return ((int(hours) * 60 + int(minutes)) * 60 + int(seconds)) * 1000 + int(fraction.ljust(3, "0"))
