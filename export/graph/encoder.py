"""The encoder graph: sources in, every decoder layer's cross-attention keys and values out.

Sources lie behind one another without padding: all but attention works on real tokens only.
inputs: `ids` int64 [N], tokens of all sources; `position` int32 [N], of each in its source; `grid` int64 [S, L], the
token in each cell of a padded layout (cells beyond a source's end name any token); `cell` int64 [N], the flat cell of
each token; `lengths` int32 [S], the tokens of each source.
outputs: `cross_k.{i}`, `cross_v.{i}` float32 [S, H, L, D] for decoder layer i; rows past a source's length hold
finite numbers that mean nothing.
"""

from onnx import TensorProto

from export.families.spec import ModelSpec
from export.graph.attention import head_grids, packed_sources, source_attention
from export.graph.builder import Dimension
from export.graph.positions import add_positions, source_bias
from export.graph.sublayers import Parts, Residual, feed_forward, look_up, normalise


def add_encoder(parts: Parts) -> None:
    """Adds the whole encoder to the builder of `parts`."""
    builder, spec = parts.builder, parts.spec
    ids = builder.input("ids", TensorProto.INT64, ["N"])
    position = builder.input("position", TensorProto.INT32, ["N"])
    grid = builder.input("grid", TensorProto.INT64, ["S", "L"])
    cell = builder.input("cell", TensorProto.INT64, ["N"])
    lengths = builder.input("lengths", TensorProto.INT32, ["S"])
    with builder.scope("encoder"):
        sources = packed_sources(parts, grid, cell, lengths, source_bias(parts, grid))
        with builder.scope("embedding"):
            value = _embed(parts, ids, position)
        layers = spec.keys.encoder
        norms = [norm for layer in layers for norm in layer.norms]
        final = spec.keys.encoder_final_norm
        residual = Residual(parts, value, [*norms, *([final] if final else [])])
        for index, layer in enumerate(layers):
            with builder.scope(f"{index}/self_attention"):
                residual.add(source_attention(parts, residual.value, layer.attention, sources))
            with builder.scope(f"{index}/feed_forward"):
                residual.add(feed_forward(parts, residual.value, layer.feed_forward))
        with builder.scope("memory"):
            _add_memory(parts, residual.value, grid)


def _embed(parts: Parts, ids: str, position: str) -> str:
    """Rows [N, E] of scaled token embeddings plus positions."""
    keys = parts.spec.keys
    value = add_positions(parts, look_up(parts, keys.source_table, ids), "encoder", position)
    return normalise(parts, value, keys.source_embedding_norm) if keys.source_embedding_norm else value


def _add_memory(parts: Parts, value: str, grid: str) -> None:
    """One projection for the keys and values of all decoder layers, then one padded tensor for each."""
    builder, spec = parts.builder, parts.spec
    projections = [
        linear for layer in spec.keys.decoder for linear in (layer.cross_attention.key, layer.cross_attention.value)
    ]
    packed = parts.linear.apply(value, parts.weights.heads(projections), "projection")
    by_head = builder.node("Reshape", [packed, builder.integers(-1, spec.cache_head_width)], "by_head")
    names = [f"cross_{part}.{index}" for index in range(len(spec.keys.decoder)) for part in "kv"]
    grids = head_grids(parts, grid, range(len(names)), len(names))
    for name, rows in zip(names, grids, strict=True):
        builder.nodes("Gather", [by_head, rows], [name], "padded")
        builder.output(name, TensorProto.FLOAT, memory_shape(spec))


def memory_shape(spec: ModelSpec) -> list[Dimension]:
    """Shape of one layer's cross-attention keys or values: [S, H, L, D]."""
    return ["S", spec.num_heads, "L", spec.cache_head_width]
