"""The network in plain numpy, double precision, one sentence at a time and without a cache: what graphs must compute.

Written to be read beside the model descriptions, not to be fast. It shares nothing with the graph code but the spec.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import erf, exp, log, pi, sqrt

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
    PositionKind,
    PositionSpec,
    RecurrentKeys,
    Side,
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
    alignments: [T, L], cross-attention weights of the alignment layer's alignment head, or averaged over its heads.
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
        x = self._embed(source, "encoder")
        for layer in keys.encoder:
            x = self._residual(x, layer.attention_norm, self._self_attention(layer.attention, "encoder"))
            x = self._residual(x, layer.feed_forward_norm, self._feed_forward(layer.feed_forward))
        return self._norm(x, keys.encoder_final_norm) if keys.encoder_final_norm else x

    def force(self, source: Sequence[int], target: Sequence[int]) -> ForcedTarget:
        """The whole network on one source and one given target."""
        x, weights = self._decode(source, target)
        aligned, heads = weights[self._spec.alignment_layer], list(self._spec.alignment_heads)
        return self._predict(x, (aligned[heads] if heads else aligned).mean(axis=0))

    def cross_attentions(self, source: Sequence[int], target: Sequence[int]) -> list[Doubles]:
        """Cross-attention weights [H, T, L] of every decoder layer for one given target."""
        return self._decode(source, target)[1]

    def _decode(self, source: Sequence[int], target: Sequence[int]) -> tuple[Doubles, list[Doubles]]:
        """Decoder output [T, E] for a given target, and cross-attention weights [H, T, L] of every layer."""
        keys, spec = self._spec.keys, self._spec
        encoded = self.encode(source)
        tokens = [spec.special_ids.decoder_start, *target[:-1]]
        x = self._embed(tokens, "decoder")
        weights: list[Doubles] = []
        for layer in keys.decoder:
            x = self._residual(x, layer.attention_norm, self._look_back(layer.attention))
            cross_attention = self._cross_attention(layer.cross_attention, encoded, weights)
            x = self._residual(x, layer.cross_attention_norm, cross_attention)
            x = self._residual(x, layer.feed_forward_norm, self._feed_forward(layer.feed_forward))
        return self._norm(x, keys.decoder_final_norm) if keys.decoder_final_norm else x, weights

    def _self_attention(self, keys: AttentionKeys, side: Side) -> Sublayer:
        def attend(x: Doubles) -> Doubles:
            bias = self._relative_bias(len(x), side)
            if side == "decoder":
                later = np.arange(len(x))[None, :] > np.arange(len(x))[:, None]
                bias = np.where(later, -np.inf, bias)
            return self._attend(x, x, keys, bias)[0]

        return attend

    def _look_back(self, keys: AttentionKeys | RecurrentKeys) -> Sublayer:
        return self._recurrence(keys) if isinstance(keys, RecurrentKeys) else self._self_attention(keys, "decoder")

    def _recurrence(self, keys: RecurrentKeys) -> Sublayer:
        """The SSRU over a whole target, from a state of zeros (Kim et al. 2019)."""

        def run(x: Doubles) -> Doubles:
            forget, candidate = 1 / (1 + np.exp(-self._linear(x, keys.forget))), self._linear(x, keys.candidate)
            states = [np.zeros(x.shape[1])]
            for f, c in zip(forget, candidate, strict=True):
                states.append(f * states[-1] + (1 - f) * c)
            y = np.maximum(np.array(states[1:]), 0)
            return y if keys.output is None else self._linear(y, keys.output)

        return run

    def _cross_attention(self, keys: AttentionKeys, encoded: Doubles, weights: list[Doubles]) -> Sublayer:
        """Attention to the source that leaves its weights [H, T, L] in `weights`."""

        def attend(x: Doubles) -> Doubles:
            output, attended = self._attend(x, encoded, keys, np.zeros((1, 1, 1)))
            weights.append(attended)
            return output

        return attend

    def _feed_forward(self, keys: FeedForwardKeys) -> Sublayer:
        activation = _ACTIVATIONS[self._spec.activation]

        def feed(x: Doubles) -> Doubles:
            inner = self._linear(x, keys.inner)
            if keys.gate is None:
                return self._linear(activation(inner), keys.outer)
            return self._linear(activation(self._linear(x, keys.gate)) * inner, keys.outer)

        return feed

    def _predict(self, x: Doubles, alignments: Doubles) -> ForcedTarget:
        keys = self._spec.keys
        logits = self._table_products(x * self._spec.head_scale, keys.head_table)
        if keys.head_bias is not None:
            logits = logits + self._double(keys.head_bias).reshape(-1)
        banned = list(self._spec.banned_ids)
        banned_logits = logits[:, banned]
        logits[:, banned] = -np.inf
        peak = logits.max(axis=1, keepdims=True)
        normalizers = peak + np.log(np.exp(logits - peak).sum(axis=1, keepdims=True))
        return ForcedTarget(logits - normalizers, normalizers[:, 0], banned_logits, alignments)

    def _embed(self, ids: Sequence[int], side: Side) -> Doubles:
        keys, positions = self._spec.keys, self._spec.positions
        table, norm = (
            (keys.source_table, keys.source_embedding_norm)
            if side == "encoder"
            else (keys.target_table, keys.target_embedding_norm)
        )
        x = self._checkpoint.tensor(table)[list(ids)].astype(np.float64) * self._spec.embedding_scale
        if positions is not None:
            rows = self._positions(positions, len(ids), side)
            if positions.zero_at_pad and side == "decoder":
                rows[[token == self._spec.special_ids.pad for token in ids]] = 0
            x = x + rows
        return self._norm(x, norm) if norm else x

    def _positions(self, positions: PositionSpec, length: int, side: Side) -> Doubles:
        """Rows [length, E] of the position table."""
        last = positions.first + length
        name = positions.encoder_table if side == "encoder" else positions.decoder_table
        if name is not None:
            return self._double(name)[positions.first : last]
        return np.array([self._sinusoids(positions.kind, row) for row in range(positions.first, last)])

    def _sinusoids(self, kind: PositionKind, row: int) -> list[float]:
        """One row of a generated table: first all sines, then all cosines."""
        width = self._spec.model_width
        if kind == "sinusoid_fairseq":
            half = width // 2
            angles = [row * exp(-i * log(10000) / (half - 1)) for i in range(half)]
            return [*np.sin(angles), *np.cos(angles), *[0.0] * (width % 2)]
        angles = [row / 10000 ** (2 * i / width) for i in range((width + 1) // 2)]
        return [*np.sin(angles), *np.cos(angles[: width // 2])]

    def _relative_bias(self, length: int, side: Side) -> Doubles:
        """What is added to scores [H, N, N] of queries on keys; nothing where positions are absolute."""
        relative = self._spec.relative
        if relative is None:
            return np.zeros((1, length, length))
        table = self._double(relative.encoder_table if side == "encoder" else relative.decoder_table)
        buckets = [[self._bucket(key - query, side) for key in range(length)] for query in range(length)]
        return table[buckets].transpose(2, 0, 1)

    def _bucket(self, offset: int, side: Side) -> int:
        """The bucket of a key that stands `offset` tokens after its query (Raffel et al. 2020, section 2.1)."""
        relative = self._spec.relative
        if relative is None:
            raise AssertionError("only relative positions have buckets")
        num_buckets, first = relative.num_buckets, 0
        if side == "encoder":
            num_buckets //= 2
            first = num_buckets if offset > 0 else 0
        distance = abs(offset) if side == "encoder" else max(-offset, 0)
        exact = num_buckets // 2
        if distance < exact:
            return first + distance
        # In single precision, as trained: a distance on the border of two buckets goes by the rounding.
        share = np.log(np.float32(distance) / np.float32(exact)) / np.float32(log(relative.max_distance / exact))
        return first + min(exact + int(share * np.float32(num_buckets - exact)), num_buckets - 1)

    def _residual(self, x: Doubles, norm: NormKeys, sublayer: Sublayer) -> Doubles:
        if self._spec.norm_order == "pre":
            return x + sublayer(self._norm(x, norm))
        return self._norm(x + sublayer(x), norm)

    def _norm(self, x: Doubles, keys: NormKeys) -> Doubles:
        if self._spec.norm_kind == "layer":
            x = x - x.mean(axis=-1, keepdims=True)
        y: Doubles = x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + self._spec.norm_epsilon)
        y = y * self._double(keys.weight)
        return y if keys.bias is None else y + self._double(keys.bias)

    def _attend(self, x: Doubles, memory: Doubles, keys: AttentionKeys, bias: Doubles) -> tuple[Doubles, Doubles]:
        """Output [N, E] and weights [H, N, M] of queries from x [N, E] on memory [M, E]; `bias` is added to scores."""
        query = self._split(self._linear(x, keys.query))
        key, value = self._split(self._linear(memory, keys.key)), self._split(self._linear(memory, keys.value))
        scores = query @ key.transpose(0, 2, 1) * self._spec.attention_scale + bias
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
