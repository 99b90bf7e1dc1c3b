"""Cross-attention weights, for the few rows that ask; the decoder graph gives only the queries."""

from collections.abc import Sequence

import numpy as np

from service.engine.arrays import FloatArray, KeptArray


def attention_weights(queries: FloatArray, keys: KeptArray, heads: Sequence[int] = ()) -> FloatArray:
    """Returns (n, l) float32, softmax over positions of query x key, averaged over some heads; each row sums to one.

    queries: (n, H * D) float32, already scaled, of rows that look at one source. keys: (H, l, D), real positions only
    (Vaswani et al. 2017). heads: those that count; all if empty.
    """
    num_heads, _, width = keys.shape
    by_head = queries.reshape(len(queries), num_heads, width)
    if heads:
        by_head, keys = by_head[:, list(heads)], keys[list(heads)]
    scores = np.einsum("nhd,hld->nhl", by_head, keys)
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    weights /= weights.sum(axis=2, keepdims=True)
    return np.asarray(weights.mean(axis=1), np.float32)
