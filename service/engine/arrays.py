"""Array types of the engine, and what goes into and comes out of one decoder step."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float32]
# What the graphs keep: float32, or float16 where they work in that.
KeptArray = npt.NDArray[np.float32 | np.float16]
KeptType = type[np.float32 | np.float16]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


class RowCopy(NamedTuple):
    """Row `target` gets what row `source` has cached at positions `start` to `stop` - 1."""

    source: int
    target: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True, eq=False)
class StepInputs:
    """One token for each of R rows.

    tokens: (R,) int64. positions: (R,) int64, tokens the row has already cached. memories: (R,) int64, which source
    the row looks at, and solo: (R,) bool, whether that is one of the solo sources, which one row each looks at, or one
    of the shared. probes: (R, P) int64, further ids whose log-probabilities are wanted; P may be 0. aligned: (n,)
    int64, rows whose attention weights are wanted. num_best: best tokens wanted of each row; the vocabulary's size at
    most.
    """

    tokens: IntArray
    positions: IntArray
    memories: IntArray
    solo: BoolArray
    probes: IntArray
    aligned: IntArray
    num_best: int


@dataclass(frozen=True, slots=True, eq=False)
class StepOutputs:
    """What the decoder says about each row; the arrays hold until the next step.

    log_probs (R, k) float32 descending with ids (R, k) int64; probes (R, P) float32; log_normalizers (R, 1) float32,
    the logit of any token minus its log-probability; banned_logits (R, B) float32, of the ids that the package gives no
    probability; alignment (R, L) float32, cross-attention weights of the package's alignment layer averaged over heads,
    0 beyond a row's source and in rows that did not ask; L is the longest source of those that did.
    """

    log_probs: FloatArray
    ids: IntArray
    probes: FloatArray
    log_normalizers: FloatArray
    banned_logits: FloatArray
    alignment: FloatArray
