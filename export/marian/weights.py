"""Marian's tensors as specs want them: linear weights [out, in], vectors [n], and a token table row to start from.

Marian decodes from a vector of zeros that belongs to no token. Here that is one more row of every token table, after
the vocabulary; its logit is `START_LOGIT`, so that it has no probability either.
"""

import re

import numpy as np
from numpy.typing import NDArray

from export.marian.folder import MarianFile

HEAD = "decoder_ff_logit_out"
HEAD_BIAS = f"{HEAD}_b"
POSITIONS = "Wpos"
START_LOGIT = -1e9

Floats = NDArray[np.float32]

_TABLES = frozenset({"Wemb", "encoder_Wemb", "decoder_Wemb", f"{HEAD}_Wt", f"{HEAD}_W"})
_MATRIX = re.compile(r".*_W[a-z]?[0-9]*")
_OUTPUT = "_Wo"


class MarianWeights:
    """The tensors of one weight file by the names they have there.

    Some names are there in any case: a head without a bias has one of zeros, and attention that leaves out its
    projection (`transformer-no-projection`) has the identity for it.
    """

    def __init__(self, file: MarianFile, *, without_projection: bool) -> None:
        self._file = file
        queries = (name for name in file.names if name.endswith("_Wq"))
        outputs = {f"{name.removesuffix('_Wq')}{_OUTPUT}" for name in queries} if without_projection else set()
        self._identities = outputs - file.names
        stored = frozenset(name for name in file.names if not name.startswith("special:"))
        self.names = stored | self._identities | {HEAD_BIAS}

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of one tensor as `read` gives it."""
        if name in self._identities:
            width = self._file.shape(name.removesuffix(_OUTPUT) + "_Wv")[-1]
            return (width, width)
        if name == HEAD_BIAS and name not in self._file.names:
            return (self._vocabulary_size() + 1,)
        stored = self._file.shape(name)
        if name in _TABLES:
            rows, width = stored[::-1] if name == f"{HEAD}_W" else stored
            return (rows + 1, width)
        if name == HEAD_BIAS:
            return (stored[-1] + 1,)
        if name == POSITIONS:
            return stored
        return stored[::-1] if _MATRIX.fullmatch(name) else (int(np.prod(stored)),)

    def read(self, name: str) -> Floats:
        """One tensor, read anew on each call."""
        if name in self._identities:
            return np.eye(self.shape(name)[0], dtype=np.float32)
        if name in _TABLES:
            table = np.zeros(self.shape(name), np.float32)
            stored = self._file.read(name)
            table[:-1] = stored.T if name == f"{HEAD}_W" else stored
            return table
        if name == HEAD_BIAS:
            bias = np.full(self.shape(name), START_LOGIT, np.float32)
            bias[:-1] = self._file.read(name).reshape(-1) if name in self._file.names else 0.0
            return bias
        stored = self._file.read(name)
        if name == POSITIONS:
            return stored
        return stored.T if _MATRIX.fullmatch(name) else stored.reshape(-1)

    def _vocabulary_size(self) -> int:
        """Target tokens, from the first table that can tell."""
        for name in (f"{HEAD}_W", f"{HEAD}_Wt", "decoder_Wemb", "Wemb"):
            if name in self._file.names:
                shape = self._file.shape(name)
                return shape[1] if name == f"{HEAD}_W" else shape[0]
        return 0
