"""Numbers of a group's members in its arrays: each keeps its own while it stays, and the lowest free one goes first."""

from bisect import bisect_left, insort
from heapq import heappop, heappush

import numpy as np

from service.search.rules import IntArray


class Slots:
    """Slots in use.

    taken: ascending. at: indexes them in an array by slot, (n,) int64 or, where no lower slot is free, a slice, which
    is much cheaper.
    """

    def __init__(self) -> None:
        self.taken: list[int] = []
        self.at: slice | IntArray
        # Those that were in use, as a heap.
        self._free: list[int] = []
        self._changed()

    def take(self) -> int:
        """Takes the lowest free slot."""
        slot = heappop(self._free) if self._free else len(self.taken)
        insort(self.taken, slot)
        self._changed()
        return slot

    def release(self, slot: int) -> None:
        """Frees a slot."""
        self.taken.remove(slot)
        heappush(self._free, slot)
        self._changed()

    def index(self, slot: int) -> int:
        """Returns a slot's place among those in use."""
        return bisect_left(self.taken, slot)

    def _changed(self) -> None:
        count = len(self.taken)
        if not count or self.taken[-1] == count - 1:
            self.at = slice(count)
        else:
            self.at = np.array(self.taken, np.int64)
