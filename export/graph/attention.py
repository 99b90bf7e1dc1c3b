"""Emits the three attentions: over a padded source, over a row's own cached past, and from rows to cached sources.

All take and give rows [N, E].
"""

from dataclasses import dataclass

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
    cell: int64 [R], the flat cell that holds each row's answer. mask: [S, 1, 1, L], 0 or MASK_VALUE.
    alignment: name for the weights averaged over heads [R, L], empty in layers where nobody wants them.
    """

    keys: str
    values: str
    lengths: str
    grid: str
    cell: str
    mask: str
    alignment: str


def source_attention(parts: Parts, value: str, keys: AttentionKeys, lengths: str, batch_shape: str) -> str:
    """Self-attention of padded sources, rows [S * L, E]; `batch_shape` names the shape [S, L, -1]."""
    builder = parts.builder
    packed = parts.linear.apply(value, parts.weights.heads((keys.query, keys.key, keys.value)), "projection")
    packed = builder.node("Reshape", [packed, batch_shape], "sequences")
    query, key, values = builder.nodes("Split", [packed], 3, "heads", axis=2, num_outputs=3)
    context = _fused_attention(parts, [query, key, values, "", lengths])
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
    if sources.alignment:
        context = _spelt_attention(parts, query, sources)
    else:
        context = _fused_attention(parts, [query, sources.keys, sources.values, "", sources.lengths])
    answers = parts.builder.node("Gather", [_rows(parts, context), sources.cell], "rows")
    return _project_out(parts, answers, keys)


def _spelt_attention(parts: Parts, query: str, sources: Sources) -> str:
    """The same as the fused node in single steps, because that one keeps its weights to itself."""
    builder, spec = parts.builder, parts.spec
    by_head = builder.node("Reshape", [query, builder.integers(0, 0, spec.num_heads, spec.cache_head_width)], "by_head")
    query = builder.node("Transpose", [by_head], "queries", perm=[0, 2, 1, 3])
    scale = float(spec.attention_scale)
    scores = builder.contrib("FusedMatMul", [query, sources.keys], "scores", transB=1, alpha=scale)
    weights = builder.node("Softmax", [builder.node("Add", [scores, sources.mask], "masked")], "weights", axis=-1)
    mean = builder.node("ReduceMean", [weights, builder.integers(1)], "mean_weights", keepdims=0)
    length = builder.node("Shape", [mean], "source_length", start=2)
    flat_shape = builder.node("Concat", [builder.integers(-1), length], "flat_shape", axis=0)
    flat = builder.node("Reshape", [mean, flat_shape], "flat_weights")
    builder.nodes("Gather", [flat, sources.cell], [sources.alignment], "alignment")
    context = builder.node("MatMul", [weights, sources.values], "context")
    return builder.node("Transpose", [context], "by_query", perm=[0, 2, 1, 3])


def _queries(parts: Parts, value: str, keys: AttentionKeys, sources: Sources) -> str:
    """Projected queries laid out by source: [S, K, H * D]."""
    query = parts.linear.apply(value, parts.weights.heads((keys.query,)), "query")
    return parts.builder.node("Gather", [query, sources.grid], "by_source")


def _rows(parts: Parts, context: str) -> str:
    """Contexts of any leading shape as [N, H * D]."""
    width = parts.spec.num_heads * parts.spec.cache_head_width
    return parts.builder.node("Reshape", [context, parts.builder.integers(-1, width)], "flat")


def _fused_attention(parts: Parts, inputs: list[str]) -> str:
    return parts.builder.contrib(
        "MultiHeadAttention",
        inputs,
        "attention",
        num_heads=parts.spec.num_heads,
        scale=parts.spec.attention_scale,
        mask_filter_value=MASK_VALUE,
    )


def _project_out(parts: Parts, context: str, keys: AttentionKeys) -> str:
    return parts.linear.apply(context, parts.weights.heads_output(keys), "output")
