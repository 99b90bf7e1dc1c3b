"""Marian (OPUS-MT) checkpoints: post-norm, generated sinusoids, a bias on the head, decoding that starts from pad.

Weight tying is read off the tensors in the file; configuration flags about it are only reported.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

from export.checkpoint import Checkpoint
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
    PositionSpec,
    SpecialIds,
)
from service.errors import ExportError

_ACTIVATIONS: Mapping[str, Activation] = {
    "relu": "relu",
    "silu": "swish",
    "swish": "swish",
    "gelu": "gelu",
    "gelu_python": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "quick_gelu": "quick_gelu",
}
_NORM_EPSILON = 1e-5
_INTEGERS = (
    "d_model",
    "encoder_layers",
    "decoder_layers",
    "encoder_attention_heads",
    "decoder_attention_heads",
    "encoder_ffn_dim",
    "decoder_ffn_dim",
    "max_position_embeddings",
    "pad_token_id",
    "eos_token_id",
    "decoder_start_token_id",
)


@dataclass
class _Findings:
    """What reading a checkpoint turned up."""

    problems: list[str] = field(default_factory=list)
    decisions: list[str] = field(default_factory=list)


def describe_marian(checkpoint: Checkpoint) -> ModelSpec:
    """The network of a Marian checkpoint. Raises ExportError with every reason why it cannot be one."""
    found = _Findings()
    config = checkpoint.config
    numbers = _integers(config, found)
    activation = _activation(config, found)
    if found.problems or activation is None:
        raise ExportError("the configuration is not one of a Marian network that can be exported", found.problems)
    keys = _network_keys(checkpoint, numbers, found)
    if found.problems:
        raise ExportError("weights are missing or have unexpected shapes", found.problems)
    width, heads = numbers["d_model"], numbers["encoder_attention_heads"]
    specials = SpecialIds(numbers["decoder_start_token_id"], numbers["eos_token_id"], numbers["pad_token_id"])
    spec = ModelSpec(
        family="marian",
        model_width=width,
        num_heads=heads,
        head_width=width // heads,
        norm_order="post",
        norm_epsilon=_NORM_EPSILON,
        activation=activation,
        embedding_scale=sqrt(width) if config.get("scale_embedding") else 1.0,
        attention_scale=(width // heads) ** -0.5,
        positions=PositionSpec("sinusoid_halves", 0, numbers["max_position_embeddings"]),
        source_vocabulary_size=checkpoint.shape(keys.source_table)[0],
        target_vocabulary_size=checkpoint.shape(keys.target_table)[0],
        special_ids=specials,
        banned_ids=(specials.pad,),
        alignment_layer=numbers["decoder_layers"] - 1,
        keys=keys,
        decisions=tuple(found.decisions),
    )
    _check_ids(spec)
    return spec


def _integers(config: Mapping[str, Any], found: _Findings) -> dict[str, int]:
    numbers: dict[str, int] = {}
    for name in _INTEGERS:
        value = config.get(name)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            found.problems.append(f"config.json: {name} must be a whole number of at least 0, not {value!r}")
        else:
            numbers[name] = value
    if found.problems:
        return numbers
    for name in ("d_model", "encoder_layers", "decoder_layers", "encoder_attention_heads", "max_position_embeddings"):
        if numbers[name] == 0:
            found.problems.append(f"config.json: {name} must be at least 1")
    if numbers["encoder_attention_heads"] != numbers["decoder_attention_heads"]:
        found.problems.append("config.json: encoder and decoder must have the same number of attention heads")
    elif numbers["encoder_attention_heads"] and numbers["d_model"] % numbers["encoder_attention_heads"]:
        found.problems.append("config.json: d_model must be a multiple of the number of attention heads")
    return numbers


def _activation(config: Mapping[str, Any], found: _Findings) -> Activation | None:
    name = config.get("activation_function")
    activation = _ACTIVATIONS.get(name) if isinstance(name, str) else None
    if activation is None:
        found.problems.append(
            f"config.json: activation_function {name!r} is not known (known: {', '.join(_ACTIVATIONS)})"
        )
    return activation


def _network_keys(checkpoint: Checkpoint, numbers: Mapping[str, int], found: _Findings) -> NetworkKeys:
    keys = NetworkKeys(
        *_tables(checkpoint, found),
        head_bias="final_logits_bias" if "final_logits_bias" in checkpoint.names else None,
        encoder=tuple(_encoder_layer(f"model.encoder.layers.{i}") for i in range(numbers["encoder_layers"])),
        decoder=tuple(_decoder_layer(f"model.decoder.layers.{i}") for i in range(numbers["decoder_layers"])),
    )
    if keys.head_bias is None:
        found.decisions.append("no final_logits_bias in the file: the head has no bias")
    _check_shapes(checkpoint, keys, numbers, found)
    return keys


def _tables(checkpoint: Checkpoint, found: _Findings) -> tuple[str, str, str]:
    """Source, target and head table: a module's own tensor where the file has it, else what it may be tied to."""
    shared = "model.shared.weight"
    own_source, own_target = "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"
    source = _first_present(checkpoint, "source embedding", (own_source, shared, own_target), found)
    target = _first_present(checkpoint, "target embedding", (own_target, shared), found)
    head = _first_present(checkpoint, "head", ("lm_head.weight", own_target, shared), found)
    if not found.problems:
        for role, name, flag in (
            ("source and target embedding", source, "share_encoder_decoder_embeddings"),
            ("head and target embedding", head, "tie_word_embeddings"),
        ):
            tied = name == target or checkpoint.equal(name, target)
            found.decisions.append(
                f"{role}: {'one table' if tied else 'two tables'} in the file "
                f"(config.json: {flag} = {checkpoint.config.get(flag)})"
            )
    return source, target, head


def _first_present(checkpoint: Checkpoint, role: str, names: tuple[str, ...], found: _Findings) -> str:
    for name in names:
        if name in checkpoint.names:
            return name
    found.problems.append(f"the {role} is missing: none of {', '.join(names)}")
    return names[0]


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


def _check_shapes(checkpoint: Checkpoint, keys: NetworkKeys, numbers: Mapping[str, int], found: _Findings) -> None:
    """Adds every missing tensor and every tensor whose shape does not follow from the configuration."""
    width = numbers["d_model"]
    for name in dict.fromkeys(keys.names()):
        if name not in checkpoint.names:
            if name not in (keys.source_table, keys.target_table, keys.head_table):
                found.problems.append(f"tensor {name} is missing")
            continue
        shape = checkpoint.shape(name)
        inner = numbers["encoder_ffn_dim" if ".encoder." in name else "decoder_ffn_dim"]
        expected: tuple[int, ...] = (width, width) if name.endswith("weight") else (width,)
        if ".fc1." in name:
            expected = (inner, width)[: len(expected)]
        elif name.endswith(".fc2.weight"):
            expected = (width, inner)
        elif "layer_norm" in name:
            expected = (width,)
        elif ".layers." not in name:
            continue
        if shape != expected:
            found.problems.append(f"tensor {name} has shape {list(shape)}, not {list(expected)}")
    _check_table_shapes(checkpoint, keys, width, found)


def _check_table_shapes(checkpoint: Checkpoint, keys: NetworkKeys, width: int, found: _Findings) -> None:
    tables = [name for name in (keys.source_table, keys.target_table, keys.head_table) if name in checkpoint.names]
    for name in dict.fromkeys(tables):
        shape = checkpoint.shape(name)
        if len(shape) != 2 or shape[1] != width:
            found.problems.append(f"tensor {name} has shape {list(shape)}, not [vocabulary, {width}]")
    if len(tables) < 3:
        return
    rows = checkpoint.shape(keys.target_table)[0]
    if checkpoint.shape(keys.head_table)[0] != rows:
        found.problems.append(f"the head has {checkpoint.shape(keys.head_table)[0]} outputs for {rows} target tokens")
    if keys.head_bias is not None and checkpoint.shape(keys.head_bias) not in ((rows,), (1, rows)):
        found.problems.append(f"final_logits_bias has shape {list(checkpoint.shape(keys.head_bias))}, not [1, {rows}]")


def _check_ids(spec: ModelSpec) -> None:
    ids = {
        "decoder_start_token_id": spec.special_ids.decoder_start,
        "eos_token_id": spec.special_ids.eos,
        "pad_token_id": spec.special_ids.pad,
    }
    problems = [
        f"config.json: {name} is {value}, beyond the target vocabulary of {spec.target_vocabulary_size}"
        for name, value in ids.items()
        if value >= spec.target_vocabulary_size
    ]
    if spec.special_ids.eos in spec.banned_ids:
        problems.append("config.json: eos_token_id and pad_token_id are the same, so no translation could end")
    if problems:
        raise ExportError("special ids do not fit the vocabulary", problems)
