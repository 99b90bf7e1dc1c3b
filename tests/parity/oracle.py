"""What Hugging Face `generate` does with a checkpoint: the reference that Verso's decoding is compared with.

One source is decoded at a time, so that no padding touches the numbers. Needs torch and transformers; imported only by
tests with the marker `parity` and by `make_fixtures`.
"""

import copy
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch.nn.functional import log_softmax
from transformers import AutoModelForSeq2SeqLM, GenerationConfig, MarianTokenizer, PreTrainedModel
from transformers.generation.logits_process import (
    ForcedBOSTokenLogitsProcessor,
    ForcedEOSTokenLogitsProcessor,
    LogitNormalization,
    LogitsProcessor,
    LogitsProcessorList,
    MinNewTokensLengthLogitsProcessor,
    NoBadWordsLogitsProcessor,
    NoRepeatNGramLogitsProcessor,
    RepetitionPenaltyLogitsProcessor,
)
from transformers.utils.logging import disable_progress_bar

from service.search.options import DecodingOptions

torch.set_num_threads(1)
disable_progress_bar()


@dataclass(frozen=True, slots=True)
class OracleOutput:
    """One returned sequence: ids without the start token, up to and with the end token; `score` is `sequences_scores`
    (sum of log-probabilities over length to the power of the length penalty), None for greedy search."""

    token_ids: tuple[int, ...]
    score: float | None


@dataclass(frozen=True, slots=True)
class Oracle:
    """A checkpoint in evaluation mode with its own generation config.

    forced_first_id: the token that every output begins with, such as a language, if any.
    """

    model: PreTrainedModel
    generation: GenerationConfig
    forced_first_id: int | None = None

    @property
    def start_id(self) -> int:
        return int(self.generation.decoder_start_token_id)

    @property
    def eos_id(self) -> int:
        return int(self.generation.eos_token_id)

    @property
    def pad_id(self) -> int:
        return int(self.generation.pad_token_id)

    @property
    def banned_ids(self) -> list[int]:
        return [word[0] for word in self.generation.bad_words_ids or [] if len(word) == 1]

    @property
    def vocabulary_size(self) -> int:
        return int(self.model.lm_head.out_features)


def load_oracle(folder: Path, *, double: bool = False, logit_noise: float = 0.0, half_weights: bool = False) -> Oracle:
    """Opens a checkpoint in Hugging Face layout and widens its weights to float32 (float64 when `double`).

    half_weights: rounds every stored tensor to float16 first, as the checkpoint committed in this repository is.
    logit_noise: standard deviation of a fixed random change of all logits; a decoding that survives a tiny one does not
        rest on a tie.
    """
    model = AutoModelForSeq2SeqLM.from_pretrained(folder, dtype=torch.float32).eval()
    if half_weights:
        _round_stored_tensors(model, folder)
    if double:
        model = model.double()
    if logit_noise:
        generator = torch.Generator().manual_seed(7)
        noise = logit_noise * torch.randn(model.lm_head.out_features, generator=generator, dtype=torch.float64)
        model.lm_head.register_forward_hook(lambda _, inputs, logits: logits + noise.to(logits.dtype))
    # `generate` would fill the length left out of a request from here, and then remark on two lengths.
    model.generation_config.max_length = None
    return Oracle(model, GenerationConfig.from_pretrained(folder))


def load_tokenizer(folder: Path) -> MarianTokenizer:
    """Opens the tokenizer of a checkpoint; it works as well without the optional package that it recommends."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Recommended: pip install sacremoses")
        return MarianTokenizer.from_pretrained(folder)


def generate(oracle: Oracle, source_ids: Sequence[int], options: DecodingOptions | None) -> list[OracleOutput]:
    """Decodes one source (ids with its end token); None decodes as the checkpoint's own generation config says.

    Returns `num_hypotheses` sequences, best first.
    """
    ids = torch.tensor([list(source_ids)])
    config = copy.deepcopy(oracle.generation)
    fields = {} if options is None else _fields(options)
    if oracle.forced_first_id is not None:
        fields["forced_bos_token_id"] = oracle.forced_first_id
    if getattr(oracle.model.config, "num_decoder_layers", 0) > oracle.model.config.num_hidden_layers:
        # transformers 5.24 makes a cache for as many layers of T5's decoder as its encoder has.
        fields["use_cache"] = False
    config.update(return_dict_in_generate=True, output_scores=True, **fields)
    with torch.no_grad():
        output = oracle.model.generate(ids, attention_mask=torch.ones_like(ids), generation_config=config)
    scores = getattr(output, "sequences_scores", None)
    return [
        OracleOutput(_trim(oracle, sequence), None if scores is None else float(scores[index]))
        for index, sequence in enumerate(output.sequences.tolist())
    ]


def log_prob_rows(oracle: Oracle, source_ids: Sequence[int], target_ids: Sequence[int]) -> torch.Tensor:
    """Returns log-probabilities (len(target_ids) + 1, V) by teacher forcing; banned ids are masked before the softmax.

    Row t is the distribution after the start token and `target_ids[:t]`.
    """
    ids = torch.tensor([list(source_ids)])
    target = torch.tensor([[oracle.start_id, *target_ids]])
    with torch.no_grad():
        logits = oracle.model(
            input_ids=ids, attention_mask=torch.ones_like(ids), decoder_input_ids=target, use_cache=False
        ).logits[0]
    logits[:, oracle.banned_ids] = -torch.inf
    return log_softmax(logits, dim=-1)


def token_log_probs(oracle: Oracle, source_ids: Sequence[int], target_ids: Sequence[int]) -> list[float]:
    """Returns the log-probability of every target token, given the source and the tokens before it."""
    rows = log_prob_rows(oracle, source_ids, target_ids)
    return [float(rows[position, token]) for position, token in enumerate(target_ids)]


def search_log_probs(
    oracle: Oracle, source_ids: Sequence[int], target_ids: Sequence[int], options: DecodingOptions
) -> list[float]:
    """Returns what each token of a target adds to its score in a search with `options`, processors included."""
    ids = torch.tensor([list(source_ids)])
    target = torch.tensor([[oracle.start_id, *target_ids]])
    with torch.no_grad():
        logits = oracle.model(
            input_ids=ids, attention_mask=torch.ones_like(ids), decoder_input_ids=target, use_cache=False
        ).logits[0]
    scores = logits.float() if options.beam_size == 1 else log_softmax(logits.float(), dim=-1)
    processors = _processors(oracle, options)
    return [
        float(processors(target[:, : position + 1], scores[position : position + 1].clone())[0, token])
        for position, token in enumerate(target_ids)
    ]


def _processors(oracle: Oracle, options: DecodingOptions) -> LogitsProcessorList:
    chosen: list[LogitsProcessor] = []
    if options.repetition_penalty != 1.0:
        chosen.append(RepetitionPenaltyLogitsProcessor(options.repetition_penalty))
    if options.no_repeat_ngram_size:
        chosen.append(NoRepeatNGramLogitsProcessor(options.no_repeat_ngram_size))
    if oracle.banned_ids:
        chosen.append(NoBadWordsLogitsProcessor(oracle.generation.bad_words_ids, oracle.eos_id))
    if options.min_new_tokens:
        chosen.append(MinNewTokensLengthLogitsProcessor(1, options.min_new_tokens, oracle.eos_id))
    if oracle.forced_first_id is not None:
        chosen.append(ForcedBOSTokenLogitsProcessor(oracle.forced_first_id))
    if oracle.generation.forced_eos_token_id is not None:
        chosen.append(ForcedEOSTokenLogitsProcessor(options.max_new_tokens + 1, oracle.eos_id))
    if oracle.generation.renormalize_logits:
        chosen.append(LogitNormalization())
    return LogitsProcessorList(chosen)


def _fields(options: DecodingOptions) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "do_sample": False,
        "num_beams": options.beam_size,
        "num_return_sequences": options.num_hypotheses,
        "max_length": None,
        "max_new_tokens": options.max_new_tokens,
        "repetition_penalty": options.repetition_penalty,
        "no_repeat_ngram_size": options.no_repeat_ngram_size,
    }
    if options.min_new_tokens:
        fields["min_new_tokens"] = options.min_new_tokens
    if options.beam_size > 1:
        fields |= {"length_penalty": options.length_penalty, "early_stopping": options.early_stopping}
    return fields


def _trim(oracle: Oracle, sequence: list[int]) -> tuple[int, ...]:
    tokens = sequence[1:]
    if oracle.eos_id in tokens:
        return tuple(tokens[: tokens.index(oracle.eos_id) + 1])
    return tuple(tokens)


def _round_stored_tensors(model: PreTrainedModel, folder: Path) -> None:
    state = model.state_dict()
    with safe_open(folder / "model.safetensors", framework="pt") as stored:
        for name in stored.keys():  # noqa: SIM118 - the handle is not iterable
            state[name].copy_(stored.get_tensor(name).half().float())
