"""Keeping dense numbering dense when items leave."""

import numpy as np

from service.engine.arrays import IntArray


def close_gaps(dropped: IntArray, total: int) -> IntArray:
    """Returns (total,) int64, where each of `total` dense items goes when some are dropped: the last fill the gaps.

    -1 marks the dropped ones; an item that does not move keeps its index.
    """
    mapping = np.arange(total)
    mapping[dropped] = -1
    kept = total - len(dropped)
    movers = np.flatnonzero(mapping[kept:] >= 0) + kept
    mapping[movers] = np.flatnonzero(mapping[:kept] < 0)
    return mapping
