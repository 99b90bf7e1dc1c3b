"""Looking for members whose best live hypothesis loops: at few of them in each step, now and then."""

from collections.abc import Iterable

from service.search.history import History
from service.text.repetition import is_runaway, tail_period

# Steps between two looks: one costs some microseconds, and so many tokens at most are in vain.
_STEPS_BETWEEN_LOOKS = 8


class LoopWatch:
    """The slots that are looked at, by the group's step modulo the steps between two looks."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._watched: list[dict[int, int]] = [{} for _ in range(_STEPS_BETWEEN_LOOKS)]

    def add(self, slot: int, honest_repeats: int) -> None:
        """Watches a slot whose first step is the next one; honest_repeats: how often its source repeats something."""
        self._watched[self._history.steps % _STEPS_BETWEEN_LOOKS][slot] = honest_repeats

    def discard(self, slot: int, start: int) -> None:
        """Forgets a slot whose first step was `start`, watched or not."""
        self._watched[start % _STEPS_BETWEEN_LOOKS].pop(slot, None)

    def due(self) -> Iterable[tuple[int, int]]:
        """Returns slots to look at after the present step, each with its honest repeats."""
        return self._watched[self._history.steps % _STEPS_BETWEEN_LOOKS].items()

    def loops(self, slot: int, start: int, source_length: int, honest_repeats: int) -> bool:
        """Says whether the best live hypothesis of a slot, whose first step was `start`, loops.

        As long as it is no longer than its source, only its end is looked at, which takes much less time.
        """
        now = self._history.steps
        if now - start > source_length:
            return is_runaway(self._history.tokens(slot, start, now, 0), honest_repeats)
        # What stands twice at least has its last token twice in little more than half of it.
        *others, last = self._history.tokens(slot, now - (now - start) // 2 - 1, now, 0)
        return last in others and tail_period(self._history.tokens(slot, start, now, 0), honest_repeats) > 0
