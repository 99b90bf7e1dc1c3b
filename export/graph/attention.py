"""Emits the three attentions: within a source, over a row's own cached past, and from rows to cached sources.

All take and give rows [N, E].
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from export.families.spec import AttentionKeys
from export.graph.builder import MICROSOFT
from export.graph.sublayers import Parts

# Added to the scores of masked positions: with any trained scores their weight is then exactly zero, and a source
# slot without any position gives finite numbers instead of NaN.
MASK_VALUE = -1e9


@dataclass(frozen=True, slots=True)
class RowPlace:
    """Names of where rows stand in their targets.

    past_count: int32 [R], tokens already cached per row. total_length: int32 [1], at least the largest count plus one.
    bias: float32 [R, H, 1, total_length], what is added to scores; empty where nothing is. has_past: bool [R, 1], false
    for rows without cached tokens; empty where no layer wants to know.
    """

    past_count: str
    total_length: str
    bias: str
    has_past: str


@dataclass(frozen=True, slots=True)
class PackedSources:
    """Names of what lays the encoder's N tokens out for attention.

    query_grid: int64 [S, L], the row of each cell's query among queries, keys and values side by side; key_grid and
    value_grid: int64 [S, H, L], the same by head. cell: int64 [N], the flat cell of each token. lengths: int32 [S].
    bias: float32 [1, H, L, L], what is added to scores; empty where nothing is.
    """

    query_grid: str
    key_grid: str
    value_grid: str
    cell: str
    lengths: str
    bias: str


@dataclass(frozen=True, slots=True)
class Cache:
    """Names of one layer's self-attention keys and values [R, H, T, D] before and after the step."""

    past_keys: str
    past_values: str
    present_keys: str
    present_values: str
    place: RowPlace


@dataclass(frozen=True, slots=True)
class SoloSources:
    """Names of sources that one row each asks, and of one layer's keys and values of them.

    rows: int64 [G, 1], the row that asks each. past: int32 [G], their lengths less one. total: int32 [1], at least the
    longest length. keys, values: [G, H, M, D]; last_keys, last_values: [G, 1, H * D], of each source's last token;
    present_keys, present_values: the keys and values again, unchanged.
    """

    rows: str
    past: str
    total: str
    keys: str
    values: str
    last_keys: str
    last_values: str
    present_keys: str
    present_values: str


@dataclass(frozen=True, slots=True)
class SharedSources:
    """Names of sources that several rows ask, and of one layer's keys and values of them.

    keys, values: [S, H, L, D]. lengths: int32 [S]. grid: int64 [S, K], the row that asks in each query cell.
    """

    keys: str
    values: str
    lengths: str
    grid: str


@dataclass(frozen=True, slots=True)
class Sources:
    """What rows ask: cell, int64 [R], is where each row's answer lies among those of solo, then shared sources.

    query_output: name under which the scaled queries are given out; empty in layers where nobody wants them.
    """

    solo: SoloSources
    shared: SharedSources
    cell: str
    query_output: str


def packed_sources(parts: Parts, grid: str, cell: str, lengths: str, bias: str) -> PackedSources:
    """What self-attention of sources needs, from the token in each cell, int64 [S, L]."""
    query_grid = parts.builder.node("Mul", [grid, parts.builder.integers(3)], "query_grid")
    key_grid, value_grid = head_grids(parts, grid, (1, 2), 3)
    return PackedSources(query_grid, key_grid, value_grid, cell, lengths, bias)


def head_grids(parts: Parts, grid: str, wanted: Iterable[int], count: int) -> list[str]:
    """Rows of wanted projections, of `count` that stand side by side, in a padded layout: int64 [S, H, L] for each.

    grid: int64 [S, L], the token in each cell. A row is one head of one projection of one token.
    """
    builder, heads = parts.builder, parts.spec.num_heads
    firsts = builder.node("Mul", [grid, builder.integers(count * heads)], "first_rows")
    firsts = builder.node("Unsqueeze", [firsts, builder.integers(1)], "first_rows")
    grids = []
    for place in wanted:
        offsets = builder.integers(*range(place * heads, (place + 1) * heads))
        by_head = builder.node("Unsqueeze", [offsets, builder.integers(1)], "heads")
        grids.append(builder.node("Add", [firsts, by_head], "head_rows"))
    return grids


def source_attention(parts: Parts, value: str, keys: AttentionKeys, sources: PackedSources) -> str:
    """Self-attention of sources, rows [N, E] in and out; only attention itself sees padding.

    Keys and values are gathered head by head, which is how the kernel would lay them out again.
    """
    builder, spec = parts.builder, parts.spec
    packed = parts.linear.apply(value, parts.weights.heads((keys.query, keys.key, keys.value)), "projection")
    rows = _rows(parts, packed)
    query = builder.node("Gather", [rows, sources.query_grid], "query")
    by_head = builder.node("Reshape", [packed, builder.integers(-1, spec.cache_head_width)], "by_head")
    key = builder.node("Gather", [by_head, sources.key_grid], "key")
    values = builder.node("Gather", [by_head, sources.value_grid], "value")
    context = _fused_attention(parts, [query, key, values, "", sources.lengths], sources.bias)
    context = builder.node("Gather", [_rows(parts, context), sources.cell], "packed")
    return _project_out(parts, context, keys)


def cached_attention(parts: Parts, value: str, keys: AttentionKeys, cache: Cache) -> str:
    """Self-attention of one new token per row [R, E] over the row's past and itself; its key and value are cached."""
    builder, spec = parts.builder, parts.spec
    width = spec.num_heads * spec.cache_head_width
    packed = parts.linear.apply(value, parts.weights.heads((keys.query, keys.key, keys.value)), "projection")
    packed = builder.node("Reshape", [packed, builder.integers(-1, 1, 3 * width)], "sequences")
    inputs = [packed, "", "", cache.past_keys, cache.past_values, cache.place.past_count, cache.place.total_length]
    if cache.place.bias:
        # Between them would be tables of rotary positions and the positions to look up there.
        inputs += ["", "", "", cache.place.bias]
    context, *_ = builder.nodes(
        "GroupQueryAttention",
        inputs,
        [builder.fresh("context"), cache.present_keys, cache.present_values],
        "attention",
        domain=MICROSOFT,
        num_heads=spec.num_heads,
        kv_num_heads=spec.num_heads,
        scale=spec.attention_scale,
    )
    return _project_out(parts, _rows(parts, context), keys)


def cross_attention(parts: Parts, value: str, keys: AttentionKeys, sources: Sources) -> str:
    """Attention of rows [R, E] to their sources.

    Two kernels, by what a source is, never by who else is there: where one row asks, the one that walks each source's
    own length; where several do, the one that reads a source once for all of them.
    """
    builder = parts.builder
    query = parts.linear.apply(value, parts.weights.heads((keys.query,)), "query")
    if sources.query_output:
        scale = builder.weight("query_scale", np.float32(parts.spec.attention_scale))
        builder.nodes("Mul", [query, scale], [sources.query_output], "scaled_query")
    answers = [_solo_answers(parts, query, sources.solo), _shared_answers(parts, query, sources.shared)]
    everything = builder.node("Concat", answers, "answers", axis=0)
    return _project_out(parts, builder.node("Gather", [everything, sources.cell], "rows"), keys)


def _solo_answers(parts: Parts, query: str, solo: SoloSources) -> str:
    """Contexts [G, H * D]. The cache's newest entry is the source's last token itself, so nothing is ever appended."""
    builder = parts.builder
    asking = builder.node("Gather", [query, solo.rows], "solo_queries")
    context, *_ = builder.nodes(
        "GroupQueryAttention",
        [asking, solo.last_keys, solo.last_values, solo.keys, solo.values, solo.past, solo.total],
        [builder.fresh("solo_context"), solo.present_keys, solo.present_values],
        "solo_attention",
        domain=MICROSOFT,
        num_heads=parts.spec.num_heads,
        kv_num_heads=parts.spec.num_heads,
        scale=parts.spec.attention_scale,
    )
    return _rows(parts, context)


def _shared_answers(parts: Parts, query: str, shared: SharedSources) -> str:
    """Contexts of all cells [S * K, H * D], with the rows of one source as its queries."""
    cells = parts.builder.node("Gather", [query, shared.grid], "by_source")
    return _rows(parts, _fused_attention(parts, [cells, shared.keys, shared.values, "", shared.lengths]))


def _rows(parts: Parts, context: str) -> str:
    """Contexts of any leading shape as [N, H * D]."""
    width = parts.spec.num_heads * parts.spec.cache_head_width
    return parts.builder.node("Reshape", [context, parts.builder.integers(-1, width)], "flat")


def _fused_attention(parts: Parts, inputs: list[str], bias: str = "") -> str:
    """Context [S, N, H * D]; `bias` names what is added to scores, if anything is."""
    return parts.builder.contrib(
        "MultiHeadAttention",
        [*inputs, bias] if bias else inputs,
        "attention",
        num_heads=parts.spec.num_heads,
        scale=parts.spec.attention_scale,
        mask_filter_value=MASK_VALUE,
    )


def _project_out(parts: Parts, context: str, keys: AttentionKeys) -> str:
    return parts.linear.apply(context, parts.weights.heads_output(keys), "output")
