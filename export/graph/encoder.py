"""The encoder graph: sources in, every decoder layer's cross-attention keys and values out.

inputs: `ids` int64 [S, L] right padded, `lengths` int32 [S], the real tokens of each row.
outputs: `cross_k.{i}`, `cross_v.{i}` float32 [S, H, L, D] for decoder layer i; rows past a source's length hold
finite numbers that mean nothing.
"""

from onnx import TensorProto

from export.families.spec import ModelSpec
from export.graph.attention import source_attention
from export.graph.builder import Dimension
from export.graph.sublayers import Parts, Residual, feed_forward, layer_norm, look_up


def add_encoder(parts: Parts) -> None:
    """Adds the whole encoder to the builder of `parts`."""
    builder, spec = parts.builder, parts.spec
    ids = builder.input("ids", TensorProto.INT64, ["S", "L"])
    lengths = builder.input("lengths", TensorProto.INT32, ["S"])
    with builder.scope("encoder"):
        shape = builder.node("Shape", [ids], "shape")
        batch_shape = builder.node("Concat", [shape, builder.integers(-1)], "batch_shape", axis=0)
        with builder.scope("embedding"):
            value = _embed(parts, ids)
        layers = spec.keys.encoder
        norms = [norm for layer in layers for norm in layer.norms]
        final = spec.keys.encoder_final_norm
        residual = Residual(parts, value, [*norms, *([final] if final else [])])
        for index, layer in enumerate(layers):
            with builder.scope(f"{index}/self_attention"):
                residual.add(source_attention(parts, residual.value, layer.attention, lengths, batch_shape))
            with builder.scope(f"{index}/feed_forward"):
                residual.add(feed_forward(parts, residual.value, layer.feed_forward))
        with builder.scope("memory"):
            _add_memory(parts, residual.value, shape)


def _embed(parts: Parts, ids: str) -> str:
    """Rows [S * L, E] of scaled token embeddings plus positions, which count padding too."""
    builder, spec = parts.builder, parts.spec
    value = look_up(parts, spec.keys.source_table, ids)
    length = builder.node("Shape", [ids], "length", start=1)
    table = builder.weight("positions", parts.weights.positions())
    positions = builder.node("Slice", [table, builder.integers(0), length, builder.integers(0)], "used_positions")
    value = builder.node("Add", [value, positions], "placed")
    value = builder.node("Reshape", [value, builder.integers(-1, spec.model_width)], "rows")
    norm = spec.keys.source_embedding_norm
    return layer_norm(parts, value, norm) if norm else value


def _add_memory(parts: Parts, value: str, shape: str) -> None:
    """One projection for the keys and values of all decoder layers, then one tensor for each."""
    builder, spec = parts.builder, parts.spec
    projections = [
        linear for layer in spec.keys.decoder for linear in (layer.cross_attention.key, layer.cross_attention.value)
    ]
    packed = parts.linear.apply(value, parts.weights.heads(projections), "projection")
    heads = builder.integers(len(projections) * spec.num_heads, spec.cache_head_width)
    by_head_shape = builder.node("Concat", [shape, heads], "by_head_shape", axis=0)
    packed = builder.node("Reshape", [packed, by_head_shape], "by_head")
    packed = builder.node("Transpose", [packed], "heads_first", perm=[0, 2, 1, 3])
    names = [f"cross_{part}.{index}" for index in range(len(spec.keys.decoder)) for part in "kv"]
    builder.nodes("Split", [packed], names, "layers", axis=1, num_outputs=len(names))
    for name in names:
        builder.output(name, TensorProto.FLOAT, memory_shape(spec))


def memory_shape(spec: ModelSpec) -> list[Dimension]:
    """Shape of one layer's cross-attention keys or values: [S, H, L, D]."""
    return ["S", spec.num_heads, "L", spec.cache_head_width]
