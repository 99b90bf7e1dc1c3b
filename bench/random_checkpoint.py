"""Checkpoints of OPUS-MT's size with random weights, complete enough for every system's own reader.

What a step costs depends on sizes only. The end token has a bias that no score can outweigh, so that each translation
has exactly the length it is allowed; no system needs a rule for that.
"""

import json
import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

EOS, UNKNOWN = 0, 1
# Logits spread by about 1, so nothing makes up for this; much lower, float32 would round what is left of it.
_NEVER = -100.0
_ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,;:!?'\"-()"
# Numbers of SentencePiece's model format.
_UNIGRAM_MODEL = 1
_UNKNOWN_PIECE, _CONTROL_PIECE = 2, 3


@dataclass(frozen=True, slots=True)
class Sizes:
    """Shape of a network; OPUS-MT's "base" by default."""

    vocabulary_size: int
    layers: int = 6
    model_width: int = 512
    ffn_width: int = 2048
    num_heads: int = 8
    positions: int = 512


def write_random_checkpoint(folder: Path, sizes: Sizes, seed: int = 1) -> Path:
    """Writes a Marian checkpoint in Hugging Face layout, weights in float16; the same seed gives the same bytes."""
    from safetensors.numpy import save_file

    scratch = folder.with_name(folder.name + ".partial")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    save_file(dict(_tensors(sizes, np.random.default_rng(seed))), scratch / "model.safetensors", {"format": "pt"})
    for name, content in (
        ("config.json", model_config(sizes)),
        ("generation_config.json", generation_config(sizes)),
        ("tokenizer_config.json", _TOKENIZER_CONFIG),
        ("vocab.json", {piece: token for token, piece in enumerate(pieces_of(sizes.vocabulary_size))}),
    ):
        (scratch / name).write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    model = _sentencepiece_model(pieces_of(sizes.vocabulary_size))
    for name in ("source.spm", "target.spm"):
        (scratch / name).write_bytes(model)
    scratch.rename(folder)
    return folder


def random_sources(sizes: Sizes, count: int, lengths: tuple[int, int], seed: int) -> list[list[int]]:
    """Draws sources of `lengths[0]` to `lengths[1]` tokens, the end token included."""
    draw = random.Random(seed)
    last = sizes.vocabulary_size - 2
    return [[*(draw.randint(2, last) for _ in range(draw.randint(*lengths) - 1)), EOS] for _ in range(count)]


def model_config(sizes: Sizes) -> dict[str, object]:
    """Gives config.json."""
    pad = sizes.vocabulary_size - 1
    return {
        "architectures": ["MarianMTModel"],
        "model_type": "marian",
        "activation_function": "swish",
        "bos_token_id": EOS,
        "d_model": sizes.model_width,
        "decoder_attention_heads": sizes.num_heads,
        "decoder_ffn_dim": sizes.ffn_width,
        "decoder_layers": sizes.layers,
        "decoder_start_token_id": pad,
        "decoder_vocab_size": sizes.vocabulary_size,
        "dropout": 0.0,
        "dtype": "float32",
        "encoder_attention_heads": sizes.num_heads,
        "encoder_ffn_dim": sizes.ffn_width,
        "encoder_layers": sizes.layers,
        "eos_token_id": EOS,
        "is_encoder_decoder": True,
        "max_position_embeddings": sizes.positions,
        "pad_token_id": pad,
        "scale_embedding": True,
        "share_encoder_decoder_embeddings": True,
        "static_position_embeddings": True,
        "tie_word_embeddings": True,
        "use_cache": True,
        "vocab_size": sizes.vocabulary_size,
    }


def generation_config(sizes: Sizes) -> dict[str, object]:
    """Gives generation_config.json; no token is forced at the end, which only some systems could do."""
    pad = sizes.vocabulary_size - 1
    return {
        "bad_words_ids": [[pad]],
        "bos_token_id": EOS,
        "decoder_start_token_id": pad,
        "eos_token_id": EOS,
        "max_length": sizes.positions,
        "num_beams": 4,
        "pad_token_id": pad,
        "renormalize_logits": True,
    }


def pieces_of(vocabulary_size: int) -> list[str]:
    """Lists the pieces of a vocabulary by id: the specials, single characters, invented words, and padding last."""
    draw = random.Random(vocabulary_size)
    pieces = dict.fromkeys(["</s>", "<unk>", "▁", *_ALPHABET])
    while len(pieces) < vocabulary_size - 1:
        word = "".join(draw.choices(_ALPHABET[:26], k=draw.randint(2, 8)))
        pieces["▁" + word if draw.random() < 0.6 else word] = None
    return [*pieces, "<pad>"]


_TOKENIZER_CONFIG = {
    "source_lang": "en",
    "target_lang": "de",
    "model_max_length": 512,
    "separate_vocabs": False,
    "tokenizer_class": "MarianTokenizer",
    "unk_token": "<unk>",
    "eos_token": "</s>",
    "pad_token": "<pad>",
    "sp_model_kwargs": {},
}


def _sentencepiece_model(pieces: list[str]) -> bytes:
    from sentencepiece.sentencepiece_model_pb2 import ModelProto  # type: ignore[attr-defined]  # made on import

    proto = ModelProto()
    proto.trainer_spec.model_type = _UNIGRAM_MODEL
    proto.trainer_spec.eos_id, proto.trainer_spec.unk_id = EOS, UNKNOWN
    proto.trainer_spec.bos_id = proto.trainer_spec.pad_id = -1
    proto.normalizer_spec.name = "identity"
    for token, piece in enumerate(pieces[:-1]):
        kind = {EOS: _CONTROL_PIECE, UNKNOWN: _UNKNOWN_PIECE}.get(token)
        entry = proto.pieces.add(piece=piece, score=-4.0 - 8.0 * token / len(pieces))
        if kind is not None:
            entry.type = kind
    content: bytes = proto.SerializeToString()
    return content


def _tensors(sizes: Sizes, draw: np.random.Generator) -> Iterator[tuple[str, NDArray[np.float16]]]:
    width, inner = sizes.model_width, sizes.ffn_width
    table = draw.normal(0.0, width**-0.5, (sizes.vocabulary_size, width)).astype(np.float16)
    # CTranslate2 starts from a zero embedding, whatever stands here.
    table[-1] = 0.0
    yield "model.shared.weight", table
    bias = np.zeros((1, sizes.vocabulary_size), np.float16)
    bias[0, EOS] = _NEVER
    yield "final_logits_bias", bias
    for side, attentions in (("encoder", ("self_attn",)), ("decoder", ("self_attn", "encoder_attn"))):
        for layer in range(sizes.layers):
            prefix = f"model.{side}.layers.{layer}"
            for attention in attentions:
                for part in ("q_proj", "k_proj", "v_proj", "out_proj"):
                    yield from _linear(f"{prefix}.{attention}.{part}", (width, width), draw)
                yield from _norm(f"{prefix}.{attention}_layer_norm", width)
            yield from _linear(f"{prefix}.fc1", (inner, width), draw)
            yield from _linear(f"{prefix}.fc2", (width, inner), draw)
            yield from _norm(f"{prefix}.final_layer_norm", width)


def _linear(name: str, shape: tuple[int, int], draw: np.random.Generator) -> Iterator[tuple[str, NDArray[np.float16]]]:
    yield f"{name}.weight", draw.normal(0.0, shape[1] ** -0.5, shape).astype(np.float16)
    yield f"{name}.bias", draw.normal(0.0, 0.02, shape[0]).astype(np.float16)


def _norm(name: str, width: int) -> Iterator[tuple[str, NDArray[np.float16]]]:
    yield f"{name}.weight", np.ones(width, np.float16)
    yield f"{name}.bias", np.zeros(width, np.float16)
