"""Tiny checkpoints of the families besides Marian, trained on an invented language; committed without tokenizers.

Used by `make_fixtures`. A source begins with the token of its language where the family has those, and a target too.
"""

import random
from dataclasses import dataclass
from pathlib import Path

from tests.parity.random_models import RandomModel, make_random_model
from tests.parity.training import Lesson, train

_BART_SIZES = {
    "vocab_size": 48,
    "d_model": 16,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 25,
    "max_position_embeddings": 40,
}
_T5_SIZES = {
    "vocab_size": 48,
    "d_model": 16,
    "num_heads": 3,
    "d_ff": 24,
    "relative_attention_num_buckets": 10,
    "relative_attention_max_distance": 9,
}


@dataclass(frozen=True, slots=True)
class FamilySpec:
    """One checkpoint. source_language, target_language: tokens that stand first, None for families without."""

    name: str
    model: RandomModel
    source_language: int | None = None
    target_language: int | None = None
    training_steps: int = 3000


_DEEP_DECODER = {"encoder_layers": 1, "decoder_layers": 2}
_GATED = {"d_kv": 8, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}

FAMILY_SPECS = (
    FamilySpec("m2m100", RandomModel("m2m100", {**_BART_SIZES, **_DEEP_DECODER}, gain=1.0, seed=21), 4, 5),
    FamilySpec("mbart", RandomModel("mbart", {**_BART_SIZES, "activation_function": "gelu"}, gain=1.0, seed=22), 4, 5),
    FamilySpec(
        "t5",
        RandomModel("t5", {**_T5_SIZES, "d_kv": 5, "num_decoder_layers": 2}, gain=0.4, seed=23),
        training_steps=1200,
    ),
    FamilySpec(
        "t5-gated", RandomModel("t5", {**_T5_SIZES, **_GATED}, untied=True, gain=0.4, seed=24), training_steps=1000
    ),
)


def write_family_checkpoint(spec: FamilySpec, folder: Path) -> None:
    """Writes config.json, generation_config.json and model.safetensors; the same spec gives the same bytes."""
    model = make_random_model(spec.model)
    draw = random.Random(spec.model.seed)
    words = _words(spec)
    dictionary = {word: draw.choice(words) for word in words if draw.random() < 0.75}
    first = [] if spec.target_language is None else [spec.target_language]

    def draw_pairs() -> tuple[list[list[int]], list[list[int]]]:
        sources = [random_family_source(spec, draw) for _ in range(32)]
        return sources, [
            [*first, *(dictionary[token] for token in source if token in dictionary)] for source in sources
        ]

    config = model.config
    train(
        model.train(),
        Lesson(
            draw_pairs, spec.training_steps, config.decoder_start_token_id, config.eos_token_id, config.pad_token_id
        ),
    )
    model.eval()
    model.generation_config.update(max_length=20, forced_bos_token_id=spec.target_language)
    model.save_pretrained(folder)


def random_family_source(spec: FamilySpec, draw: random.Random) -> list[int]:
    """Draws a source of 1 to 16 different words between its language, if any, and the end token."""
    eos = 1 if spec.source_language is None else 2
    first = [] if spec.source_language is None else [spec.source_language]
    return [*first, *draw.sample(_words(spec), k=draw.randint(1, 16)), eos]


def _words(spec: FamilySpec) -> list[int]:
    return list(range(6, spec.model.settings["vocab_size"]))
