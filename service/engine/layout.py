"""Which row asks which source, as the decoder graph wants to know it."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from service.engine.arrays import BoolArray, IntArray

# A source with one query would be multiplied by another kernel than a source with several, and their last digits
# differ: then the width of a beam would show in the scores of another. So there are always at least two.
_MIN_QUERIES = 2


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Inputs of one step over R rows, G solo sources (one row each) and S shared ones.

    solo_rows: (max(G, 1),) int64, the row of each solo source; row 0 stands in where there is none. grid: (S, K) int64,
    the row behind each query cell of a shared source. cell: (R,) int64, where each row's answer lies among the solo
    sources' and then the cells'.
    """

    solo_rows: IntArray
    grid: IntArray
    cell: IntArray


def lay_out(memories: IntArray, solo: BoolArray, num_shared: int) -> Layout:
    """Lays rows out; memories (R,) int64 and solo (R,) bool say which memory, of which kind, each row looks at."""
    own, others = np.flatnonzero(solo), np.flatnonzero(~solo)
    solo_rows = np.zeros(max(len(own), 1), np.int64)
    solo_rows[memories[own]] = own
    grid, cells = grid_of(memories[others], num_shared)
    cell = np.empty(len(memories), np.int64)
    cell[own] = memories[own]
    cell[others] = len(solo_rows) + cells
    # Without shared rows the grid has no cells, and nothing to look up either.
    return Layout(solo_rows, others[grid] if len(others) else grid, cell)


def grid_of(memories: IntArray, num_memories: int) -> tuple[IntArray, IntArray]:
    """Lays R rows out by the memory they look at.

    memories: (R,) int64. Returns grid (S, K) int64, the row behind each query cell (row 0 where there is none), and
    cell (R,) int64, the flat cell of each row; K is the largest number of rows that share a memory, at least 2.
    """
    num_rows = len(memories)
    counts: npt.NDArray[np.int64] = np.bincount(memories, minlength=num_memories)
    width = int(counts.max(initial=_MIN_QUERIES))
    order = np.argsort(memories, kind="stable")
    starts = np.cumsum(counts) - counts
    cell = np.empty(num_rows, np.int64)
    cell[order] = memories[order] * width + np.arange(num_rows) - starts[memories[order]]
    grid = np.zeros(num_memories * width, np.int64)
    grid[cell] = np.arange(num_rows)
    return grid.reshape(num_memories, width), cell
