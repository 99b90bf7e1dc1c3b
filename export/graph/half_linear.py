"""Linear layers in 16-bit floats, for processors that multiply those fastest.

A product is 16-bit too, and what it may reach is bounded only where its input is: behind a norm, or a mean by
attention. A feed-forward block's inner values are not, and in T5-like networks their products are beyond the largest
16-bit number; so those are multiplied as shares of the row's largest.
"""

import math

import numpy as np

from export.graph.half_builder import HalfGraphBuilder
from export.network import Floats, LinearWeights

_LARGEST_HALF = float(np.finfo(np.float16).max)
# Keeps the share of an all-zero row defined; far below any value that matters.
_SMALLEST_PEAK = 1e-30
_UNBOUNDED = "outer"
_COLUMNS_AT_ONCE = 256


class HalfLinear:
    """Linear layers in float16; products are added up and biases of the head are added in float32."""

    def __init__(self, builder: HalfGraphBuilder) -> None:
        self._builder = builder

    def apply(self, value: str, layer: LinearWeights, name: str) -> str:
        """x [N, in] to x @ weight + bias [N, out]."""
        builder = self._builder
        with builder.scope(name):
            if name == _UNBOUNDED:
                return self._product_by_row(value, layer)
            inputs = [builder.half(value), builder.weight("weight", layer.weight.astype(np.float16))]
            if layer.bias is not None:
                inputs.append(builder.weight("bias", layer.bias.astype(np.float16)))
            return builder.node("Gemm", inputs)

    def apply_table(self, value: str, table: Floats, bias: Floats, name: str) -> str:
        """x [N, E] to x @ table^T + bias [N, V] in float32; a tied table stays one tensor."""
        builder = self._builder
        with builder.scope(name):
            product = builder.node("Gemm", [builder.half(value), builder.weight("table", table)], transB=1)
            # Banned ids have a bias of minus infinity, and others may have one that no 16-bit number holds.
            return builder.node("Add", [product, builder.weight("bias", bias)], "biased")

    def _product_by_row(self, value: str, layer: LinearWeights) -> str:
        builder = self._builder
        magnitudes = builder.node("Abs", [value], "magnitudes")
        peak = builder.node("ReduceMax", [magnitudes, builder.integers(1)], "peak", keepdims=1)
        divisor = builder.node("Max", [peak, builder.weight("smallest_peak", np.float32(_SMALLEST_PEAK))], "safe_peak")
        if (spread := _spread(layer.weight)) > 1:
            divisor = builder.node("Mul", [divisor, builder.weight("spread", np.float32(spread))], "divisor")
        shares = builder.half(builder.node("Div", [value, divisor], "shares"))
        product = builder.node("Gemm", [shares, builder.weight("weight", layer.weight.astype(np.float16))])
        scaled = builder.node("Mul", [product, divisor], "scaled")
        return scaled if layer.bias is None else builder.node("Add", [scaled, builder.weight("bias", layer.bias)])


def _spread(weight: Floats) -> float:
    """The least power of two by which shares have to be smaller, so that no product can be too large."""
    stretches = (weight[:, start : start + _COLUMNS_AT_ONCE] for start in range(0, weight.shape[1], _COLUMNS_AT_ONCE))
    furthest = max(float(np.abs(stretch).sum(axis=0).max()) for stretch in stretches)
    return 2.0 ** max(0, math.ceil(math.log2(max(furthest, 1.0) / (_LARGEST_HALF / 2))))
