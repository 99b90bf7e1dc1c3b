"""What a model prescribes for every search over it, and what the search sees of a decoder step."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

# Hugging Face's stand-in for "impossible" in accumulated scores; a real sum of log-probabilities never gets there.
IMPOSSIBLE = np.float32(-1e9)


@dataclass(frozen=True, slots=True)
class DecodingRules:
    """Fixed by the model package.

    start_id: token the decoder begins with, unless a sequence has its own; part of every prefix, never of a result.
    eos_id: ends a hypothesis.
    forced_eos_id: taken at the last allowed position whatever the model says; None lets the model choose there.
    renormalize: log-probabilities are normalised again after processors changed some (`renormalize_logits`).
    """

    start_id: int
    eos_id: int
    forced_eos_id: int | None
    renormalize: bool

    def start_of(self, own: int | None) -> int:
        """Returns the token a sequence begins with: its own (a target language's), or else the model's."""
        return self.start_id if own is None else own


@dataclass(frozen=True, eq=False)
class StepScores:
    """What one decoder step said about its R rows; arrays belong to the engine and live until its next step.

    log_probs: (R, k) float32, the k largest log-probabilities of each row, descending.
    ids: (R, k) int64, their tokens.
    probes: (R, P) float32, log-probabilities of the tokens that were asked for.
    log_normalizers: (R, 1) float32; log-probability + this = the model's logit.
    banned_logits: (R, B) float32, the model's logits of ids that have no probability here.
    """

    log_probs: FloatArray
    ids: IntArray
    probes: FloatArray
    log_normalizers: FloatArray
    banned_logits: FloatArray

    @cached_property
    def log_unbanned(self) -> FloatArray:
        """(R, 1) float32, the log of what allowed ids share in a softmax over all, banned ones included.

        Hugging Face bans after its softmax; its log-probabilities are ours plus this until they are normalised again.
        """
        odds = np.exp(self.banned_logits.astype(np.float64) - self.log_normalizers)
        return np.asarray(-np.log1p(odds.sum(axis=1, keepdims=True)), np.float32)
