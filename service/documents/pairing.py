"""Which tags of a text are halves of one element, where every tag stands for itself and some have no partner."""

from collections import Counter
from collections.abc import Iterable


def nested_pairs(tags: Iterable[tuple[int, str, bool]]) -> list[tuple[int, int]]:
    """Returns the places of first and second halves that belong together; pairs are nested.

    tags: in order, each with its place, its name, and whether it closes. A closing tag takes the last open one of its
    name; tags opened since then have no partner, and neither has a closing tag whose name is not open.
    """
    opened: list[tuple[int, str]] = []
    waiting: Counter[str] = Counter()
    pairs: list[tuple[int, int]] = []
    for place, name, closes in tags:
        if not closes:
            opened.append((place, name))
            waiting[name] += 1
        elif waiting[name]:
            while True:
                first, other = opened.pop()
                waiting[other] -= 1
                if other == name:
                    break
            pairs.append((first, place))
    return pairs
