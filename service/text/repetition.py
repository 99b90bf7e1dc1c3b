"""Loops: a target that says something again and again, more often than its source does.

Pure functions on token ids (targets) and text (sources), for the search, which stops at a loop, and for whoever tries
such a sequence again. A loop is a stretch of tokens, its period, that stands several times in a row with nothing
between. How many copies make one was chosen on 1.4 million human translations, nearly none of which repeat that much
unless their source does. What to do about a loop is left to the callers.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from operator import eq

# Copies that make a loop, by the length of the period in tokens; longer periods need as many as the last.
_COPIES = (0, 6, 4, 4, 4, 3)
_FEWEST_COPIES = min(_COPIES[1:])
# A target may repeat this many times as often as its source: its tokens may be finer than what is counted there.
_TOLERANCE = 2
_LONGEST_PERIOD = 128
# A ban of fewer tokens forbids what sentences repeat honestly ("in der", "of the").
_SMALLEST_BAN = 3

# Three copies or more of letters, syllables, digits, unspaced phrases, marks; spaced words are compared as words.
_REPEATED_CHARACTERS = re.compile(r"(\w{1,16}?|\W{1,4}?)\1\1+")
_WORD = re.compile(r"\w+")
_LONGEST_PHRASE = 64


@dataclass(frozen=True, slots=True)
class _Loop:
    """Tokens start to end repeat with a period."""

    start: int
    end: int
    period: int


def source_repeats(text: str) -> int:
    """Returns how often in a row a source repeats some stretch of characters or words; 1 where it does not.

    Case makes no difference, nor does punctuation between words. Twice counts as once: it is nothing unusual.
    """
    # NFKC writes an ellipsis as the three dots it may be translated into.
    folded = unicodedata.normalize("NFKC", text).casefold()
    most = max((len(match[0]) // len(match[1]) for match in _REPEATED_CHARACTERS.finditer(folded)), default=1)
    words = _WORD.findall(folded)
    if _some_stand_often(words):
        for period in range(1, min(len(words) // _FEWEST_COPIES, _LONGEST_PHRASE) + 1):
            runs = bytes(map(eq, words[period:], words)).split(b"\0")
            copies = max(map(len, runs)) // period + 1
            most = max(most, copies if copies >= _FEWEST_COPIES else 1)
    return most


def tail_period(token_ids: Sequence[int], honest_repeats: int) -> int:
    """Returns the period, in tokens, of the loop that a target ends in; 0 if it does not end in one.

    honest_repeats: `source_repeats` of its source.
    """
    backwards = list(reversed(token_ids))
    longest = min(len(backwards) // _FEWEST_COPIES, _LONGEST_PERIOD)
    period = 0
    while period < longest:
        try:
            period = backwards.index(backwards[0], period + 1, longest + 1)
        except ValueError:
            return 0
        equal = period * (_copies(period, honest_repeats) - 1)
        if period + equal <= len(backwards) and backwards[:equal] == backwards[period : period + equal]:
            return period
    return 0


def is_runaway(token_ids: Sequence[int], honest_repeats: int) -> bool:
    """Says whether there is a loop anywhere in a target (its end token left out)."""
    return _find_loop(token_ids, honest_repeats) is not None


def retry_ngram_size(token_ids: Sequence[int], honest_repeats: int) -> int:
    """Returns the n-gram ban under which a target cannot loop like this one, but repeat as its source does.

    Under a ban of n-grams, tokens that repeat with period p are at most n + p - 1.
    """
    loop = _find_loop(token_ids, honest_repeats)
    period = 1 if loop is None else loop.period
    return max(_SMALLEST_BAN, period * (honest_repeats - 1) + 1)


def kept_places(token_ids: Sequence[int], honest_repeats: int) -> list[int]:
    """Returns the places, ascending, that are left of a target when every loop is cut to its honest copies."""
    places = list(range(len(token_ids)))
    while (loop := _find_loop([token_ids[place] for place in places], honest_repeats)) is not None:
        del places[loop.start + loop.period * honest_repeats : loop.end]
    return places


def _copies(period: int, honest_repeats: int) -> int:
    """Returns how many copies of a period make a loop."""
    return max(_COPIES[min(period, len(_COPIES) - 1)], _TOLERANCE * honest_repeats + 1)


def _find_loop(token_ids: Sequence[int], honest_repeats: int) -> _Loop | None:
    """Returns the first loop of the shortest period."""
    if not _some_stand_often(token_ids):
        return None
    for period in range(1, min(len(token_ids) // _FEWEST_COPIES, _LONGEST_PERIOD) + 1):
        equal = bytes(map(eq, token_ids[period:], token_ids))
        start = equal.find(b"\1" * (period * (_copies(period, honest_repeats) - 1)))
        if start >= 0:
            end = equal.find(b"\0", start)
            return _Loop(start, (len(equal) if end < 0 else end) + period, period)
    return None


def _some_stand_often(items: Sequence[int] | Sequence[str]) -> bool:
    """Says whether anything can be repeated in a row often enough to matter: some item stands so often at all."""
    # Counting takes longer than seeing that hardly anything stands twice.
    if len(items) - len(set(items)) < _FEWEST_COPIES - 1:
        return False
    return max(Counter[int | str](items).values(), default=0) >= _FEWEST_COPIES
