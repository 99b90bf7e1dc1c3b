"""T5 checkpoints of every make: T5, T5 v1.1 and flan, mT5, MADLAD-400.

Pre-norm with RMS norms, no bias anywhere, relative positions that all layers share, unscaled attention and embeddings.
Whether the feed-forward block is gated is told by the tensors; whether the head is scaled, only by the configuration.
"""

from typing import Any

from export.checkpoint import Checkpoint
from export.families.configuration import Configuration, Findings
from export.families.spec import (
    Activation,
    AttentionKeys,
    DecoderLayerKeys,
    EncoderLayerKeys,
    FeedForwardKeys,
    LinearKeys,
    ModelSpec,
    NetworkKeys,
    NormKeys,
    RelativePositions,
    SpecialIds,
    tables_of_positions,
)
from export.families.tensors import (
    LayerSizes,
    TableNames,
    Tables,
    check_ids,
    check_leftovers,
    check_shapes,
    check_tables,
    find_tables,
    layer_shapes,
)
from service.errors import ExportError

# What the models were trained on. The network has no limit of its own, but the service needs one.
_MAX_TOKENS = 512
_TABLES = TableNames("shared.weight", "encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight")
# Cross-attention has no positions, but old files have a table for it.
_STRAY_TABLE = r"decoder\.block\.0\.layer\.1\.EncDecAttention\.relative_attention_bias\.weight"


def describe_t5(checkpoint: Checkpoint) -> ModelSpec:
    """The network of a T5-like checkpoint. Raises ExportError with every reason why it cannot be one."""
    found = Findings()
    config = Configuration(checkpoint, found)
    config.refuse_switches({})
    sizes = _sizes(config)
    layers = config.count("num_layers")
    decoder_layers = config.count("num_decoder_layers", layers)
    relative = _relative(config, found)
    is_gated = _is_gated(checkpoint, config, found)
    activation = _activation(config, found)
    epsilon = config.epsilon("layer_norm_epsilon", 1e-6)
    max_tokens = _max_tokens(config, found)
    special = SpecialIds(*(config.token_id(f"{name}_token_id") for name in ("decoder_start", "eos", "pad")))
    tables = find_tables(checkpoint, _TABLES, {"head": "tie_word_embeddings"}, found)
    check_ids(special, (), tables.target_rows, found)
    keys = _network_keys(tables, layers, decoder_layers, is_gated=is_gated)
    scales_head = _scales_head(config, found)
    if config.sizes_known:
        _check_tensors(checkpoint, keys, relative, sizes, found)
    if found.problems:
        raise ExportError("this is not a T5 network that can be exported", found.problems)
    return ModelSpec(
        family=str(config.raw("model_type")),
        model_width=sizes.model_width,
        num_heads=sizes.num_heads,
        head_width=sizes.head_width,
        norm_order="pre",
        norm_kind="rms",
        norm_epsilon=epsilon,
        activation=activation,
        embedding_scale=1.0,
        attention_scale=1.0,
        head_scale=sizes.model_width**-0.5 if scales_head else 1.0,
        positions=None,
        relative=relative,
        max_source_tokens=max_tokens,
        max_target_tokens=max_tokens,
        source_vocabulary_size=tables.source_rows,
        target_vocabulary_size=tables.target_rows,
        special_ids=special,
        banned_ids=(),
        alignment_layer=decoder_layers - 1,
        keys=keys,
        decisions=tuple(found.decisions),
    )


def _sizes(config: Configuration) -> LayerSizes:
    width, heads, head_width = (config.count(name) for name in ("d_model", "num_heads", "d_kv"))
    inner = config.count("d_ff")
    return LayerSizes(width, heads, head_width, inner, inner)


def _relative(config: Configuration, found: Findings) -> RelativePositions:
    """The two tables of the first layers. Old configurations have no maximal distance."""
    num_buckets = config.count("relative_attention_num_buckets")
    max_distance = config.count("relative_attention_max_distance", 128)
    if config.sizes_known and not 2 <= num_buckets // 2 < max_distance:
        found.problems.append(
            f"config.json: relative_attention_num_buckets {num_buckets} and relative_attention_max_distance "
            f"{max_distance} do not fit"
        )
    table = "block.0.layer.0.SelfAttention.relative_attention_bias.weight"
    return RelativePositions(f"encoder.{table}", f"decoder.{table}", num_buckets, max_distance)


def _max_tokens(config: Configuration, found: Findings) -> int:
    if config.raw("n_positions") is not None:
        return config.count("n_positions")
    found.decisions.append(f"config.json has no n_positions: sequences may have {_MAX_TOKENS} tokens")
    return _MAX_TOKENS


def _is_gated(checkpoint: Checkpoint, config: Configuration, found: Findings) -> bool:
    """Whether the tensors make a gated block; notes a configuration that says otherwise."""
    gated = "encoder.block.0.layer.1.DenseReluDense.wi_0.weight" in checkpoint.names
    name = _feed_forward(config)
    if isinstance(name, str) and name.startswith("gated-") is not gated:
        found.problems.append(
            f"config.json: feed_forward_proj is {name!r}, but the file's feed-forward blocks are "
            f"{'gated' if gated else 'not gated'}"
        )
    return gated


def _feed_forward(config: Configuration) -> Any:
    """The name of the feed-forward block; a configuration without one means the first T5's."""
    name = config.raw("feed_forward_proj")
    return "relu" if name is None else name


def _activation(config: Configuration, found: Findings) -> Activation:
    """The activation function: named by itself, or within the name of the block, where `gated-gelu` is the tanh one."""
    own, name = config.raw("dense_act_fn"), _feed_forward(config)
    inside = name.removeprefix("gated-") if isinstance(name, str) else name
    inside = "gelu_new" if name == "gated-gelu" else inside
    if own is not None:
        if own != inside:
            found.decisions.append(f"config.json: dense_act_fn {own!r} is taken, not what feed_forward_proj says")
        return config.activation_named(own, "dense_act_fn")
    if config.raw("feed_forward_proj") is None:
        found.decisions.append("config.json has no feed_forward_proj: relu is taken, as transformers does")
    return config.activation_named(inside, "feed_forward_proj")


def _scales_head(config: Configuration, found: Findings) -> bool:
    """Whether the decoder's output is scaled before the head, by the rules of transformers.

    T5 scales unless the raw file says that embeddings are not tied; newer files say it in a setting of its own. mT5
    never scales, though its files say either.
    """
    own, tied = config.raw("scale_decoder_outputs"), config.raw("tie_word_embeddings")
    if config.raw("model_type") == "mt5":
        scales, reason = False, "mT5 never is"
    elif isinstance(own, bool):
        scales, reason = own, f"scale_decoder_outputs = {own}"
    else:
        scales, reason = tied is not False, f"tie_word_embeddings = {tied}"
    found.decisions.append(f"the head's input is {'' if scales else 'not '}scaled (config.json: {reason})")
    return scales


def _network_keys(tables: Tables, layers: int, decoder_layers: int, *, is_gated: bool) -> NetworkKeys:
    return NetworkKeys(
        tables.source,
        tables.target,
        tables.head,
        head_bias=None,
        encoder=tuple(_encoder_layer(f"encoder.block.{i}", is_gated=is_gated) for i in range(layers)),
        decoder=tuple(_decoder_layer(f"decoder.block.{i}", is_gated=is_gated) for i in range(decoder_layers)),
        encoder_final_norm=_norm("encoder.final_layer_norm"),
        decoder_final_norm=_norm("decoder.final_layer_norm"),
    )


def _check_tensors(
    checkpoint: Checkpoint, keys: NetworkKeys, relative: RelativePositions, sizes: LayerSizes, found: Findings
) -> None:
    tables = tuple(tables_of_positions(None, relative))
    shapes = {**layer_shapes(keys, sizes), **dict.fromkeys(tables, (relative.num_buckets, sizes.num_heads))}
    check_shapes(checkpoint, shapes, found)
    check_tables(checkpoint, keys, sizes.model_width, found)
    check_leftovers(checkpoint, (*keys.names(), *tables), _TABLES, (_STRAY_TABLE,), found)


def _encoder_layer(prefix: str, *, is_gated: bool) -> EncoderLayerKeys:
    return EncoderLayerKeys(
        attention=_attention(f"{prefix}.layer.0.SelfAttention"),
        attention_norm=_norm(f"{prefix}.layer.0.layer_norm"),
        feed_forward=_feed_forward_keys(f"{prefix}.layer.1.DenseReluDense", is_gated=is_gated),
        feed_forward_norm=_norm(f"{prefix}.layer.1.layer_norm"),
    )


def _decoder_layer(prefix: str, *, is_gated: bool) -> DecoderLayerKeys:
    return DecoderLayerKeys(
        attention=_attention(f"{prefix}.layer.0.SelfAttention"),
        attention_norm=_norm(f"{prefix}.layer.0.layer_norm"),
        cross_attention=_attention(f"{prefix}.layer.1.EncDecAttention"),
        cross_attention_norm=_norm(f"{prefix}.layer.1.layer_norm"),
        feed_forward=_feed_forward_keys(f"{prefix}.layer.2.DenseReluDense", is_gated=is_gated),
        feed_forward_norm=_norm(f"{prefix}.layer.2.layer_norm"),
    )


def _attention(prefix: str) -> AttentionKeys:
    query, key, value, output = (_linear(f"{prefix}.{part}") for part in "qkvo")
    return AttentionKeys(query, key, value, output)


def _feed_forward_keys(prefix: str, *, is_gated: bool) -> FeedForwardKeys:
    outer = _linear(f"{prefix}.wo")
    if not is_gated:
        return FeedForwardKeys(_linear(f"{prefix}.wi"), outer)
    return FeedForwardKeys(_linear(f"{prefix}.wi_1"), outer, gate=_linear(f"{prefix}.wi_0"))


def _linear(prefix: str) -> LinearKeys:
    return LinearKeys(f"{prefix}.weight", None)


def _norm(prefix: str) -> NormKeys:
    return NormKeys(f"{prefix}.weight", None)
