"""What encoder and decoder layers share: embeddings, norms, residual stream, feed-forward block.

Values are rows [N, E]; attention, which needs to know about sequences, is in `attention`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from export.families.spec import Activation, FeedForwardKeys, ModelSpec, NormKeys
from export.graph.builder import GraphBuilder
from export.graph.linear import LinearEmitter
from export.network import NetworkWeights

_ACTIVATIONS: Mapping[Activation, Callable[[GraphBuilder, str], str]] = {
    "relu": lambda builder, value: builder.node("Relu", [value]),
    "swish": lambda builder, value: builder.contrib("QuickGelu", [value], "swish", alpha=1.0),
    "quick_gelu": lambda builder, value: builder.contrib("QuickGelu", [value], alpha=1.702),
    "gelu": lambda builder, value: builder.node("Gelu", [value], approximate="none"),
    "gelu_tanh": lambda builder, value: builder.node("Gelu", [value], approximate="tanh"),
}


@dataclass(frozen=True, slots=True)
class Parts:
    """What drawing a graph needs: the builder, the spec, its weights, and how linear layers are emitted."""

    builder: GraphBuilder
    spec: ModelSpec
    weights: NetworkWeights
    linear: LinearEmitter


class Residual:
    """The running sum of sub-layer outputs and its normalised view, for both norm orders.

    Post-norm normalises after each sub-layer and carries the normalised value on; pre-norm normalises before each
    sub-layer and carries the sum. Either way the norm that is due follows each sub-layer.

    An Add and a LayerNormalization, not the fused SkipLayerNormalization: that one's CPU kernel is scalar, and takes
    six times as long from a few rows on.
    """

    def __init__(self, parts: Parts, value: str, norms: Sequence[NormKeys]) -> None:
        """`norms` in order of use; with pre-norm the last one is the stack's final norm."""
        self._parts = parts
        self._pre = parts.spec.norm_order == "pre"
        self._due = list(norms)
        self._sum = value
        self.value = normalise(parts, value, self._due.pop(0)) if self._pre else value

    def add(self, output: str) -> None:
        """Adds a sub-layer's output [N, E]; `value` is then the next sub-layer's input."""
        total = self._parts.builder.node("Add", [self._sum, output], "sum")
        self.value = normalise(self._parts, total, self._due.pop(0))
        self._sum = total if self._pre else self.value


def normalise(parts: Parts, value: str, keys: NormKeys) -> str:
    """A norm over the last axis, of the kind that the network has."""
    builder, epsilon = parts.builder, parts.spec.norm_epsilon
    gain, shift = parts.weights.norm(keys)
    inputs = [value, builder.weight("norm/gain", gain)]
    if shift is not None:
        inputs.append(builder.weight("norm/shift", shift))
    # The runtime's own RMS norm: in the standard set there is one only from a later version on.
    operator = "SimplifiedLayerNormalization" if parts.spec.norm_kind == "rms" else "LayerNormalization"
    return builder.node(operator, inputs, "norm", axis=-1, epsilon=epsilon)


def look_up(parts: Parts, table: str, ids: str) -> str:
    """Scaled token embeddings: ids [...] to [..., E]."""
    builder = parts.builder
    value = builder.node("Gather", [builder.weight("table", parts.weights.table(table)), ids], "token")
    if parts.spec.embedding_scale == 1.0:
        return value
    scale = builder.weight("scale", np.float32(parts.spec.embedding_scale))
    return builder.node("Mul", [value, scale], "scaled")


def feed_forward(parts: Parts, value: str, keys: FeedForwardKeys) -> str:
    """outer(activation(inner(x))); a gate and what it lets through come out of one product."""
    builder, activation = parts.builder, _ACTIVATIONS[parts.spec.activation]
    if keys.gate is None:
        active = activation(builder, parts.linear.apply(value, parts.weights.linear(keys.inner), "inner"))
    else:
        both = parts.linear.apply(value, parts.weights.side_by_side((keys.gate, keys.inner)), "inner")
        gate, passing = builder.nodes("Split", [both], 2, "halves", axis=1, num_outputs=2)
        active = builder.node("Mul", [activation(builder, gate), passing], "gated")
    return parts.linear.apply(active, parts.weights.linear(keys.outer), "outer")
