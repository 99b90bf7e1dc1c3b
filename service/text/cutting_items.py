"""Cutting the items of a segment that is too long for a model, never inside a placeholder.

Pairs are kept together with what stands between them as long as that fits; a pair around more than fits stays where it
is, and what is inside it is cut. Where text is cut is decided by `cutting`, for which a placeholder is one character.
"""

import re
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Final

from service.text.cutting import cut
from service.text.document import Item, Placeholder
from service.text.segmentation import has_letters

Items = tuple[Item, ...]

# What stands for a group while text is cut: a letter of its own where there is something to translate inside, else a
# code point that is no letter. Both kinds have more members than a run has groups.
_LETTERS: Final = range(0x20000, 0x2A6E0)
_MARKS: Final = range(0xF0000, 0xFFFFE)
_STAND_IN: Final = re.compile("[\U00020000-\U0002a6df\U000f0000-\U000ffffd]")
_LONGEST_RUN: Final = 10_000


def cut_items(items: Items, fits: Callable[[Items], bool]) -> tuple[Items, ...]:
    """Cut items into pieces that fit; joined, the pieces are the items, though strings among them may be cut.

    fits: says whether a model can hold items; see `cutting.cut`.

    A piece without a letter outside placeholders stays as it is, however long. Raises UntranslatableError for a letter
    that does not fit alone.
    """
    if fits(items):
        return (items,)
    pieces: list[Items] = []
    run: list[Items] = []
    for group, stays in _groups(items, fits):
        if stays or len(run) == _LONGEST_RUN:
            pieces += _cut_run(run, fits)
            run = []
        if stays:
            pieces.append(group)
        else:
            run.append(group)
    return (*pieces, *_cut_run(run, fits))


def _groups(items: Items, fits: Callable[[Items], bool]) -> list[tuple[Items, bool]]:
    """Give strings, atoms, pairs with all inside them, and halves of pairs that do not fit; and whether they stay put.

    A pair is not asked about when its text is that of the one around it, so that depth costs nothing.
    """
    closing = _closing_halves(items)
    lengths = [0, *accumulate(len(item) if isinstance(item, str) else 0 for item in items)]
    groups: list[tuple[Items, bool]] = []
    staying: set[int] = set()
    unfit = -1
    index = 0
    while index < len(items):
        end = closing.get(index, index) + 1
        length = lengths[end] - lengths[index]
        if index in closing and (length == unfit or not fits(items[index:end])):
            unfit = length
            staying |= {index, end - 1}
            end = index + 1
        groups.append((items[index:end], index in staying))
        index = end
    return groups


def _closing_halves(items: Sequence[Item]) -> dict[int, int]:
    """Return the place of the second half for the place of each first half."""
    opened: list[int] = []
    closing: dict[int, int] = {}
    for index, item in enumerate(items):
        if isinstance(item, Placeholder) and item.kind == "open":
            opened.append(index)
        elif isinstance(item, Placeholder) and item.kind == "close":
            closing[opened.pop()] = index
    return closing


def _cut_run(groups: Sequence[Items], fits: Callable[[Items], bool]) -> list[Items]:
    """Cut groups that each may be part of a piece; a group that is a pair or an atom is not cut."""
    written, behind = _written(groups)

    def expanded(text: str) -> Items:
        items: list[Item] = []
        end = 0
        for found in _STAND_IN.finditer(text) if behind else ():
            if found[0] in behind:
                items += [text[end : found.start()], *behind[found[0]]]
                end = found.end()
        return tuple(item for item in (*items, text[end:]) if item)

    return [expanded(part.text) for part in cut(written, lambda text: fits(expanded(text)))]


def _written(groups: Sequence[Items]) -> tuple[str, dict[str, Items]]:
    """Write groups as text, with one character for each that is no string; and say what that stands for."""
    taken = {char for group in groups if isinstance(group[0], str) for char in _STAND_IN.findall(group[0])}
    letters, marks = (filter(lambda char: char not in taken, map(chr, codes)) for codes in (_LETTERS, _MARKS))
    behind: dict[str, Items] = {}
    pieces: list[str] = []
    for group in groups:
        if isinstance(group[0], str):
            pieces.append(group[0])
        else:
            stand_in = next(letters if has_letters(group) else marks)
            behind[stand_in] = group
            pieces.append(stand_in)
    return "".join(pieces), behind
