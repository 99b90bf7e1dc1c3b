"""Finding what must not change inside a text: addresses, tokens, ids, emoji, and what a vocabulary cannot express.

Each becomes a placeholder; the rest stays text. What the patterns are is for `patterns` and `emoji`, how placeholders
come back for `weaving`. Numbers stay text: see `digits`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from service.text import emoji, patterns
from service.text.document import Item, Placeholder, Span
from service.text.unknown import unknown_spans
from service.text.words import is_word_character

_TRAILING: Final = ".,;:!?'’*"
_ADDRESS_SIGNS: Final = re.compile(r"[/\\@]|www\.")
_BRACKETS: Final = {")": "(", "]": "[", "}": "{"}
# Between two placeholders, or a placeholder and a word, these make one thing of them: {a}/{b}, %d:%d, file{n}.txt.
_JOINERS: Final = frozenset("/.:_=@\\-&+~")
_WORD_JOINERS: Final = frozenset("/._@\\=")


@dataclass(frozen=True, slots=True)
class _Find:
    """A stretch that must not change; a picture is no word of its sentence."""

    start: int
    end: int
    is_word: bool = True


def protect(text: str, is_known: Callable[[str], bool], never: Sequence[Span] = ()) -> tuple[Item, ...]:
    """Return the text with a placeholder for every stretch that must not change; joined, the items are the text.

    is_known: says whether a vocabulary can express a text. It is asked about the whole text, and only if it says no,
    about words and characters. never: further stretches that must not change, in any order.
    """
    if not never and patterns.PLAIN.fullmatch(text) and is_known(text):
        return (text,) if text else ()
    marked = [_Find(*match.span()) for match in patterns.OWN_CASE.finditer(text)]
    marked += (_Find(max(0, span.start), min(span.end, len(text))) for span in never if span.start < span.end)
    found = _extended(text, _merged([*_code(text), *_patterns(text)]))
    finds = _merged([*marked, *found])
    finds = _merged([*finds, *_unknown(text, finds, is_known)])
    return tuple(_items(text, _closed_up(text, finds)))


def _items(text: str, finds: Iterable[_Find]) -> Iterator[Item]:
    end = 0
    for find in finds:
        if find.start > end:
            yield text[end : find.start]
        end = find.end
        found = text[find.start : end]
        yield Placeholder(found, shown=found if find.is_word else "")
    if end < len(text):
        yield text[end:]


def _patterns(text: str) -> Iterator[_Find]:
    for match in patterns.WORDS.finditer(text):
        start, end = match.span()
        if _ADDRESS_SIGNS.search(text, start, end):
            end = _without_trailing(text, start, end)
        found = text[start:end]
        if not patterns.DATE.fullmatch(found) and not patterns.GROUPED_NUMBER.fullmatch(found):
            yield _Find(start, end)
    for match in patterns.TAGS.finditer(text):
        yield _Find(*match.span(), is_word=patterns.ANGLED_NAME.fullmatch(match[0]) is not None)
    for match in emoji.SEQUENCES.finditer(text):
        yield _Find(*match.span(), is_word=False)


def _without_trailing(text: str, start: int, end: int) -> int:
    """Leave out marks that end a sentence, and brackets that were opened before the stretch."""
    unopened = {
        closing: text.count(closing, start, end) - text.count(opening, start, end)
        for closing, opening in _BRACKETS.items()
    }
    while end > start + 1:
        last = text[end - 1]
        if unopened.get(last, 0) > 0:
            unopened[last] -= 1
        elif last not in _TRAILING:
            break
        end -= 1
    return end


def _code(text: str) -> Iterator[_Find]:
    """Find code spans: what stands between two equally long runs of backticks, neither in the middle of a word."""
    if "`" not in text:
        return
    runs = [match.span() for match in patterns.CODE_MARKS.finditer(text)]
    following: dict[int, list[int]] = {}
    for number in reversed(range(len(runs))):
        start, end = runs[number]
        if not text[end : end + 1].isalnum():
            following.setdefault(end - start, []).append(number)
    number = 0
    while number < len(runs):
        start, end = runs[number]
        closing = following.get(end - start, [])
        while closing and closing[-1] <= number:
            closing.pop()
        number += 1
        if closing and not text[start - 1 : start].isalnum():
            number = closing[-1] + 1
            yield _Find(start, runs[number - 1][1])


def _unknown(text: str, finds: Sequence[_Find], is_known: Callable[[str], bool]) -> Iterator[_Find]:
    starts = [0, *(find.end for find in finds)]
    ends = [*(find.start for find in finds), len(text)]
    for span in unknown_spans(text, map(Span, starts, ends), is_known):
        yield _Find(span.start, span.end, is_word=any(map(str.isalnum, text[span.start : span.end])))


def _merged(finds: Iterable[_Find]) -> list[_Find]:
    """Sort finds and make one of those that overlap; the longer one says whether it is a word."""
    merged: list[_Find] = []
    for find in sorted(finds, key=lambda find: find.start):
        last = merged[-1] if merged else None
        if last is None or find.start >= last.end:
            merged.append(find)
        else:
            longer = max(last, find, key=lambda one: one.end - one.start)
            merged[-1] = _Find(last.start, max(last.end, find.end), longer.is_word)
    return merged


def _closed_up(text: str, finds: Iterable[_Find]) -> list[_Find]:
    """Make one of finds that nothing or a joining sign parts."""
    closed: list[_Find] = []
    for find in finds:
        last = closed[-1] if closed else None
        gap = find.start - last.end if last else 2
        if last is not None and (gap == 0 or (gap == 1 and text[last.end] in _JOINERS)):
            closed[-1] = _Find(last.start, find.end, last.is_word or find.is_word)
        else:
            closed.append(find)
    return closed


def _extended(text: str, finds: Iterable[_Find]) -> Iterator[_Find]:
    """Take in letters and digits that touch a word that must not change, so that no piece of a word is translated."""
    for find in finds:
        if find.is_word:
            yield _Find(find.start - _reach(text, find.start - 1, -1), find.end + _reach(text, find.end, 1))
        else:
            yield find


def _reach(text: str, place: int, step: int) -> int:
    """Return how many characters from a place on belong to a word, signs that join words included."""
    start = place
    while 0 <= place < len(text):
        beyond = text[place + step] if 0 <= place + step < len(text) else ""
        if is_word_character(text[place]):
            place += step
        elif beyond and is_word_character(beyond) and _joins(text, place):
            place += 2 * step
        else:
            break
    return abs(place - start)


def _joins(text: str, place: int) -> bool:
    """Say whether a sign joins words; a full stop before a capital ends a sentence rather."""
    return text[place] in _WORD_JOINERS and not (text[place] == "." and text[place + 1 : place + 2].isupper())
