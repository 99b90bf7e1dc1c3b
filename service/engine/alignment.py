"""Cross-attention weights of single rows, for the few that ask; the decoder graph gives only the queries."""

import numpy as np

from service.engine.arrays import FloatArray


def attention_weights(query: FloatArray, keys: FloatArray) -> FloatArray:
    """Returns (l,) float32, softmax over positions of query x key, averaged over heads; it sums to one.

    query: (H * D,) float32, already scaled. keys: (H, l, D) float32, real positions only (Vaswani et al. 2017).
    """
    heads, _, width = keys.shape
    scores = np.einsum("hd,hld->hl", query.reshape(heads, width), keys)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return np.asarray(weights.mean(axis=0), np.float32)
