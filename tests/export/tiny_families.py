"""Small checkpoints of every family with random weights and no tokenizer, for tests that look at networks only."""

import json
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
from safetensors.numpy import save_file

from export.checkpoint import Checkpoint
from export.families.m2m100 import describe_m2m100
from export.families.marian import describe_marian
from export.families.mbart import describe_mbart
from export.families.t5 import describe_t5
from tests.export.tiny_networks import kept, layer_shapes

VOCABULARY = 53


@dataclass
class TinyBart:
    """A Marian, M2M100 or mBART checkpoint; change a field, then `open`. Sizes are odd wherever they may be.

    config: entries that replace ours, None removes one. tensors: tensors that are added or replaced, by name; a number
    instead of an array draws one with that many rows. without: tensors left out. vocabulary: rows of the tables.
    """

    family: str
    width: int = 20
    heads: int = 2
    layers: tuple[int, int] = (2, 1)
    inner: int = 33
    activation: str = "relu"
    dtype: type = np.float32
    config: dict = field(default_factory=dict)
    tensors: dict = field(default_factory=dict)
    without: tuple[str, ...] = ()
    seed: int = 0
    vocabulary: int = VOCABULARY

    def open(self, folder):
        describe = {"marian": describe_marian, "m2m100": describe_m2m100, "mbart": describe_mbart}[self.family]
        return opened(folder, self, describe)

    def settings(self):
        pad = self.vocabulary - 1 if self.family == "marian" else 1
        return {
            "model_type": {"m2m100": "m2m_100"}.get(self.family, self.family),
            "d_model": self.width,
            "encoder_layers": self.layers[0],
            "decoder_layers": self.layers[1],
            "encoder_attention_heads": self.heads,
            "decoder_attention_heads": self.heads,
            "encoder_ffn_dim": self.inner,
            "decoder_ffn_dim": self.inner + 2,
            "activation_function": self.activation,
            "scale_embedding": True,
            "max_position_embeddings": 40,
            "eos_token_id": 2,
            "pad_token_id": pad,
            "decoder_start_token_id": pad if self.family == "marian" else 2,
        }

    def weights(self, draw):
        tensors = {"model.shared.weight": draw(self.vocabulary, self.width)}
        if self.family != "m2m100":
            tensors["final_logits_bias"] = draw(1, self.vocabulary)
        for side, layers, inner in zip(("encoder", "decoder"), self.layers, (self.inner, self.inner + 2), strict=True):
            for layer in range(layers):
                for name, shape in layer_shapes(side, self.width, inner).items():
                    tensors[f"model.{side}.layers.{layer}.{name}"] = draw(*shape) + ("norm.weight" in name)
            norms = {"marian": (), "m2m100": ("layer_norm",), "mbart": ("layer_norm", "layernorm_embedding")}
            for norm in norms[self.family]:
                tensors[f"model.{side}.{norm}.weight"] = 1 + draw(self.width)
                tensors[f"model.{side}.{norm}.bias"] = draw(self.width)
            if self.family == "mbart":
                tensors[f"model.{side}.embed_positions.weight"] = draw(42, self.width)
        return tensors


@dataclass
class TinyT5:
    """A T5-like checkpoint; fields as of `TinyBart`. Its heads do not divide the width unless they are made to."""

    model_type: str = "t5"
    width: int = 20
    heads: int = 3
    head_width: int = 6
    layers: tuple[int, int] = (2, 1)
    inner: int = 33
    feed_forward: str = "relu"
    buckets: int = 8
    max_distance: int = 5
    dtype: type = np.float32
    config: dict = field(default_factory=dict)
    tensors: dict = field(default_factory=dict)
    without: tuple[str, ...] = ()
    seed: int = 0
    vocabulary: int = VOCABULARY

    def open(self, folder):
        return opened(folder, self, describe_t5)

    def settings(self):
        return {
            "model_type": self.model_type,
            "d_model": self.width,
            "d_kv": self.head_width,
            "d_ff": self.inner,
            "num_heads": self.heads,
            "num_layers": self.layers[0],
            "num_decoder_layers": self.layers[1],
            "feed_forward_proj": self.feed_forward,
            "relative_attention_num_buckets": self.buckets,
            "relative_attention_max_distance": self.max_distance,
            "layer_norm_epsilon": 1e-6,
            "pad_token_id": 0,
            "eos_token_id": 1,
            "decoder_start_token_id": 0,
        }

    def weights(self, draw):
        inside = self.heads * self.head_width
        gated = self.feed_forward.startswith("gated-")
        tensors = {"shared.weight": draw(self.vocabulary, self.width)}
        for side, layers in zip(("encoder", "decoder"), self.layers, strict=True):
            attentions = ("SelfAttention",) if side == "encoder" else ("SelfAttention", "EncDecAttention")
            for layer in range(layers):
                for index, name in enumerate((*attentions, "DenseReluDense")):
                    prefix = f"{side}.block.{layer}.layer.{index}"
                    tensors[f"{prefix}.layer_norm.weight"] = 1 + draw(self.width)
                    shapes = {**dict.fromkeys("qkv", (inside, self.width)), "o": (self.width, inside)}
                    if name == "DenseReluDense":
                        inner = ("wi_0", "wi_1") if gated else ("wi",)
                        shapes = {**dict.fromkeys(inner, (self.inner, self.width)), "wo": (self.width, self.inner)}
                    tensors |= {f"{prefix}.{name}.{part}.weight": draw(*shape) for part, shape in shapes.items()}
            table = f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
            tensors[table] = draw(self.buckets, self.heads)
            tensors[f"{side}.final_layer_norm.weight"] = 1 + draw(self.width)
        return tensors


def opened(folder, network, describe):
    """Writes a checkpoint and returns it with its spec."""
    write_network(folder, network)
    checkpoint = Checkpoint.open(folder)
    return checkpoint, describe(checkpoint)


def write_network(folder, network, settings=MappingProxyType({})):
    """Writes weights and config.json, whose further settings go before the network's own."""
    random = np.random.default_rng(network.seed)

    def draw(*shape):
        return (random.standard_normal(shape) * 0.4).astype(np.float32)

    tensors = network.weights(draw)
    for name, value in network.tensors.items():
        tensors[name] = draw(value, network.width) if isinstance(value, int) else value
    stored = {name: values.astype(network.dtype) for name, values in tensors.items() if name not in network.without}
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(kept({**network.settings(), **network.config, **settings})))
    save_file(stored, folder / "model.safetensors", metadata={"format": "pt"})
