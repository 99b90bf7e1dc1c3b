"""Small MarianMT checkpoints with random weights, made in the test; no torch involved."""

import json
from dataclasses import dataclass, field

import numpy as np
from safetensors.numpy import save_file

from export.verify.agreement import AgreementLimits
from tests.export.tiny_tokenizers import TinyCheckpoint, read_ids, write_json

# Random weights say nothing about quality.
NO_LIMITS = AgreementLimits(min_top1=0.0, max_mean_divergence=float("inf"))


@dataclass
class TinyNetwork:
    """What a checkpoint is made from; change a field, then `write`. Sizes are odd wherever they may be.

    config, generation: entries that replace ours, None removes one. tensors: tensors that are added or replaced.
    without: tensors left out.
    """

    tokenizers: TinyCheckpoint = field(default_factory=TinyCheckpoint)
    width: int = 20
    heads: int = 2
    encoder_layers: int = 2
    decoder_layers: int = 1
    inner: int = 33
    activation: str = "swish"
    dtype: type = np.float32
    config: dict = field(default_factory=dict)
    generation: dict = field(default_factory=dict)
    tensors: dict = field(default_factory=dict)
    without: tuple[str, ...] = ()
    seed: int = 0

    def write(self, folder):
        self.tokenizers.write(folder)
        sizes = json.loads((folder / "config.json").read_text())
        settings = self.settings(folder, sizes)
        decoding = {
            "bad_words_ids": [[settings["pad_token_id"]]],
            "num_beams": 3,
            "max_length": 40,
            "renormalize_logits": True,
        }
        write_json(folder / "config.json", kept({**settings, **self.config}))
        write_json(folder / "generation_config.json", kept({**decoding, **self.generation}))
        options = json.loads((folder / "tokenizer_config.json").read_text())
        write_json(folder / "tokenizer_config.json", {"source_lang": "en", "target_lang": "de", **options})
        tensors = {**self.weights(sizes["vocab_size"], sizes["decoder_vocab_size"]), **self.tensors}
        stored = {name: tensor.astype(self.dtype) for name, tensor in tensors.items() if name not in self.without}
        save_file(stored, folder / "model.safetensors", metadata={"format": "pt"})
        return folder

    def settings(self, folder, sizes):
        target_ids = read_ids(folder, "target_vocab.json" if self.tokenizers.separate else "vocab.json")
        return {
            **sizes,
            "d_model": self.width,
            "encoder_layers": self.encoder_layers,
            "decoder_layers": self.decoder_layers,
            "encoder_attention_heads": self.heads,
            "decoder_attention_heads": self.heads,
            "encoder_ffn_dim": self.inner,
            "decoder_ffn_dim": self.inner + 2,
            "activation_function": self.activation,
            "scale_embedding": True,
            "max_position_embeddings": 64,
            "share_encoder_decoder_embeddings": not self.tokenizers.separate,
            "tie_word_embeddings": True,
            "eos_token_id": target_ids["</s>"],
            "pad_token_id": target_ids["<pad>"],
            "decoder_start_token_id": target_ids["<pad>"],
        }

    def weights(self, source_size, target_size):
        random = np.random.default_rng(self.seed)

        def tensor(*shape, scale=0.4):
            return (random.standard_normal(shape) * scale).astype(np.float32)

        tensors = {"final_logits_bias": tensor(1, target_size, scale=1)}
        if self.tokenizers.separate:
            tensors["model.encoder.embed_tokens.weight"] = tensor(source_size, self.width)
            tensors["model.decoder.embed_tokens.weight"] = tensor(target_size, self.width)
        else:
            tensors["model.shared.weight"] = tensor(source_size, self.width)
        for side, layers, inner in (
            ("encoder", self.encoder_layers, self.inner),
            ("decoder", self.decoder_layers, self.inner + 2),
        ):
            for layer in range(layers):
                prefix = f"model.{side}.layers.{layer}"
                for name, shape in layer_shapes(side, self.width, inner).items():
                    gain = 1 if "layer_norm.weight" in name else 0
                    tensors[f"{prefix}.{name}"] = gain + tensor(*shape)
        return tensors


def layer_shapes(side, width, inner):
    attentions = ("self_attn", "encoder_attn") if side == "decoder" else ("self_attn",)
    shapes = {}
    for attention in attentions:
        for part in ("q_proj", "k_proj", "v_proj", "out_proj"):
            shapes[f"{attention}.{part}.weight"] = (width, width)
            shapes[f"{attention}.{part}.bias"] = (width,)
    for norm in (*(f"{attention}_layer_norm" for attention in attentions), "final_layer_norm"):
        shapes[f"{norm}.weight"] = (width,)
        shapes[f"{norm}.bias"] = (width,)
    shapes |= {"fc1.weight": (inner, width), "fc1.bias": (inner,), "fc2.weight": (width, inner), "fc2.bias": (width,)}
    return shapes


def kept(entries):
    return {name: value for name, value in entries.items() if value is not None}
