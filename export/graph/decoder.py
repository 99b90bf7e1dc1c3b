"""The decoder graph: one token per row in, the best next tokens and the row's longer cache out.

inputs: `token` int64 [R]; `position` int32 [R], tokens the row has behind it; `total_length` int32 [1], at least the
largest position plus one and at most T; `past_k.{i}`, `past_v.{i}` float32 [R, H, T, D], or `past_state.{i}` float32
[R, E] of a layer with a recurrent unit; a row without a past may have anything there. Of sources several rows ask:
`lengths` int32 [S]; `cross_k.{i}`, `cross_v.{i}` float32 [S, H, L, D]; `grid` int64 [S, K], the row asking in each
query cell (cells without one name any row). Of sources that one row asks, at least one of them: `solo_row` int64 [G],
that row; `solo_past` int32 [G], the source's length less one; `solo_total` int32 [1], at least the longest length;
`solo_k.{i}`, `solo_v.{i}` float32 [G, H, M, D]; `solo_last_k.{i}`, `solo_last_v.{i}` float32 [G, 1, H * D], of each
source's last token. `cell` int64 [R], where each row's answer lies among G solo sources, then S * K cells. `probe`
int64 [R, P], ids whose log-probabilities are wanted; `k` int64 [1].
outputs: `top_log_probs` float32 and `top_ids` int64 [R, k], best first, equal ones by id; `probe_log_probs` float32
[R, P]; `log_normalizer` float32 [R, 1], what a logit is above its log-probability; `banned_logits` float32 [R, B], what
the checkpoint gives the banned ids, which have no probability here; `alignment_query` float32 [R, H * D], the scaled
queries of the alignment layer's cross-attention; `present_k.{i}`, `present_v.{i}`, `present_state.{i}` like the past,
which they may share memory with; `solo_present_k.{i}`, `solo_present_v.{i}` equal to the solo keys and values, and must
share their memory where that matters.
"""

from collections.abc import Callable

from onnx import TensorProto

from export.families.spec import AttentionKeys, DecoderLayerKeys, RecurrentKeys
from export.graph.attention import (
    Cache,
    RowPlace,
    SharedSources,
    SoloSources,
    Sources,
    cached_attention,
    cross_attention,
)
from export.graph.best_ids import add_best_ids
from export.graph.builder import Dimension
from export.graph.encoder import memory_shape
from export.graph.positions import add_positions, positions_without_pads, step_bias
from export.graph.recurrent import State, recurrent_unit, rows_with_past
from export.graph.sublayers import Parts, Residual, feed_forward, look_up, normalise

# Emits what a layer makes of a row's own tokens: from the layer's input [R, E], and where rows stand, to [R, E].
LookBack = Callable[[str, RowPlace], str]


def add_decoder(parts: Parts) -> None:
    """Adds the whole single-step decoder to the builder of `parts`."""
    builder, spec = parts.builder, parts.spec
    token = builder.input("token", TensorProto.INT64, ["R"])
    position = builder.input("position", TensorProto.INT32, ["R"])
    total_length = builder.input("total_length", TensorProto.INT32, [1])
    lengths = builder.input("lengths", TensorProto.INT32, ["S"])
    grid = builder.input("grid", TensorProto.INT64, ["S", "K"])
    solo_row = builder.input("solo_row", TensorProto.INT64, ["G"])
    solo = (
        builder.node("Unsqueeze", [solo_row, builder.integers(1)], "solo_rows"),
        builder.input("solo_past", TensorProto.INT32, ["G"]),
        builder.input("solo_total", TensorProto.INT32, [1]),
    )
    cell = builder.input("cell", TensorProto.INT64, ["R"])
    layers = spec.keys.decoder
    look_backs = [_add_past(parts, index, layer.attention) for index, layer in enumerate(layers)]
    shared = [SharedSources(*_add_memory_inputs(parts, index), lengths, grid) for index in range(len(layers))]
    solos = [SoloSources(*solo, *_add_solo(parts, index)) for index in range(len(layers))]
    with builder.scope("decoder"):
        with builder.scope("embedding"):
            value = _embed(parts, token, position)
        place = RowPlace(
            position, total_length, step_bias(parts, position, total_length), rows_with_past(parts, position)
        )
        final = spec.keys.decoder_final_norm
        norms = [norm for layer in layers for norm in layer.norms]
        residual = Residual(parts, value, [*norms, *([final] if final else [])])
        for index, layer in enumerate(layers):
            query = "alignment_query" if index == spec.alignment_layer else ""
            with builder.scope(str(index)):
                with builder.scope("self_attention"):
                    residual.add(look_backs[index](residual.value, place))
                _add_layer(parts, residual, layer, Sources(solos[index], shared[index], cell, query))
        builder.output("alignment_query", TensorProto.FLOAT, ["R", spec.num_heads * spec.cache_head_width])
        with builder.scope("head"):
            _add_head(parts, residual.value)


def _add_past(parts: Parts, index: int, keys: AttentionKeys | RecurrentKeys) -> LookBack:
    """Adds what a layer keeps of a row's tokens, before and after the step."""
    if isinstance(keys, RecurrentKeys):
        state = _add_state(parts, index)
        return lambda value, place: recurrent_unit(parts, value, keys, state, place.has_past)
    cached = _add_cache(parts, index)
    return lambda value, place: cached_attention(parts, value, keys, Cache(*cached, place))


def _add_state(parts: Parts, index: int) -> State:
    builder = parts.builder
    shape: list[Dimension] = ["R", parts.spec.model_width]
    builder.output(f"present_state.{index}", TensorProto.FLOAT, shape)
    return State(builder.input(f"past_state.{index}", TensorProto.FLOAT, shape), f"present_state.{index}")


def _add_cache(parts: Parts, index: int) -> tuple[str, str, str, str]:
    """Past keys and values, then present ones."""
    builder, spec = parts.builder, parts.spec
    shape: list[Dimension] = ["R", spec.num_heads, "T", spec.cache_head_width]
    past_keys, past_values = (builder.input(f"past_{part}.{index}", TensorProto.FLOAT, shape) for part in "kv")
    for part in "kv":
        builder.output(f"present_{part}.{index}", TensorProto.FLOAT, shape)
    return past_keys, past_values, f"present_k.{index}", f"present_v.{index}"


def _add_memory_inputs(parts: Parts, index: int) -> tuple[str, str]:
    shape = memory_shape(parts.spec)
    keys, values = (parts.builder.input(f"cross_{part}.{index}", TensorProto.FLOAT, shape) for part in "kv")
    return keys, values


def _add_solo(parts: Parts, index: int) -> list[str]:
    """Keys, values, their last tokens', and the outputs that are the first two again."""
    builder, spec = parts.builder, parts.spec
    whole: list[Dimension] = ["G", spec.num_heads, "M", spec.cache_head_width]
    last: list[Dimension] = ["G", 1, spec.num_heads * spec.cache_head_width]
    names = [builder.input(f"solo_{part}.{index}", TensorProto.FLOAT, whole) for part in "kv"]
    names += [builder.input(f"solo_last_{part}.{index}", TensorProto.FLOAT, last) for part in "kv"]
    for part in "kv":
        names.append(f"solo_present_{part}.{index}")
        builder.output(names[-1], TensorProto.FLOAT, whole)
    return names


def _embed(parts: Parts, token: str, position: str) -> str:
    keys = parts.spec.keys
    value = look_up(parts, keys.target_table, token)
    value = add_positions(parts, value, "decoder", positions_without_pads(parts, token, position))
    return normalise(parts, value, keys.target_embedding_norm) if keys.target_embedding_norm else value


def _add_layer(parts: Parts, residual: Residual, layer: DecoderLayerKeys, sources: Sources) -> None:
    """What follows on looking back."""
    builder = parts.builder
    with builder.scope("cross_attention"):
        residual.add(cross_attention(parts, residual.value, layer.cross_attention, sources))
    with builder.scope("feed_forward"):
        residual.add(feed_forward(parts, residual.value, layer.feed_forward))


def _add_head(parts: Parts, value: str) -> None:
    builder, spec = parts.builder, parts.spec
    probe = builder.input("probe", TensorProto.INT64, ["R", "P"])
    k = builder.input("k", TensorProto.INT64, [1])
    logits = _add_logits(parts, value)
    log_probs = builder.node("LogSoftmax", [logits], "log_probs", axis=-1)
    add_best_ids(builder, log_probs, spec.target_vocabulary_size, k, ("top_log_probs", "top_ids"))
    builder.nodes("GatherElements", [log_probs, probe], ["probe_log_probs"], "probe", axis=1)
    _add_banned_logits(parts, value, logits)
    # The best token's logit is finite, so the difference is too, whatever is banned.
    top_logits = builder.node("GatherElements", [logits, "top_ids"], "top_logits", axis=1)
    shifts = builder.node("Sub", [top_logits, "top_log_probs"], "shifts")
    best = [shifts, builder.integers(0), builder.integers(1), builder.integers(1)]
    builder.nodes("Slice", best, ["log_normalizer"], "normalizer")
    for name, kind, width in (
        ("top_log_probs", TensorProto.FLOAT, "k"),
        ("top_ids", TensorProto.INT64, "k"),
        ("probe_log_probs", TensorProto.FLOAT, "P"),
        ("log_normalizer", TensorProto.FLOAT, 1),
        ("banned_logits", TensorProto.FLOAT, len(spec.banned_ids)),
    ):
        builder.output(name, kind, ["R", width])


def _add_logits(parts: Parts, value: str) -> str:
    """On its own, so that the table does not stay in memory."""
    table = parts.weights.table(parts.spec.keys.head_table)
    return parts.linear.apply_table(value, table, parts.weights.head_bias(), "logits")


def _add_banned_logits(parts: Parts, value: str, logits: str) -> None:
    """In float32 in every precision: it is a column or two, or none at all."""
    builder = parts.builder
    with builder.scope("banned"):
        if not parts.spec.banned_ids:
            nothing = [builder.integers(0), builder.integers(0), builder.integers(1)]
            builder.nodes("Slice", [logits, *nothing], ["banned_logits"], "logits")
            return
        layer = parts.weights.banned_head()
        weights = [builder.weight("weight", layer.weight)]
        if layer.bias is not None:
            weights.append(builder.weight("bias", layer.bias))
        builder.nodes("Gemm", [value, *weights], ["banned_logits"], "logits")
