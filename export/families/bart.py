"""What the families grown out of BART share: the names of their tensors and settings. Marian, M2M100, mBART.

They look alike and differ in nine places; each family's own file says where, as `BartTraits`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any

from export.checkpoint import Checkpoint
from export.families.configuration import Configuration, Findings
from export.families.spec import (
    AttentionKeys,
    DecoderLayerKeys,
    EncoderLayerKeys,
    FeedForwardKeys,
    LinearKeys,
    ModelSpec,
    NetworkKeys,
    NormKeys,
    NormOrder,
    PositionKind,
    PositionSpec,
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

_NORM_EPSILON = 1e-5
_HEAD_BIAS = "final_logits_bias"
_TABLES = TableNames(
    "model.shared.weight", "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight"
)
_LEARNED_POSITIONS = ("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight")
# Generated positions are sometimes stored as well; they are generated anew, in more digits.
_STORED_SINUSOIDS = r"model\.(en|de)coder\.embed_positions\.(weights?|_float_tensor)"


@dataclass(frozen=True, slots=True)
class BartTraits:
    """Where one family differs from the others.

    has_embedding_norms, has_final_norms: norms after the embeddings, and after both stacks.
    first_position: row of position 0; None is the pad id plus one.
    scales_embeddings: what a configuration without scale_embedding means.
    starts_from_language: whether a configuration may leave the start id to the languages.
    switches: settings the family's network must have, like those that `Configuration.refuse_switches` takes.
    flags: the settings about ties that the report mentions.
    """

    family: str
    norm_order: NormOrder
    has_embedding_norms: bool
    has_final_norms: bool
    has_head_bias: bool
    position_kind: PositionKind
    first_position: int | None
    zero_at_pad: bool
    bans_pad: bool
    scales_embeddings: bool
    starts_from_language: bool
    switches: Mapping[str, tuple[Any, ...]]
    flags: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Depths:
    encoder: int
    decoder: int


def describe_bart(checkpoint: Checkpoint, traits: BartTraits) -> ModelSpec:
    """The network of a checkpoint of one of these families. Raises ExportError with every reason why it cannot be."""
    found = Findings()
    config = Configuration(checkpoint, found)
    config.refuse_switches(traits.switches)
    sizes, depths = _sizes(config, found)
    activation = config.activation("activation_function")
    special = _special_ids(config, traits, found)
    positions = _positions(config, traits, special.pad)
    if positions.kind == "sinusoid_fairseq" and config.sizes_known and sizes.model_width < 4:
        found.problems.append("config.json: d_model must be at least 4")
    scales = config.flag("scale_embedding", default=traits.scales_embeddings)
    tables = find_tables(checkpoint, _TABLES, traits.flags, found)
    banned = (special.pad,) if traits.bans_pad else ()
    check_ids(special, banned, tables.target_rows, found)
    keys = _network_keys(checkpoint, tables, traits, depths, found)
    if config.sizes_known:
        _check_tensors(checkpoint, keys, positions, sizes, found)
    if found.problems:
        raise ExportError(f"this is not a {traits.family} network that can be exported", found.problems)
    return ModelSpec(
        family=traits.family,
        model_width=sizes.model_width,
        num_heads=sizes.num_heads,
        head_width=sizes.head_width,
        norm_order=traits.norm_order,
        norm_kind="layer",
        norm_epsilon=_NORM_EPSILON,
        activation=activation,
        embedding_scale=sqrt(sizes.model_width) if scales else 1.0,
        attention_scale=sizes.head_width**-0.5,
        head_scale=1.0,
        positions=positions,
        relative=None,
        max_source_tokens=positions.count,
        max_target_tokens=positions.count,
        source_vocabulary_size=tables.source_rows,
        target_vocabulary_size=tables.target_rows,
        special_ids=special,
        banned_ids=banned,
        alignment_layer=depths.decoder - 1,
        keys=keys,
        decisions=tuple(found.decisions),
    )


def _sizes(config: Configuration, found: Findings) -> tuple[LayerSizes, _Depths]:
    width, heads = config.count("d_model"), config.count("encoder_attention_heads")
    decoder_heads = config.count("decoder_attention_heads")
    inner = config.count("encoder_ffn_dim"), config.count("decoder_ffn_dim")
    depths = _Depths(config.count("encoder_layers"), config.count("decoder_layers"))
    if config.sizes_known and heads != decoder_heads:
        found.problems.append("config.json: encoder and decoder must have the same number of attention heads")
    elif config.sizes_known and width % heads:
        found.problems.append("config.json: d_model must be a multiple of the number of attention heads")
    return LayerSizes(width, heads, width // heads, *inner), depths


def _special_ids(config: Configuration, traits: BartTraits, found: Findings) -> SpecialIds:
    eos, pad = config.token_id("eos_token_id"), config.token_id("pad_token_id")
    if traits.starts_from_language and not config.has_id("decoder_start_token_id"):
        found.decisions.append("config.json has no decoder_start_token_id: decoding starts from the target language")
        return SpecialIds(eos, eos, pad)
    return SpecialIds(config.token_id("decoder_start_token_id"), eos, pad)


def _positions(config: Configuration, traits: BartTraits, pad: int) -> PositionSpec:
    encoder_table, decoder_table = _LEARNED_POSITIONS if traits.position_kind == "learned" else (None, None)
    return PositionSpec(
        kind=traits.position_kind,
        first=pad + 1 if traits.first_position is None else traits.first_position,
        count=config.count("max_position_embeddings"),
        encoder_table=encoder_table,
        decoder_table=decoder_table,
        zero_at_pad=traits.zero_at_pad,
    )


def _network_keys(
    checkpoint: Checkpoint, tables: Tables, traits: BartTraits, depths: _Depths, found: Findings
) -> NetworkKeys:
    has_bias = traits.has_head_bias and _HEAD_BIAS in checkpoint.names
    if traits.has_head_bias and not has_bias:
        found.decisions.append(f"no {_HEAD_BIAS} in the file: the head has no bias")

    def norm_of(side: str, name: str, *, wanted: bool) -> NormKeys | None:
        return _norm(f"model.{side}.{name}") if wanted else None

    return NetworkKeys(
        tables.source,
        tables.target,
        tables.head,
        head_bias=_HEAD_BIAS if has_bias else None,
        encoder=tuple(_encoder_layer(f"model.encoder.layers.{i}") for i in range(depths.encoder)),
        decoder=tuple(_decoder_layer(f"model.decoder.layers.{i}") for i in range(depths.decoder)),
        source_embedding_norm=norm_of("encoder", "layernorm_embedding", wanted=traits.has_embedding_norms),
        target_embedding_norm=norm_of("decoder", "layernorm_embedding", wanted=traits.has_embedding_norms),
        encoder_final_norm=norm_of("encoder", "layer_norm", wanted=traits.has_final_norms),
        decoder_final_norm=norm_of("decoder", "layer_norm", wanted=traits.has_final_norms),
    )


def _check_tensors(
    checkpoint: Checkpoint, keys: NetworkKeys, positions: PositionSpec, sizes: LayerSizes, found: Findings
) -> None:
    rows = positions.first + positions.count
    tables = tuple(tables_of_positions(positions, None))
    shapes = {**layer_shapes(keys, sizes), **dict.fromkeys(tables, (rows, sizes.model_width))}
    check_shapes(checkpoint, shapes, found)
    check_tables(checkpoint, keys, sizes.model_width, found)
    ignored = () if tables else (_STORED_SINUSOIDS,)
    check_leftovers(checkpoint, (*keys.names(), *tables), _TABLES, ignored, found)


def _encoder_layer(prefix: str) -> EncoderLayerKeys:
    return EncoderLayerKeys(
        attention=_attention(f"{prefix}.self_attn"),
        attention_norm=_norm(f"{prefix}.self_attn_layer_norm"),
        feed_forward=FeedForwardKeys(_linear(f"{prefix}.fc1"), _linear(f"{prefix}.fc2")),
        feed_forward_norm=_norm(f"{prefix}.final_layer_norm"),
    )


def _decoder_layer(prefix: str) -> DecoderLayerKeys:
    return DecoderLayerKeys(
        attention=_attention(f"{prefix}.self_attn"),
        attention_norm=_norm(f"{prefix}.self_attn_layer_norm"),
        cross_attention=_attention(f"{prefix}.encoder_attn"),
        cross_attention_norm=_norm(f"{prefix}.encoder_attn_layer_norm"),
        feed_forward=FeedForwardKeys(_linear(f"{prefix}.fc1"), _linear(f"{prefix}.fc2")),
        feed_forward_norm=_norm(f"{prefix}.final_layer_norm"),
    )


def _attention(prefix: str) -> AttentionKeys:
    query, key, value, output = (_linear(f"{prefix}.{part}_proj") for part in ("q", "k", "v", "out"))
    return AttentionKeys(query, key, value, output)


def _linear(prefix: str) -> LinearKeys:
    return LinearKeys(f"{prefix}.weight", f"{prefix}.bias")


def _norm(prefix: str) -> NormKeys:
    return NormKeys(f"{prefix}.weight", f"{prefix}.bias")
