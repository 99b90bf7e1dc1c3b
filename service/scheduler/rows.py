"""Which cache row each beam lives in after a step. Pure arithmetic.

A beam that continues stays in its parent's row. Only where a parent has several children do the further ones move,
each into the row of a beam that has none, so as few keys and values as possible are copied.
"""

import numpy as np

from service.engine.arrays import IntArray


def assign_rows(rows: IntArray, parents: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Gives the children of n sequences their rows.

    rows: (n, K) int64, the row of each parent. parents: (n, K) int64, the parent of each child. Returns new rows
    (n, K), and sources and targets (m,) of the rows to copy; no row is both.
    """
    count, width = rows.shape
    index = np.arange(count)[:, None]
    has_child = np.zeros((count, width), np.bool_)
    has_child[index, parents] = True
    # A child stays if none before it has the same parent.
    like_earlier = (parents[:, :, None] == parents[:, None, :]) & np.tri(width, k=-1, dtype=np.bool_)
    moves = like_earlier.any(axis=2)
    new_rows = rows[index, parents]
    # Per sequence there are as many childless parents as children that move, and both come out in the same order.
    movers, vacant = np.nonzero(moves), np.nonzero(~has_child)
    sources, targets = new_rows[movers], rows[vacant]
    new_rows[movers] = targets
    return new_rows, sources, targets
