"""Cross-attention weights of single rows, for the few that ask; the decoder graph gives only the queries."""

from collections.abc import Sequence

import numpy as np

from service.engine.arrays import FloatArray, KeptArray


def attention_weights(query: FloatArray, keys: KeptArray, heads: Sequence[int] = ()) -> FloatArray:
    """Returns (l,) float32, softmax over positions of query x key, averaged over some heads; it sums to one.

    query: (H * D,) float32, already scaled. keys: (H, l, D), real positions only (Vaswani et al. 2017). heads: those
    that count; all if empty.
    """
    num_heads, _, width = keys.shape
    chosen = list(heads) or list(range(num_heads))
    scores = np.einsum("hd,hld->hl", query.reshape(num_heads, width)[chosen], keys[chosen])
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return np.asarray(weights.mean(axis=0), np.float32)
