"""Which lines of subtitles are translated as one text, so that a sentence is not parted where a line or cue ends.

Lines of a cue go together while no sentence ends and no other speaker begins. Cues go together only where it is
certain that a sentence goes on: the first one ends without punctuation, the next begins at once and in small letters.
Everything else is translated cue by cue, which keeps every word in its own time.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from service.documents.subtitle_cues import Cue
from service.text.document import Span

# What may follow the punctuation of a sentence.
_CLOSERS: Final = "\"'”’»)]}* \t\u200e\u200f"
_OPENERS: Final = "\"'“‘«([{*¿¡ \t\u200e\u200f"
_SENTENCE_ENDS: Final = frozenset(".!?…:;♪♫。！？：；—–-~")
_OTHER_VOICE: Final = re.compile(r"\s*+[-–—‐•*#♪♫>\[(]")
_SPEAKER: Final = re.compile(r"\s*+([^\W\d_][^:.!?]{0,30}):(?:\s|\Z)")
_LONGEST_PAUSE_MS: Final = 1500
_MOST_CUES: Final = 4
_MOST_LINES: Final = 12


@dataclass(frozen=True, slots=True)
class Slot:
    """One line of a cue, by the cue's index."""

    cue: int
    line: Span


def groups_of(cues: Sequence[Cue], shown: Callable[[Span], str], is_plain: Callable[[Span], bool]) -> list[list[Slot]]:
    """Returns the lines of all cues in groups, in order.

    shown: what a viewer reads in a line. is_plain: whether it has no markup.
    """
    groups: list[list[Slot]] = []
    for index, cue in enumerate(cues):
        for line in cue.lines:
            slot = Slot(index, line)
            if groups and _goes_on(cues, groups[-1], slot, shown, is_plain):
                groups[-1].append(slot)
            else:
                groups.append([slot])
    return groups


def _goes_on(
    cues: Sequence[Cue],
    group: Sequence[Slot],
    slot: Slot,
    shown: Callable[[Span], str],
    is_plain: Callable[[Span], bool],
) -> bool:
    before, after = shown(group[-1].line), shown(slot.line)
    if _ends_sentence(before) or _begins_anew(after) or len(group) == _MOST_LINES:
        return False
    if group[-1].cue == slot.cue:
        # In SubRip a blank line may stand inside a cue.
        return shown(Span(group[-1].line.end, slot.line.start)) in ("\n", "\r\n", "\r")
    pause = cues[slot.cue].start - cues[group[-1].cue].end
    return (
        slot.cue == group[-1].cue + 1
        and 0 <= pause <= _LONGEST_PAUSE_MS
        and slot.cue - group[0].cue < _MOST_CUES
        and after.lstrip(_OPENERS)[:1].islower()
        and all(is_plain(line) for line in (*(one.line for one in group), *cues[slot.cue].lines))
    )


def _begins_anew(line: str) -> bool:
    speaker = _SPEAKER.match(line)
    return _OTHER_VOICE.match(line) is not None or (speaker is not None and speaker[1].isupper())


def _ends_sentence(line: str) -> bool:
    visible = line.rstrip(_CLOSERS)
    return not visible or visible[-1] in _SENTENCE_ENDS
