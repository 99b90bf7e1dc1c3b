"""Decoding defaults of a checkpoint, from generation_config.json or, for old checkpoints, from config.json.

Settings the service cannot honour and that would change translations are refused, all of them at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from export.checkpoint import Checkpoint
from export.families.spec import ModelSpec
from export.text_prefix import TextPrefixes
from service.errors import ExportError
from service.package.manifest import Generation

# Setting and the value at which it does nothing.
_UNSUPPORTED: Mapping[str, Any] = {
    "begin_suppress_tokens": None,
    "constraints": None,
    "diversity_penalty": 0.0,
    "dola_layers": None,
    "encoder_no_repeat_ngram_size": 0,
    "encoder_repetition_penalty": 1.0,
    "exponential_decay_length_penalty": None,
    "force_words_ids": None,
    "forced_decoder_ids": None,
    "guidance_scale": None,
    "max_time": None,
    "num_beam_groups": 1,
    "penalty_alpha": None,
    "sequence_bias": None,
    "stop_strings": None,
    "watermarking_config": None,
}

# What a task may set for its translations.
_TASK_SETTINGS = {"early_stopping", "length_penalty", "max_length", "min_length", "no_repeat_ngram_size", "num_beams"}

# The max_length of every configuration that names none: written out by some tools, meant by nobody.
_LIBRARY_MAX_LENGTH = 20


@dataclass(frozen=True, slots=True)
class GenerationDefaults:
    """Decoding defaults, what they add to the spec, and the lines the log gets about them.

    banned_ids: ids that can never be produced besides the spec's own. forced_first_id: the first token, if fixed.
    """

    generation: Generation
    banned_ids: tuple[int, ...]
    forced_first_id: int | None
    decisions: tuple[str, ...]


def read_generation(checkpoint: Checkpoint, spec: ModelSpec) -> GenerationDefaults:
    """Decoding defaults of a checkpoint, in Hugging Face `generate` terms. Raises ExportError with every problem.

    `max_length` and `min_length` there count the start token; ours count new tokens only.
    """
    settings, origin = checkpoint.generation, "generation_config.json"
    if not settings:
        settings, origin = checkpoint.config, "config.json"
    own = {key for key, value in settings.items() if value is not None} - _unmeant(settings)
    from_tasks = {key: value for key, value in _task_settings(checkpoint).items() if key not in own}
    settings = {**settings, **from_tasks}
    problems = [*_unsupported(settings), *_contradictions(settings, spec)]
    banned, banned_problems = _banned_ids(settings, spec)
    problems += banned_problems
    forced = {name: settings.get(name) for name in ("forced_bos_token_id", "forced_eos_token_id")}
    problems += [
        f"{name} is {value!r}, not one id of the target vocabulary"
        for name, value in forced.items()
        if value is not None and not _is_id(value, spec)
    ]
    if problems:
        raise ExportError(f"{origin} asks for decoding that is not supported", problems)
    generation = Generation(
        beam_size=settings.get("num_beams") or 1,
        length_penalty=_or_default(settings.get("length_penalty"), 1.0),
        early_stopping=settings.get("early_stopping") or False,
        min_new_tokens=max((settings.get("min_length") or 1) - 1, settings.get("min_new_tokens") or 0, 0),
        max_new_tokens=_max_new_tokens(settings, spec),
        repetition_penalty=_or_default(settings.get("repetition_penalty"), 1.0),
        no_repeat_ngram_size=settings.get("no_repeat_ngram_size") or 0,
        renormalize=bool(settings.get("renormalize_logits")),
        forced_eos_id=forced["forced_eos_token_id"],
    )
    decisions = [*_decisions(settings, origin, generation, spec)]
    if from_tasks:
        decisions.append(f"{', '.join(sorted(from_tasks))} from task_specific_params, on which its translations agree")
    return GenerationDefaults(generation, banned, forced["forced_bos_token_id"], tuple(decisions))


def _task_settings(checkpoint: Checkpoint) -> dict[str, Any]:
    """Decoding settings that all translation tasks of a configuration share."""
    tasks = TextPrefixes.read(checkpoint.config)
    return {key: value for key, value in tasks.settings.items() if key in _TASK_SETTINGS}


def _unsupported(settings: Mapping[str, Any]) -> list[str]:
    return [
        f"{name} is {settings[name]!r}, which is not supported"
        for name, neutral in _UNSUPPORTED.items()
        if settings.get(name) is not None and settings[name] != neutral
    ]


def _contradictions(settings: Mapping[str, Any], spec: ModelSpec) -> list[str]:
    expected = {
        "eos_token_id": spec.special_ids.eos,
        "pad_token_id": spec.special_ids.pad,
        "decoder_start_token_id": spec.special_ids.decoder_start,
    }
    return [
        f"{name} is {settings[name]!r} here and {value} in config.json"
        for name, value in expected.items()
        if settings.get(name) is not None and settings[name] != value
    ]


def _banned_ids(settings: Mapping[str, Any], spec: ModelSpec) -> tuple[tuple[int, ...], list[str]]:
    problems = []
    banned = set(spec.banned_ids)
    words = settings.get("bad_words_ids") or []
    for word in [*words, *([token] for token in settings.get("suppress_tokens") or [])]:
        if not isinstance(word, list) or len(word) != 1:
            problems.append(f"bad_words_ids has the sequence {word!r}; only single tokens can be banned")
        elif not _is_id(word[0], spec):
            problems.append(f"bad_words_ids or suppress_tokens has {word[0]!r}, not an id of the target vocabulary")
        elif word[0] == spec.special_ids.eos:
            problems.append("the end token is among the banned tokens")
        else:
            banned.add(word[0])
    return tuple(sorted(banned)), problems


def _is_id(value: object, spec: ModelSpec) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < spec.target_vocabulary_size


def _or_default(value: float | None, default: float) -> float:
    return default if value is None else value


def _max_new_tokens(settings: Mapping[str, Any], spec: ModelSpec) -> int:
    most = spec.max_target_tokens
    if settings.get("max_new_tokens"):
        return min(int(settings["max_new_tokens"]), most - 1)
    return max(min(_max_length(settings) or most, most) - 1, 1)


def _max_length(settings: Mapping[str, Any]) -> int | None:
    """The limit with the start token, None where the checkpoint has none of its own."""
    return None if _unmeant(settings) else int(settings.get("max_length") or 0) or None


def _unmeant(settings: Mapping[str, Any]) -> set[str]:
    """Settings that only repeat what the library takes where there are none."""
    return {"max_length"} if settings.get("max_length") == _LIBRARY_MAX_LENGTH else set()


def _decisions(settings: Mapping[str, Any], origin: str, generation: Generation, spec: ModelSpec) -> tuple[str, ...]:
    lines = [
        f"decoding defaults from {origin}: beam {generation.beam_size}, at most {generation.max_new_tokens} tokens"
    ]
    if not generation.renormalize:
        lines.append(
            "renormalize_logits is not set: banned tokens are left out before the softmax all the same, so "
            "log-probabilities are those of Hugging Face with the flag on"
        )
    if settings.get("do_sample"):
        lines.append("do_sample is ignored: translations are not drawn unless a request asks for it")
    if _unmeant(settings):
        lines.append(f"max_length {_LIBRARY_MAX_LENGTH} is not taken: it is what a configuration without one has")
    if _max_length(settings) is None and settings.get("max_new_tokens") is None:
        lines.append(f"no max_length: the {spec.max_target_tokens} tokens that a target may have are the limit")
    return tuple(lines)
