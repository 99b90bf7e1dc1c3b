"""Which cache row each beam lives in after a step, and what must be copied for that. Pure arithmetic.

A beam that continues stays in its parent's row. Only where a parent has several children do the further ones move,
each into the row of a beam that has none. Beams of one source differ in their last few tokens only, so a beam that
moves finds most of what it needs in its new row.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import NamedTuple

from service.engine.arrays import RowCopy


class BeamRows:
    """What the rows of one sequence's K beams have in common."""

    __slots__ = ("_common",)

    def __init__(self, width: int) -> None:
        # Of each two beams, side by side, how many leading positions their rows are known to hold alike.
        self._common = (0,) * (width * width)

    def follow(self, rows: Sequence[int], parents: Sequence[int], length: int) -> tuple[list[int], list[RowCopy]]:
        """Gives the children of beams their rows.

        rows: the row of each beam, of which `length` positions are cached. parents: the beam each child continues.
        Returns the row of each child, and what to copy for them; no row is both read and written.
        """
        order, moves, inherited = _rearranged(tuple(parents))
        common = self._common
        copies = [RowCopy(rows[parent], rows[place], common[pair], length) for parent, place, pair in moves]
        self._common = inherited((*common, length))
        return [rows[place] for place in order], copies


class _Rearrangement(NamedTuple):
    """What a choice of parents means, whatever the rows.

    order: the place among rows that each child gets. moves: for those that leave their parent's, the parent, the new
    place, and where these two stand among pairs of beams. inherited: takes what pairs of parents have in common, then
    what children of one parent have, and gives what pairs of children have.
    """

    order: tuple[int, ...]
    moves: tuple[tuple[int, int, int], ...]
    inherited: Callable[[tuple[int, ...]], tuple[int, ...]]


@lru_cache(maxsize=4096)
def _rearranged(parents: tuple[int, ...]) -> _Rearrangement:
    width = len(parents)
    vacant = iter([place for place in range(width) if place not in parents])
    order: list[int] = []
    moves: list[tuple[int, int, int]] = []
    for parent in parents:
        # There are as many childless parents as children that come after another of the same parent.
        place = next(vacant) if parent in order else parent
        if place != parent:
            moves.append((parent, place, parent * width + place))
        order.append(place)
    pairs = [width * width if one == other else one * width + other for one in parents for other in parents]
    return _Rearrangement(tuple(order), tuple(moves), itemgetter(*pairs))
