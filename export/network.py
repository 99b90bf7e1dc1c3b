"""A network's weights in the layout graphs use: linear weights [in, out], heads padded to the cache's head width.

Reads one tensor at a time from a checkpoint; what to read where is the spec's.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from export.checkpoint import Checkpoint
from export.families.spec import AttentionKeys, LinearKeys, ModelSpec, NormKeys

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class LinearWeights:
    """y = x @ weight + bias, weight [in, out], bias [out] or None."""

    weight: Floats
    bias: Floats | None


class NetworkWeights:
    """Weights of one checkpoint by the parts of its spec."""

    def __init__(self, checkpoint: Checkpoint, spec: ModelSpec) -> None:
        self._checkpoint = checkpoint
        self._spec = spec

    def table(self, name: str) -> Floats:
        """A token table [V, E] as stored."""
        return self._checkpoint.tensor(name)

    def norm(self, keys: NormKeys) -> tuple[Floats, Floats]:
        """Gain and shift [E] of a layer norm."""
        return self._checkpoint.tensor(keys.weight), self._checkpoint.tensor(keys.bias)

    def linear(self, keys: LinearKeys) -> LinearWeights:
        """One linear layer."""
        bias = None if keys.bias is None else self._checkpoint.tensor(keys.bias)
        return LinearWeights(np.ascontiguousarray(self._checkpoint.tensor(keys.weight).T), bias)

    def heads(self, parts: Sequence[LinearKeys]) -> LinearWeights:
        """Projections into heads side by side: [E, parts * H * D], D padded with columns of zeros."""
        layers = [self.linear(part) for part in parts]
        weight = np.concatenate([self._pad_last(layer.weight) for layer in layers], axis=1)
        if all(layer.bias is None for layer in layers):
            return LinearWeights(weight, None)
        biases = [np.zeros(layer.weight.shape[1], np.float32) if layer.bias is None else layer.bias for layer in layers]
        return LinearWeights(weight, np.concatenate([self._pad_last(bias[None])[0] for bias in biases]))

    def heads_output(self, keys: AttentionKeys) -> LinearWeights:
        """The projection out of heads: [H * D, E], D padded with rows of zeros."""
        layer = self.linear(keys.output)
        return LinearWeights(np.ascontiguousarray(self._pad_last(layer.weight.T).T), layer.bias)

    def head_bias(self) -> Floats:
        """The head's bias [V] with minus infinity at banned ids, which the softmax then leaves out."""
        bias = self._stored_head_bias()
        bias[list(self._spec.banned_ids)] = -np.inf
        return bias

    def banned_head(self) -> LinearWeights:
        """The head's rows of banned ids alone, [E, B], with the bias they have in the checkpoint."""
        banned = list(self._spec.banned_ids)
        rows = self._checkpoint.tensor(self._spec.keys.head_table)[banned]
        return LinearWeights(np.ascontiguousarray(rows.T), self._stored_head_bias()[banned])

    def _stored_head_bias(self) -> Floats:
        name = self._spec.keys.head_bias
        if name is None:
            return np.zeros(self._spec.target_vocabulary_size, np.float32)
        return self._checkpoint.tensor(name).reshape(-1).copy()

    def positions(self) -> Floats:
        """The position table [count, E], row 0 being the first position of a sequence."""
        positions = self._spec.positions
        return sinusoid_halves(positions.first + positions.count, self._spec.model_width)[positions.first :]

    def _pad_last(self, array: Floats) -> Floats:
        heads, true, padded = self._spec.num_heads, self._spec.head_width, self._spec.cache_head_width
        if true == padded:
            return array
        split = array.reshape(*array.shape[:-1], heads, true)
        wide = np.zeros((*split.shape[:-1], padded), np.float32)
        wide[..., :true] = split
        return wide.reshape(*array.shape[:-1], heads * padded)


def sinusoid_halves(count: int, width: int) -> Floats:
    """Position table [count, width]: sines in the first half of the columns, cosines in the second.

    Angle i of row p is p / 10000^(2i / width), computed in double precision (Vaswani et al. 2017, section 3.5, with
    Marian's column order). An odd width has one more sine than cosines.
    """
    frequencies = 10000.0 ** (-2.0 * np.arange((width + 1) // 2) / width)
    angles = np.arange(count)[:, None] * frequencies[None, :]
    return np.concatenate([np.sin(angles), np.cos(angles[:, : width // 2])], axis=1).astype(np.float32)
