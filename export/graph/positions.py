"""Emits what tells positions apart: rows of a table that are added to embeddings, and what is added to scores.

A position is counted within a token's own sequence, so nothing here depends on who else is there.
"""

import numpy as np

from export.families.spec import Side
from export.graph.builder import GraphBuilder
from export.graph.sublayers import Parts


def add_positions(parts: Parts, value: str, side: Side, position: str) -> str:
    """Embeddings [N, E] plus the rows of their positions, int32 [N]; unchanged where positions are no part of them."""
    builder, table = parts.builder, parts.weights.positions(side)
    if table is None:
        return value
    rows = builder.node("Gather", [builder.weight("positions", table), position], "position")
    return builder.node("Add", [value, rows], "placed")


def positions_without_pads(parts: Parts, token: str, position: str) -> str:
    """Positions int32 [R], with that of the row of zeros for each pad among the tokens int64 [R]."""
    builder, positions = parts.builder, parts.spec.positions
    if positions is None or not positions.zero_at_pad:
        return position
    pad = builder.weight("pad", np.int64(parts.spec.special_ids.pad))
    nowhere = builder.weight("no_position", np.int32(positions.count))
    return builder.node("Where", [builder.node("Equal", [token, pad], "is_pad"), nowhere, position], "place")


def source_bias(parts: Parts, grid: str) -> str:
    """What is added to the scores [1, H, L, L] of sources in a grid [S, L]; empty without relative positions."""
    builder, relative = parts.builder, parts.spec.relative
    if relative is None:
        return ""
    with builder.scope("relative"):
        places = _places(builder, builder.node("Shape", [grid], "length", start=1), np.dtype(np.int64))
        own = builder.node("Unsqueeze", [places, builder.integers(1)], "own_place")
        furthest = np.int64(relative.max_distance)
        limits = [builder.weight("lowest", -furthest), builder.weight("highest", furthest)]
        offsets = builder.node("Clip", [builder.node("Sub", [places, own], "offsets"), *limits], "near_offsets")
        columns = builder.node("Add", [offsets, limits[1]], "columns")
        table = builder.weight("table", parts.weights.relative_bias("encoder"))
        by_head = builder.node("Gather", [table, columns], "by_head", axis=1)
        return builder.node("Unsqueeze", [by_head, builder.integers(0)], "bias")


def step_bias(parts: Parts, position: str, total_length: str) -> str:
    """What is added to the scores [R, H, 1, total_length] of one token per row on all that is cached before it.

    Empty without relative positions. What stands at places a row has not reached is never looked at.
    """
    builder, relative = parts.builder, parts.spec.relative
    if relative is None:
        return ""
    with builder.scope("relative"):
        places = _places(builder, total_length, np.dtype(np.int32))
        own = builder.node("Unsqueeze", [position, builder.integers(1, 2)], "own_place")
        limits = [builder.weight("nearest", np.int32(0)), builder.weight("furthest", np.int32(relative.max_distance))]
        distances = builder.node("Clip", [builder.node("Sub", [own, places], "offsets"), *limits], "distances")
        table = builder.weight("table", parts.weights.relative_bias("decoder"))
        by_head = builder.node("Gather", [table, distances], "by_head", axis=1)
        return builder.node("Transpose", [by_head], "bias", perm=[1, 0, 2, 3])


def _places(builder: GraphBuilder, length: str, kind: np.dtype[np.signedinteger]) -> str:
    """0, 1, ... of `kind` up to a length [1] of the same kind."""
    first, step = builder.weight("first", kind.type(0)), builder.weight("step", kind.type(1))
    return builder.node("Range", [first, builder.node("Squeeze", [length], "end"), step], "places")
