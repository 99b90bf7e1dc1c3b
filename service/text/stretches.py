"""The contiguous stretch of words with the largest sum of gains: what a pair is put around in a target."""

from collections.abc import Sequence

from service.text.document import Span


def best_stretch(gains: Sequence[float], room: Span, free: Sequence[bool]) -> tuple[Span | None, float]:
    """Return the stretch of free words inside a room with the largest sum, and that sum.

    Where no word is a gain, it is the one with the smallest loss; None, with minus infinity, when none is free.
    """
    best, best_sum = None, float("-inf")
    start, total = room.start, 0.0
    for place in range(room.start, room.end):
        if not free[place]:
            start, total = place + 1, 0.0
            continue
        if total <= 0:
            start, total = place, 0.0
        total += gains[place]
        if total > best_sum:
            best, best_sum = Span(start, place + 1), total
    return best, best_sum


def extended(base: Span, gains: Sequence[float], room: Span, free: Sequence[bool]) -> Span | None:
    """Return a stretch with free words added on both sides as long as their sum is a gain.

    A base without words gets at least one, if there is one free beside it. None when the base is not free.
    """
    if not all(free[base.start : base.end]):
        return None
    end = _reach(range(base.end, room.end), gains, free)
    start = _reach(range(base.start - 1, room.start - 1, -1), gains, free)
    found = Span(base.start - start, base.end + end)
    if found.start == found.end:
        found = Span(found.start - _is_free(found.start - 1, room, free), found.end)
    if found.start == found.end:
        found = Span(found.start, found.end + _is_free(found.end, room, free))
    return found


def _reach(places: range, gains: Sequence[float], free: Sequence[bool]) -> int:
    """Return how many of the places, from the first on, have the largest sum of gains."""
    best, best_sum, total = 0, 0.0, 0.0
    for count, place in enumerate(places, start=1):
        if not free[place]:
            break
        total += gains[place]
        if total > best_sum:
            best, best_sum = count, total
    return best


def _is_free(place: int, room: Span, free: Sequence[bool]) -> bool:
    return room.start <= place < room.end and free[place]
