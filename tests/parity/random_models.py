"""Checkpoints of every family with random weights, written by transformers itself, each with a trap or two.

Untrained networks repeat themselves, but what they compute is as good a test of an exporter as what trained ones do.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from transformers import (
    M2M100Config,
    M2M100ForConditionalGeneration,
    MarianConfig,
    MarianMTModel,
    MBartConfig,
    MBartForConditionalGeneration,
    MT5Config,
    MT5ForConditionalGeneration,
    PreTrainedModel,
    T5Config,
    T5ForConditionalGeneration,
)

VOCABULARY = 53
_MODELS: Mapping[str, tuple[Any, Any]] = {
    "marian": (MarianConfig, MarianMTModel),
    "m2m100": (M2M100Config, M2M100ForConditionalGeneration),
    "mbart": (MBartConfig, MBartForConditionalGeneration),
    "t5": (T5Config, T5ForConditionalGeneration),
    "mt5": (MT5Config, MT5ForConditionalGeneration),
}


@dataclass(frozen=True, slots=True)
class RandomModel:
    """One checkpoint to be.

    settings: of its configuration. untied: gives the head weights of its own. forced_first_id, start_id: what outputs
    begin with, and what decoding starts from. edit: changes the files afterwards. rows: scales of rows of the token
    table. gain: how large weights are.
    """

    family: str
    settings: dict[str, Any] = field(default_factory=dict)
    untied: bool = False
    forced_first_id: int | None = None
    start_id: int | None = None
    edit: Callable[[Path], None] | None = None
    rows: Mapping[int, float] = field(default_factory=dict)
    gain: float = 1.5
    seed: int = 0


def write_random_model(case: RandomModel, folder: Path) -> None:
    """Writes config.json, generation_config.json and model.safetensors."""
    make_random_model(case).save_pretrained(folder)
    if case.edit is not None:
        case.edit(folder)


def make_random_model(case: RandomModel) -> PreTrainedModel:
    """Returns a model in evaluation mode, with a generation config that bans what Marian bans."""
    config_class, model_class = _MODELS[case.family]
    torch.manual_seed(case.seed)
    settings = {**(_t5_settings() if "t5" in case.family else _bart_settings(case.family)), **case.settings}
    model = model_class(config_class(**settings)).eval()
    with torch.no_grad():
        if case.untied:
            model.lm_head.weight = torch.nn.Parameter(torch.empty_like(model.lm_head.weight))
        for name, parameter in model.named_parameters():
            _draw(name, parameter, case.gain)
        for row, scale in case.rows.items():
            model.get_input_embeddings().weight[row] *= scale
        if hasattr(model, "final_logits_bias"):
            model.final_logits_bias.normal_(0.0, 0.5)
    if case.family == "marian":
        model.generation_config.update(bad_words_ids=[[model.config.pad_token_id]], renormalize_logits=True)
    return model


def _draw(name: str, parameter: torch.Tensor, gain: float) -> None:
    if not parameter.requires_grad:
        return
    if "norm" in name and name.endswith("weight"):
        parameter.normal_(1.0, 0.2)
    elif parameter.ndim == 1:
        parameter.normal_(0.0, 0.2)
    elif "relative_attention_bias" in name:
        parameter.normal_(0.0, 1.0)
    else:
        parameter.normal_(0.0, gain * parameter.shape[1] ** -0.5)


def _bart_settings(family: str) -> dict[str, Any]:
    pad = VOCABULARY - 1 if family == "marian" else 1
    return {
        "vocab_size": VOCABULARY,
        "d_model": 20,
        "encoder_layers": 2,
        "decoder_layers": 1,
        "encoder_attention_heads": 2,
        "decoder_attention_heads": 2,
        "encoder_ffn_dim": 33,
        "decoder_ffn_dim": 35,
        "max_position_embeddings": 48,
        "pad_token_id": pad,
        "eos_token_id": 2,
        "bos_token_id": 0,
        "decoder_start_token_id": pad if family == "marian" else 2,
        **({} if family == "m2m100" else {"forced_eos_token_id": 2}),
    }


def _t5_settings() -> dict[str, Any]:
    return {
        "vocab_size": VOCABULARY,
        "d_model": 20,
        "d_kv": 6,
        "d_ff": 33,
        "num_layers": 2,
        "num_decoder_layers": 1,
        "num_heads": 3,
        "relative_attention_num_buckets": 8,
        "relative_attention_max_distance": 6,
        "pad_token_id": 0,
        "eos_token_id": 1,
        "decoder_start_token_id": 0,
    }


def move_tensor(old: str, new: str) -> Callable[[Path], None]:
    """Stores a tensor under another name."""

    def edit(folder: Path) -> None:
        tensors = load_file(folder / "model.safetensors")
        tensors[new] = tensors.pop(old)
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})

    return edit


def rewrite_config(**changes: Any) -> Callable[[Path], None]:
    """Changes config.json; None removes an entry."""

    def edit(folder: Path) -> None:
        path = folder / "config.json"
        config = {**json.loads(path.read_text()), **changes}
        path.write_text(json.dumps({name: value for name, value in config.items() if value is not None}))

    return edit
