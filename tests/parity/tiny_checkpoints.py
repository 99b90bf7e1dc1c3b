"""Tiny Marian checkpoints in Hugging Face layout, each with a trap that a real family member has.

Purely random weights repeat one token for ever, so each is trained for some seconds on an invented language: output
varies with the source, ends at many lengths and is unsure enough for beam search to matter. Used by `make_fixtures`.
"""

import io
import json
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import sentencepiece
import torch
from transformers import GenerationConfig, MarianConfig, MarianMTModel

from tests.parity.training import Lesson, train

MAX_LENGTH = 40
GERMAN_LINES = (
    "guten morgen wie geht es dir heute",
    "wir gehen nach hause bevor es dunkel wird",
    "der hund schläft unter dem tisch",
    "ich weiß nicht wo die schlüssel sind",
    "wann fährt der nächste zug nach berlin",
    "das wasser im see ist noch zu kalt zum baden",
    "sie hat mir gestern ein schönes buch geschenkt",
    "die kinder spielen im garten und singen dabei",
    "können sie mir bitte sagen wie spät es ist",
    "er möchte lieber zu fuß gehen als auf den bus warten",
    "im winter sind die straßen oft glatt und leer",
    "meine schwester wohnt seit zwei jahren in einer kleinen stadt",
    "je länger ich darüber nachdenke desto weniger verstehe ich es",
    "quark und joghurt stehen im kühlschrank neben der milch",
)


@dataclass(frozen=True, slots=True)
class TinySpec:
    """Shape and traps of one checkpoint; ids are positions in the vocabularies."""

    name: str
    seed: int
    layers: tuple[int, int]
    model_width: int
    ffn_width: int
    activation: str
    source_vocabulary_size: int
    target_vocabulary_size: int
    pad_id: int
    eos_id: int
    unk_id: int
    separate: bool = False
    shuffled: bool = False
    training_steps: int = 500
    pad_bias: float = 0.0
    scale_embedding: bool = True


SPECS = (
    TinySpec("deep-encoder", 11, (3, 1), 24, 40, "swish", 64, 64, pad_id=63, eos_id=0, unk_id=1),
    TinySpec(
        "deep-decoder", 12, (1, 3), 20, 33, "relu", 80, 80, pad_id=79, eos_id=0, unk_id=1, shuffled=True,
        pad_bias=6.0, scale_embedding=False,
    ),
    TinySpec(
        "two-vocabularies", 13, (2, 2), 16, 32, "swish", 84, 62, pad_id=61, eos_id=0, unk_id=1, separate=True,
        shuffled=True,
    ),
    TinySpec("late-end-id", 14, (2, 1), 16, 24, "gelu", 70, 70, pad_id=0, eos_id=5, unk_id=2, shuffled=True),
)  # fmt: skip


def write_tiny_checkpoint(spec: TinySpec, folder: Path, english_lines: Sequence[str]) -> None:
    """Writes weights, configs and tokenizer files of `spec` into `folder`; the same spec gives the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    _write_tokenizer(spec, folder, english_lines)
    torch.set_num_threads(1)  # sums in another order would give other weights
    torch.manual_seed(spec.seed)
    model = MarianMTModel(_config(spec))
    _draw_weights(model, spec)
    _train(model.train(), spec)
    model.eval()
    model.generation_config = _generation_config(spec)
    model.save_pretrained(folder)


def _config(spec: TinySpec) -> MarianConfig:
    return MarianConfig(
        vocab_size=spec.source_vocabulary_size,
        decoder_vocab_size=spec.target_vocabulary_size,
        share_encoder_decoder_embeddings=not spec.separate,
        encoder_layers=spec.layers[0],
        decoder_layers=spec.layers[1],
        d_model=spec.model_width,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=spec.ffn_width,
        decoder_ffn_dim=spec.ffn_width,
        activation_function=spec.activation,
        scale_embedding=spec.scale_embedding,
        max_position_embeddings=64,
        pad_token_id=spec.pad_id,
        eos_token_id=spec.eos_id,
        bos_token_id=spec.eos_id,
        forced_eos_token_id=spec.eos_id,
        decoder_start_token_id=spec.pad_id,
        dropout=0.0,
    )


def _generation_config(spec: TinySpec) -> GenerationConfig:
    return GenerationConfig(
        bad_words_ids=[[spec.pad_id]],
        bos_token_id=spec.eos_id,
        decoder_start_token_id=spec.pad_id,
        eos_token_id=spec.eos_id,
        forced_eos_token_id=spec.eos_id,
        pad_token_id=spec.pad_id,
        max_length=MAX_LENGTH,
        num_beams=4,
        renormalize_logits=True,
    )


def _draw_weights(model: MarianMTModel, spec: TinySpec) -> None:
    for name, parameter in model.named_parameters():
        if "embed_positions" in name:
            continue
        with torch.no_grad():
            if "embed_tokens" in name or name == "model.shared.weight":
                parameter.normal_(0.0, spec.model_width**-0.5)
                parameter[spec.pad_id] = 0.0
            elif "layer_norm.weight" in name:
                parameter.normal_(1.0, 0.1)
            elif parameter.ndim == 1:
                parameter.normal_(0.0, 0.1)
            else:
                parameter.normal_(0.0, parameter.shape[1] ** -0.5)
    bias = torch.randn_like(model.final_logits_bias)
    bias[0, spec.pad_id] += spec.pad_bias
    model.final_logits_bias.copy_(bias)


def _train(model: MarianMTModel, spec: TinySpec) -> None:
    """Teaches the invented language: most source words have a target word, in the same order; the others are silent."""
    draw = random.Random(spec.seed)
    dictionary = _dictionary(spec, draw)

    def draw_pairs() -> tuple[list[list[int]], list[list[int]]]:
        sources = [random_source(spec, draw) for _ in range(32)]
        return sources, [[dictionary[token] for token in source if token in dictionary] for source in sources]

    train(model, Lesson(draw_pairs, spec.training_steps, spec.pad_id, spec.eos_id, spec.pad_id, bans_pad=True))


def random_source(spec: TinySpec, draw: random.Random) -> list[int]:
    """Draws a source of 1 to 30 random ids and the end token."""
    words = _words(spec.source_vocabulary_size, spec)
    return [*draw.choices(words, k=draw.randint(1, 30)), spec.eos_id]


def _dictionary(spec: TinySpec, draw: random.Random) -> dict[int, int]:
    source_words = _words(spec.source_vocabulary_size, spec)
    target_words = _words(spec.target_vocabulary_size, spec)
    return {word: draw.choice(target_words) for word in source_words if draw.random() < 0.75}


def _words(size: int, spec: TinySpec) -> list[int]:
    return [index for index in range(size) if index not in (spec.pad_id, spec.eos_id)]


def _write_tokenizer(spec: TinySpec, folder: Path, english_lines: Sequence[str]) -> None:
    english = [re.sub(r"[^a-z' ]", "", line.lower()) for line in english_lines]
    target_lines = GERMAN_LINES if spec.separate else english
    source_model = _train_sentencepiece(english, spec.source_vocabulary_size)
    target_model = _train_sentencepiece(target_lines, spec.target_vocabulary_size)
    (folder / "source.spm").write_bytes(source_model)
    (folder / "target.spm").write_bytes(target_model)
    _write_vocabulary(spec, source_model, spec.source_vocabulary_size, folder / "vocab.json")
    if spec.separate:
        _write_vocabulary(spec, target_model, spec.target_vocabulary_size, folder / "target_vocab.json")
    config = {
        "model_max_length": 64,
        "separate_vocabs": spec.separate,
        "source_lang": "en",
        "target_lang": "de",
        "tokenizer_class": "MarianTokenizer",
        "unk_token": "<unk>",
        "eos_token": "</s>",
        "pad_token": "<pad>",
        "sp_model_kwargs": {},
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=1) + "\n")


def _train_sentencepiece(lines: Sequence[str], size: int) -> bytes:
    """Trains `size` pieces. A shuffled vocabulary has room for all but one: the rest maps to the unknown id."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=model,
        vocab_size=size,
        model_type="unigram",
        normalization_rule_name="identity",
        num_threads=1,
        eos_id=0,
        unk_id=1,
        bos_id=-1,
        pad_id=-1,
        minloglevel=2,
    )
    return model.getvalue()


def _write_vocabulary(spec: TinySpec, sentencepiece_model: bytes, size: int, path: Path) -> None:
    processor = sentencepiece.SentencePieceProcessor(model_proto=sentencepiece_model)
    pieces = [processor.id_to_piece(index) for index in range(2, size)]
    if spec.shuffled:
        random.Random(spec.seed).shuffle(pieces)
    fixed = {spec.eos_id: "</s>", spec.unk_id: "<unk>", spec.pad_id: "<pad>"}
    rest = iter(pieces)
    vocabulary = {fixed[index] if index in fixed else next(rest): index for index in range(size)}
    path.write_text(json.dumps(vocabulary, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")
