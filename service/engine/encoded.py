"""Cross-attention keys and values of sources as the encoder made them, before rows ask for them."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from service.engine.arrays import KeptArray


@dataclass(frozen=True, slots=True, eq=False)
class EncoderRun:
    """What one run of the encoder gave: 2 x layers tensors (n, H, L, D), and real lengths (n,) int32."""

    tensors: tuple[KeptArray, ...]
    lengths: npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """Keys and values of one source that no row asks yet: one entry of the run that made them."""

    run: EncoderRun
    index: int
