"""Emits the search for a row's best ids, in two levels: the best blocks of ids, then the best ids in those.

To find the k largest of all ids one by one takes a heap several times as long as the softmax; the largest of a block is
found in whole vectors. The answer is the same, ties included. Ids rank by value, equal ones by lower id; blocks, which
are runs of ids, by their largest value, equal ones by lower place. An id outside the k best blocks ranks behind the
best id of each of those: that one is larger, or equal and in an earlier run. So it is none of the k best ids.
"""

from math import isqrt

import numpy as np

from export.graph.builder import GraphBuilder

# Of shorter blocks the largest values take longer to find; longer ones leave more candidates to choose from.
_BLOCK_SIZE = 64


def add_best_ids(builder: GraphBuilder, values: str, count: int, k: str, names: tuple[str, str]) -> None:
    """Gives the k best of each row of `values` [R, count], float32 [R, k], and their ids, int64 [R, k], these `names`.

    k: int64 [1], from 1 to `count`. What is NaN ranks anywhere.
    """
    size = _block_size(count)
    num_blocks = -(-count // size)
    if (missing := num_blocks * size - count) > 0:
        # Behind all ids, so that even where all values are minus infinity these are chosen last.
        nothing = builder.weight("nothing", np.float32(-np.inf))
        values = builder.node("Pad", [values, builder.integers(0, 0, 0, missing), nothing], "whole_blocks")
    by_block = builder.node("Reshape", [values, builder.integers(-1, num_blocks, size)], "by_block")
    blocks = _best_blocks(builder, by_block, k)
    where = builder.node("Unsqueeze", [blocks, builder.integers(2)], "where")
    candidates = builder.node("GatherND", [by_block, where], "candidates", batch_dims=1)
    candidates = builder.node("Reshape", [candidates, builder.integers(0, -1)], "candidates")
    _, places = builder.nodes("TopK", [candidates, k], [names[0], builder.fresh("places")], "top", axis=-1, largest=1)
    length = builder.integers(size)
    block = builder.node("GatherElements", [blocks, builder.node("Div", [places, length], "turn")], "block", axis=1)
    first = builder.node("Mul", [block, length], "first_id")
    builder.nodes("Add", [first, builder.node("Mod", [places, length], "offset")], [names[1]], "top_ids")


def _block_size(count: int) -> int:
    """The size nearest to the best of those that divide `count`, if any: filling the last block copies all values."""
    best = min(_BLOCK_SIZE, isqrt(count))
    fitting = (size for size in range(best // 2 + 1, 2 * best) if count % size == 0)
    return min(fitting, key=lambda size: abs(size - best), default=best)


def _best_blocks(builder: GraphBuilder, by_block: str, k: str) -> str:
    """The k blocks of each row with the largest maxima, all if there are fewer, in order of their place.

    In that order, equal candidates stand in order of their ids, which is how the last search ranks them.
    """
    largest = builder.node("ReduceMax", [by_block, builder.integers(2)], "largest", keepdims=0)
    # The smaller of k and the number of blocks, as a shape: a GPU would have to be waited for to tell a minimum.
    some = builder.node("Slice", [largest, builder.integers(0), k, builder.integers(1)], "some")
    wanted = builder.node("Shape", [some], "wanted", start=1)
    _, blocks = builder.nodes("TopK", [largest, wanted], 2, "best_blocks", axis=-1, largest=1)
    return builder.nodes("TopK", [blocks, wanted], 2, "blocks", axis=-1, largest=0)[0]
