"""Texts for requests. No text comes twice in a run, so that nobody can remember an answer.

The held-out file has its short sentences first and its long ones last. Texts are therefore mixed: a system that gets
further than another in the same time must not get to other sentences than it.
"""

import functools
import random
from collections.abc import Sequence

# Texts are told apart by length as finely as this.
_LENGTH_CLASSES = 20
_NAMES = ("Anna", "Peter", "Maria", "Paul", "Laura", "Felix", "Emma", "Jonas", "Clara", "Simon", "Ida", "Max")


def varied(texts: Sequence[str], start: int, count: int) -> list[str]:
    """Returns `count` texts from an endless series, from number `start` on: the texts, then variants of them.

    Each turn has all texts in a fixed order of its own, in which every stretch holds short and long ones alike.
    """
    lengths = tuple(map(len, texts))
    places = (divmod(index, len(texts)) for index in range(start, start + count))
    return [_variant(texts[_mixed(lengths, turn)[place]], turn) for turn, place in places]


def short_texts(texts: Sequence[str], words: int) -> list[str]:
    """Returns those texts that have at most so many words."""
    return [text for text in texts if len(text.split()) <= words]


def document(texts: Sequence[str], words: int, number: int) -> list[str]:
    """Returns the sentences of document `number`, of so many words or a few more."""
    chosen: list[str] = []
    count, place = 0, 0
    while count < words:
        # Variants of their own for each document; 0 would be the texts themselves.
        chosen.append(_variant(texts[place % len(texts)], number * 100 + place // len(texts) + 1))
        count += len(chosen[-1].split())
        place += 1
    return chosen


@functools.lru_cache(maxsize=64)
def _mixed(lengths: tuple[int, ...], turn: int) -> tuple[int, ...]:
    """Returns the places of texts of these lengths in the order of a turn: each class of length is spread evenly."""
    draw = random.Random(turn)
    by_length = sorted(range(len(lengths)), key=lambda place: lengths[place])
    size = -(-len(lengths) // _LENGTH_CLASSES)
    moments: dict[int, float] = {}
    for start in range(0, len(lengths), size):
        members = by_length[start : start + size]
        draw.shuffle(members)
        moments.update((place, (index + draw.random()) / len(members)) for index, place in enumerate(members))
    return tuple(sorted(moments, key=lambda place: moments[place]))


def _variant(text: str, turn: int) -> str:
    """Addresses somebody in front of the final mark, so that a sentence still ends like one; 0 is the text itself."""
    if turn == 0:
        return text
    names = " ".join(_names(turn))
    return f"{text[:-1]}, {names}{text[-1]}" if text.endswith((".", "!", "?")) else f"{text}, {names}"


def _names(turn: int) -> list[str]:
    """Writes a number in names instead of digits."""
    higher, digit = divmod(turn, len(_NAMES))
    return [*(_names(higher) if higher else ()), _NAMES[digit]]
