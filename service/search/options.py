"""What one request may ask of decoding, with every rule that makes a set of options valid.

Names follow the field (and Hugging Face `generate` where it has the concept). `resolve` merges a request's
partial options with a package's generation defaults; everything past it works on complete, valid options.
"""

from dataclasses import dataclass, replace
from math import isfinite
from typing import Literal

from service.errors import InvalidOptionError

MAX_BEAM_SIZE = 16
MAX_TOP_K = 256

# Tokens that a length ratio allows on top, so that short sources are not cut: "NATO" may have to be spelled out.
LENGTH_ALLOWANCE = 32
# Of 1.2 million human translations between English, German, French, Spanish and Chinese none is longer than this ratio
# with its allowance, although all were tokenised with the bundled model's English-German vocabularies.
SERVED_LENGTH_RATIO = 4.0
# A model that has looped mostly rambles when the loop is forbidden, so it is stopped sooner. Of 108,000 English-German
# translations none is longer than this ratio with its allowance.
LENGTH_RATIO_AFTER_LOOP = 1.75

EarlyStopping = bool | Literal["never"]


@dataclass(frozen=True, slots=True)
class DecodingOptions:
    """Complete decoding options of one sequence.

    beam_size: live hypotheses; 1 is greedy search (or sampling).
    num_hypotheses: results wanted, best first; at most beam_size.
    length_penalty: p in score = sum of log-probabilities / (generated tokens)^p.
    early_stopping: True stops at beam_size finished hypotheses, False when no live one can still win by its present
        score, "never" when none can still win at all (Hugging Face's rule of the same name).
    min_new_tokens: the end token is impossible before that many tokens.
    max_new_tokens: tokens at most, the end token included.
    max_length_ratio: tokens at most for each source token, LENGTH_ALLOWANCE on top, if that is less; 0 is off.
    stop_loops: end a sequence whose best live hypothesis repeats itself more than its source does; off, as in Hugging
        Face, it goes on to its limit.
    repetition_penalty: r > 0; r > 1 makes tokens already produced less likely (CTRL, Keskar et al. 2019); 1 is off.
    no_repeat_ngram_size: n-grams of this size never occur twice; 0 is off.
    sampling: draw tokens instead of taking the best; needs beam_size 1.
    temperature, top_k, top_p: shape the distribution drawn from, applied in this order.
    seed: start of the random stream; the same text, options and seed give the same draw.
    """

    beam_size: int = 1
    num_hypotheses: int = 1
    length_penalty: float = 1.0
    early_stopping: EarlyStopping = False
    min_new_tokens: int = 0
    max_new_tokens: int = 256
    max_length_ratio: float = 0.0
    stop_loops: bool = False
    repetition_penalty: float = 1.0
    no_repeat_ngram_size: int = 0
    sampling: bool = False
    temperature: float = 1.0
    top_k: int = 50
    top_p: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        problems = [*_range_problems(self), *_contradictions(self)]
        if problems:
            raise InvalidOptionError("decoding options are not valid", problems)

    def limit(self, source_length: int) -> int:
        """Returns how many tokens a translation of so many source tokens may have, its end token included."""
        if not self.max_length_ratio:
            return self.max_new_tokens
        by_source = int(self.max_length_ratio * source_length) + LENGTH_ALLOWANCE
        return min(self.max_new_tokens, max(self.min_new_tokens, by_source))


@dataclass(frozen=True, slots=True)
class PartialOptions:
    """What a request said; None means "as the package's generation defaults say"."""

    beam_size: int | None = None
    num_hypotheses: int | None = None
    length_penalty: float | None = None
    early_stopping: EarlyStopping | None = None
    min_new_tokens: int | None = None
    max_new_tokens: int | None = None
    max_length_ratio: float | None = None
    stop_loops: bool | None = None
    repetition_penalty: float | None = None
    no_repeat_ngram_size: int | None = None
    sampling: bool | None = None
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    seed: int | None = None


def guarded(defaults: DecodingOptions) -> DecodingOptions:
    """Returns a package's defaults with the guards against runaways that a service has and Hugging Face has not."""
    return replace(defaults, max_length_ratio=SERVED_LENGTH_RATIO, stop_loops=True)


def resolve(partial: PartialOptions, defaults: DecodingOptions) -> DecodingOptions:
    """Completes `partial` from `defaults`.

    A request that names no beam size gets one wide enough for the hypotheses it wants, and 1 when it samples. The
    largest `max_new_tokens` is the default's, which is the package's position limit or below.
    Raises InvalidOptionError with every problem.
    """
    given = {name: getattr(partial, name) for name in PartialOptions.__slots__}
    chosen = {name: getattr(defaults, name) if value is None else value for name, value in given.items()}
    if partial.beam_size is None:
        chosen["beam_size"] = 1 if chosen["sampling"] else max(defaults.beam_size, chosen["num_hypotheses"])
    problems: list[str] = []
    if chosen["max_new_tokens"] > defaults.max_new_tokens:
        problems.append(f"max_new_tokens: at most {defaults.max_new_tokens} for this model")
    shaping = [name for name in ("temperature", "top_k", "top_p", "seed") if given[name] is not None]
    if shaping and not chosen["sampling"]:
        problems.append(f"{', '.join(shaping)}: only with sampling")
    if chosen["beam_size"] == 1:
        steering = [name for name in ("length_penalty", "early_stopping") if given[name] is not None]
        if steering:
            problems.append(f"{', '.join(steering)}: only with a beam_size over 1")
    try:
        options = DecodingOptions(**chosen)
    except InvalidOptionError as error:
        raise InvalidOptionError(error.message, [*problems, *error.problems]) from None
    if problems:
        raise InvalidOptionError("decoding options are not valid", problems)
    return options


def _range_problems(options: DecodingOptions) -> list[str]:
    bounds = {
        "beam_size": (1, MAX_BEAM_SIZE),
        "num_hypotheses": (1, MAX_BEAM_SIZE),
        "length_penalty": (-2.0, 5.0),
        "min_new_tokens": (0, options.max_new_tokens),
        "max_new_tokens": (1, 100_000),
        "max_length_ratio": (0.0, 1_000.0),
        "repetition_penalty": (0.01, 100.0),
        "no_repeat_ngram_size": (0, 100),
        "temperature": (0.01, 100.0),
        "top_k": (1, MAX_TOP_K),
        "top_p": (0.0001, 1.0),
        "seed": (0, 2**63 - 1),
    }
    problems = []
    for name, (low, high) in bounds.items():
        value = getattr(options, name)
        if not isfinite(value) or not low <= value <= high:
            problems.append(f"{name}: from {low} to {high}")
    if options.early_stopping not in (True, False, "never"):
        problems.append('early_stopping: true, false or "never"')
    return problems


def _contradictions(options: DecodingOptions) -> list[str]:
    problems = []
    if options.sampling and options.beam_size > 1:
        problems.append("sampling: only with a beam_size of 1")
    if options.num_hypotheses > options.beam_size:
        problems.append("num_hypotheses: at most beam_size")
    return problems
