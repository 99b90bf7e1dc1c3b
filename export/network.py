"""A network's weights in the layout graphs use: linear weights [in, out], heads padded to the cache's head width.

Reads one tensor at a time from a checkpoint; what to read where is the spec's.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from export.checkpoint import Checkpoint
from export.families.spec import AttentionKeys, LinearKeys, ModelSpec, NormKeys, Side
from export.position_tables import relative_buckets, sinusoid_fairseq, sinusoid_halves

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

    def norm(self, keys: NormKeys) -> tuple[Floats, Floats | None]:
        """Gain and shift [E] of a norm; the decoder's last one brings the head's scale along."""
        gain = self._checkpoint.tensor(keys.weight)
        shift = None if keys.bias is None else self._checkpoint.tensor(keys.bias)
        if self._spec.head_scale == 1.0 or keys != self._spec.keys.decoder_final_norm:
            return gain, shift
        scale = np.float32(self._spec.head_scale)
        return gain * scale, None if shift is None else shift * scale

    def linear(self, keys: LinearKeys) -> LinearWeights:
        """One linear layer."""
        return self.side_by_side((keys,))

    def side_by_side(self, layers: Sequence[LinearKeys]) -> LinearWeights:
        """Linear layers of one input as one: [in, sum of out]."""
        shapes = [self._checkpoint.shape(layer.weight) for layer in layers]
        ends = np.cumsum([outputs for outputs, _ in shapes]).tolist()
        weight, bias = np.zeros((shapes[0][1], ends[-1]), np.float32), np.zeros(ends[-1], np.float32)
        for layer, start, end in zip(layers, [0, *ends], ends, strict=False):
            weight[:, start:end] = self._checkpoint.tensor(layer.weight).T
            if layer.bias is not None:
                bias[start:end] = self._checkpoint.tensor(layer.bias)
        return LinearWeights(weight, None if all(layer.bias is None for layer in layers) else bias)

    def heads(self, layers: Sequence[LinearKeys]) -> LinearWeights:
        """Projections into heads side by side: [E, parts * H * D], D padded with columns of zeros."""
        heads, true, padded = self._spec.num_heads, self._spec.head_width, self._spec.cache_head_width
        width, all_heads = self._checkpoint.shape(layers[0].weight)[1], len(layers) * heads
        weight = np.zeros((width, all_heads, padded), np.float32)
        bias = np.zeros((all_heads, padded), np.float32)
        for index, layer in enumerate(layers):
            own = slice(index * heads, (index + 1) * heads)
            weight[:, own, :true] = self._checkpoint.tensor(layer.weight).T.reshape(width, heads, true)
            if layer.bias is not None:
                bias[own, :true] = self._checkpoint.tensor(layer.bias).reshape(heads, true)
        without = all(layer.bias is None for layer in layers)
        return LinearWeights(weight.reshape(width, -1), None if without else bias.reshape(-1))

    def heads_output(self, keys: AttentionKeys) -> LinearWeights:
        """The projection out of heads: [H * D, E], D padded with rows of zeros."""
        layer = self.linear(keys.output)
        heads, true, padded = self._spec.num_heads, self._spec.head_width, self._spec.cache_head_width
        if true == padded:
            return layer
        weight = np.zeros((heads, padded, layer.weight.shape[1]), np.float32)
        weight[:, :true] = layer.weight.reshape(heads, true, -1)
        return LinearWeights(weight.reshape(heads * padded, -1), layer.bias)

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

    def positions(self, side: Side) -> Floats | None:
        """The position table [count, E], row 0 being the first position of a sequence; None without such positions.

        Where a pad token has no position, a row of zeros is the last.
        """
        positions = self._spec.positions
        if positions is None:
            return None
        last = positions.first + positions.count
        name = positions.encoder_table if side == "encoder" else positions.decoder_table
        if name is not None:
            table = self._checkpoint.tensor(name)
        elif positions.kind == "sinusoid_fairseq":
            table = sinusoid_fairseq(last, self._spec.model_width)
        else:
            table = sinusoid_halves(last, self._spec.model_width)
        used = table[positions.first : last]
        return np.concatenate([used, np.zeros((1, used.shape[1]), np.float32)]) if positions.zero_at_pad else used

    def relative_bias(self, side: Side) -> Floats:
        """What is added to the scores of a key by its distance, [H, distances].

        Column d is, of the decoder, the key d tokens before the query, up to the maximal distance. Of the encoder it is
        the key at the query's place plus d minus the maximal distance, up to as far on the other side.
        """
        relative = self._spec.relative
        if relative is None:
            raise AssertionError("a network with relative positions has a spec of them")
        name = relative.encoder_table if side == "encoder" else relative.decoder_table
        return np.ascontiguousarray(self._checkpoint.tensor(name)[relative_buckets(relative, side)].T)

    def _stored_head_bias(self) -> Floats:
        name = self._spec.keys.head_bias
        if name is None:
            return np.zeros(self._spec.target_vocabulary_size, np.float32)
        return self._checkpoint.tensor(name).reshape(-1).copy()
