"""The network in plain numpy, double precision, one sentence at a time and without a cache: what graphs must compute.

Written to be read beside the model descriptions, not to be fast. It shares nothing with the graph code but the spec.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import erf, pi, sqrt

import numpy as np
from numpy.typing import NDArray

from export.checkpoint import Checkpoint
from export.families.spec import (
    Activation,
    AttentionKeys,
    FeedForwardKeys,
    LinearKeys,
    ModelSpec,
    NormKeys,
)

Doubles = NDArray[np.float64]
Sublayer = Callable[[Doubles], Doubles]

_TABLE_ROWS_AT_ONCE = 8192

_ACTIVATIONS: Mapping[Activation, Callable[[Doubles], Doubles]] = {
    "relu": lambda x: np.maximum(x, 0),
    "swish": lambda x: x / (1 + np.exp(-x)),
    "quick_gelu": lambda x: x / (1 + np.exp(-1.702 * x)),
    "gelu": lambda x: x * 0.5 * (1 + np.vectorize(erf)(x / sqrt(2))),
    "gelu_tanh": lambda x: 0.5 * x * (1 + np.tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))),
}


@dataclass(frozen=True, slots=True)
class ForcedTarget:
    """What the network says about one given target of T tokens.

    log_probs: [T, V], row t given the tokens before t. log_normalizers: [T], logit minus log-probability.
    banned_logits: [T, B], logits of the ids that have no probability.
    alignments: [T, L], the alignment layer's cross-attention weights averaged over heads.
    """

    log_probs: Doubles
    log_normalizers: Doubles
    banned_logits: Doubles
    alignments: Doubles


class ReferenceNetwork:
    """One checkpoint's network."""

    def __init__(self, checkpoint: Checkpoint, spec: ModelSpec) -> None:
        self._checkpoint = checkpoint
        self._spec = spec

    def memory(self, source: Sequence[int]) -> list[tuple[Doubles, Doubles]]:
        """Cross-attention keys and values [H, L, D] of a source for each decoder layer."""
        encoded = self.encode(source)
        layers = self._spec.keys.decoder
        return [
            (
                self._split(self._linear(encoded, layer.cross_attention.key)),
                self._split(self._linear(encoded, layer.cross_attention.value)),
            )
            for layer in layers
        ]

    def encode(self, source: Sequence[int]) -> Doubles:
        """Encoder output [L, E] of one source."""
        keys = self._spec.keys
        x = self._embed(keys.source_table, source, keys.source_embedding_norm)
        for layer in keys.encoder:
            x = self._residual(x, layer.attention_norm, self._self_attention(layer.attention, causal=False))
            x = self._residual(x, layer.feed_forward_norm, self._feed_forward(layer.feed_forward))
        return self._norm(x, keys.encoder_final_norm) if keys.encoder_final_norm else x

    def force(self, source: Sequence[int], target: Sequence[int]) -> ForcedTarget:
        """The whole network on one source and one given target."""
        keys, spec = self._spec.keys, self._spec
        encoded = self.encode(source)
        tokens = [spec.special_ids.decoder_start, *target[:-1]]
        x = self._embed(keys.target_table, tokens, keys.target_embedding_norm)
        weights: list[Doubles] = []
        for layer in keys.decoder:
            x = self._residual(x, layer.attention_norm, self._self_attention(layer.attention, causal=True))
            cross_attention = self._cross_attention(layer.cross_attention, encoded, weights)
            x = self._residual(x, layer.cross_attention_norm, cross_attention)
            x = self._residual(x, layer.feed_forward_norm, self._feed_forward(layer.feed_forward))
        x = self._norm(x, keys.decoder_final_norm) if keys.decoder_final_norm else x
        return self._predict(x, weights[spec.alignment_layer].mean(axis=0))

    def _self_attention(self, keys: AttentionKeys, *, causal: bool) -> Sublayer:
        return lambda x: self._attend(x, x, keys, causal=causal)[0]

    def _cross_attention(self, keys: AttentionKeys, encoded: Doubles, weights: list[Doubles]) -> Sublayer:
        """Attention to the source that leaves its weights [H, T, L] in `weights`."""

        def attend(x: Doubles) -> Doubles:
            output, attended = self._attend(x, encoded, keys, causal=False)
            weights.append(attended)
            return output

        return attend

    def _feed_forward(self, keys: FeedForwardKeys) -> Sublayer:
        activation = _ACTIVATIONS[self._spec.activation]
        return lambda x: self._linear(activation(self._linear(x, keys.inner)), keys.outer)

    def _predict(self, x: Doubles, alignments: Doubles) -> ForcedTarget:
        keys = self._spec.keys
        logits = self._table_products(x, keys.head_table)
        if keys.head_bias is not None:
            logits = logits + self._double(keys.head_bias).reshape(-1)
        banned = list(self._spec.banned_ids)
        banned_logits = logits[:, banned]
        logits[:, banned] = -np.inf
        peak = logits.max(axis=1, keepdims=True)
        normalizers = peak + np.log(np.exp(logits - peak).sum(axis=1, keepdims=True))
        return ForcedTarget(logits - normalizers, normalizers[:, 0], banned_logits, alignments)

    def _embed(self, table: str, ids: Sequence[int], norm: NormKeys | None) -> Doubles:
        x = self._checkpoint.tensor(table)[list(ids)].astype(np.float64) * self._spec.embedding_scale
        x = x + np.array([self._position(place) for place in range(len(ids))])
        return self._norm(x, norm) if norm else x

    def _position(self, place: int) -> list[float]:
        """One row of the sinusoid table: first all sines, then all cosines."""
        width, row = self._spec.model_width, place + self._spec.positions.first
        angles = [row / 10000 ** (2 * i / width) for i in range((width + 1) // 2)]
        return [*(float(np.sin(angle)) for angle in angles), *(float(np.cos(angle)) for angle in angles[: width // 2])]

    def _residual(self, x: Doubles, norm: NormKeys, sublayer: Sublayer) -> Doubles:
        if self._spec.norm_order == "pre":
            return x + sublayer(self._norm(x, norm))
        return self._norm(x + sublayer(x), norm)

    def _norm(self, x: Doubles, keys: NormKeys) -> Doubles:
        centred = x - x.mean(axis=-1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + self._spec.norm_epsilon)
        normalised: Doubles = centred / deviation * self._double(keys.weight) + self._double(keys.bias)
        return normalised

    def _attend(self, x: Doubles, memory: Doubles, keys: AttentionKeys, *, causal: bool) -> tuple[Doubles, Doubles]:
        """Output [N, E] and weights [H, N, M] of queries from x [N, E] on memory [M, E]."""
        query = self._split(self._linear(x, keys.query))
        key, value = self._split(self._linear(memory, keys.key)), self._split(self._linear(memory, keys.value))
        scores = query @ key.transpose(0, 2, 1) * self._spec.attention_scale
        if causal:
            later = np.arange(scores.shape[2])[None, :] > np.arange(scores.shape[1])[:, None]
            scores = np.where(later, -np.inf, scores)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights = weights / weights.sum(axis=-1, keepdims=True)
        context = (weights @ value).transpose(1, 0, 2).reshape(len(x), -1)
        return self._linear(context, keys.output), weights

    def _linear(self, x: Doubles, keys: LinearKeys) -> Doubles:
        y = x @ self._double(keys.weight).T
        return y if keys.bias is None else y + self._double(keys.bias)

    def _table_products(self, x: Doubles, name: str) -> Doubles:
        """x [N, E] times a table [V, E] transposed, a stretch of rows at a time to spare memory."""
        table = self._checkpoint.tensor(name)
        stretches = (table[start : start + _TABLE_ROWS_AT_ONCE] for start in range(0, len(table), _TABLE_ROWS_AT_ONCE))
        return np.concatenate([x @ stretch.astype(np.float64).T for stretch in stretches], axis=1)

    def _split(self, x: Doubles) -> Doubles:
        """[N, H * D] as [H, N, D]."""
        return x.reshape(len(x), self._spec.num_heads, self._spec.head_width).transpose(1, 0, 2)

    def _double(self, name: str) -> Doubles:
        return self._checkpoint.tensor(name).astype(np.float64)
