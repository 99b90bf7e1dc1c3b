"""A candidate translation as token ids, and why a sequence ended."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt


class StopReason(StrEnum):
    """Why a sequence ended; each sequence ends once, with exactly one of these."""

    END_TOKEN = "end_token"
    LENGTH = "length"
    REPETITION = "repetition"
    CANCELLED = "cancelled"
    DEADLINE = "deadline"
    ERROR = "error"


@dataclass(frozen=True, slots=True, eq=False)
class Hypothesis:
    """One finished candidate.

    token_ids: generated ids without the start token; the last one is the end token unless a limit or a loop cut it.
    token_log_probs: of the same length, as the search added them up.
    score: sum of token_log_probs / length^length_penalty in beam search, their plain sum otherwise.
    stop_reason: END_TOKEN, LENGTH or REPETITION; with the last one it may still be one that had ended before.
    alignment: (T, L) float32, attention of each generated token over source tokens; None unless asked for.
    """

    token_ids: tuple[int, ...]
    token_log_probs: tuple[float, ...]
    score: float
    stop_reason: StopReason
    alignment: npt.NDArray[np.float32] | None = None
