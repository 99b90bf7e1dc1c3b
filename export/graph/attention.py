"""Emits the three attentions: over a padded source, over a row's own cached past, and from rows to cached sources.

All take and give rows [N, E].
"""

from dataclasses import dataclass

from onnx import TensorProto

from export.families.spec import AttentionKeys
from export.graph.builder import MICROSOFT
from export.graph.sublayers import Parts

# Added to the scores of masked positions: with any trained scores their weight is then exactly zero, and a source
# slot without any position gives finite numbers instead of NaN.
MASK_VALUE = -1e9


@dataclass(frozen=True, slots=True)
class Cache:
    """Names of one layer's self-attention keys and values [R, H, T, D] before and after the step.

    past_count: int32 [R], tokens already cached per row. total_length: int32 [1], at least the largest count plus one.
    """

    past_keys: str
    past_values: str
    present_keys: str
    present_values: str
    past_count: str
    total_length: str


@dataclass(frozen=True, slots=True)
class Sources:
    """Names of what rows ask.

    keys, values: [S, H, L, D] of one layer. lengths: int32 [S]. grid: int64 [S, K], the row that asks in each cell.
    cell: int64 [R], the flat cell that holds each row's answer.
    alignment: name for the weights averaged over heads [R, L], empty in layers where nobody wants them.
    """

    keys: str
    values: str
    lengths: str
    grid: str
    cell: str
    alignment: str


def source_attention(parts: Parts, value: str, keys: AttentionKeys, lengths: str, batch_shape: str) -> str:
    """Self-attention of padded sources, rows [S * L, E]; `batch_shape` names the shape [S, L, -1]."""
    builder = parts.builder
    packed = parts.linear.apply(value, parts.weights.heads((keys.query, keys.key, keys.value)), "projection")
    packed = builder.node("Reshape", [packed, batch_shape], "sequences")
    query, key, values = builder.nodes("Split", [packed], 3, "heads", axis=2, num_outputs=3)
    (context,) = _fused_attention(parts, [query, key, values, "", lengths])
    return _project_out(parts, _rows(parts, context), keys)


def cached_attention(parts: Parts, value: str, keys: AttentionKeys, cache: Cache) -> str:
    """Self-attention of one new token per row [R, E] over the row's past and itself; its key and value are cached."""
    builder, spec = parts.builder, parts.spec
    width = spec.num_heads * spec.cache_head_width
    packed = parts.linear.apply(value, parts.weights.heads((keys.query, keys.key, keys.value)), "projection")
    packed = builder.node("Reshape", [packed, builder.integers(-1, 1, 3 * width)], "sequences")
    context, *_ = builder.nodes(
        "GroupQueryAttention",
        [packed, "", "", cache.past_keys, cache.past_values, cache.past_count, cache.total_length],
        [builder.fresh("context"), cache.present_keys, cache.present_values],
        "attention",
        domain=MICROSOFT,
        num_heads=spec.num_heads,
        kv_num_heads=spec.num_heads,
        scale=spec.attention_scale,
    )
    return _project_out(parts, _rows(parts, context), keys)


def cross_attention(parts: Parts, value: str, keys: AttentionKeys, sources: Sources) -> str:
    """Attention of rows [R, E] to their sources, with the rows of one source as its queries."""
    query = _queries(parts, value, keys, sources)
    inputs = [query, sources.keys, sources.values, "", sources.lengths]
    if sources.alignment:
        context, scores = _fused_attention(parts, inputs, with_scores=True)
        _add_alignment(parts, scores, sources)
    else:
        (context,) = _fused_attention(parts, inputs)
    answers = parts.builder.node("Gather", [_rows(parts, context), sources.cell], "rows")
    return _project_out(parts, answers, keys)


def _add_alignment(parts: Parts, scores: str, sources: Sources) -> None:
    """Weights averaged over heads [R, L] from masked scores [S, H, K, L]."""
    builder = parts.builder
    weights = builder.node("Softmax", [scores], "weights", axis=-1)
    mean = builder.node("ReduceMean", [weights, builder.integers(1)], "mean_weights", keepdims=0)
    cells = builder.node("Flatten", [mean], "cells", axis=2)
    builder.nodes("Gather", [cells, sources.cell], [sources.alignment], "alignment")


def _queries(parts: Parts, value: str, keys: AttentionKeys, sources: Sources) -> str:
    """Projected queries laid out by source: [S, K, H * D]."""
    query = parts.linear.apply(value, parts.weights.heads((keys.query,)), "query")
    return parts.builder.node("Gather", [query, sources.grid], "by_source")


def _rows(parts: Parts, context: str) -> str:
    """Contexts of any leading shape as [N, H * D]."""
    width = parts.spec.num_heads * parts.spec.cache_head_width
    return parts.builder.node("Reshape", [context, parts.builder.integers(-1, width)], "flat")


def _fused_attention(parts: Parts, inputs: list[str], *, with_scores: bool = False) -> list[str]:
    """Context [S, N, H * D] and, on request, the scaled and masked scores [S, H, N, L] before their softmax."""
    builder, spec = parts.builder, parts.spec
    outputs = [builder.fresh("context")]
    if with_scores:
        scores = builder.fresh("scores")
        builder.declare(scores, TensorProto.FLOAT)
        # Two outputs in between are caches, which cross-attention has no use for.
        outputs += ["", "", scores]
    builder.nodes(
        "MultiHeadAttention",
        inputs,
        outputs,
        "attention",
        domain=MICROSOFT,
        num_heads=spec.num_heads,
        scale=spec.attention_scale,
        mask_filter_value=MASK_VALUE,
    )
    return [name for name in outputs if name]


def _project_out(parts: Parts, context: str, keys: AttentionKeys) -> str:
    return parts.linear.apply(context, parts.weights.heads_output(keys), "output")
