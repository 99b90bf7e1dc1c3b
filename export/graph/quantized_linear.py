"""Linear layers in 8-bit integers: weights rounded at export, each activation row scaled by its own largest value.

Integer sums are exact and every scale belongs to one row, so a row's result is the same bits in any company. A scale
per tensor would be cheaper and is wrong here: it makes a translation depend on its neighbours.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from export.graph.builder import GraphBuilder
from export.network import Floats, LinearWeights

WeightBits = Literal[7, 8]

ACTIVATION_ZERO = 128
ACTIVATION_LIMIT = 127
# Keeps the scale of an all-zero row above zero; far below any activation that matters.
_SMALLEST_PEAK = 1e-30


@dataclass(frozen=True, slots=True)
class QuantizedMatrix:
    """Integers [in, out] with one scale per output column: w = (integers - zero) * scales."""

    integers: NDArray[Any]
    zero: NDArray[Any]
    scales: Floats

    def restored(self) -> Floats:
        """The float matrix [in, out] that the integers stand for."""
        return (self.integers.astype(np.float32) - self.zero.astype(np.float32)) * self.scales


def quantize_matrix(weight: Floats, bits: WeightBits) -> QuantizedMatrix:
    """Rounds a matrix [in, out] symmetrically around zero, with one scale per output column.

    7 bits are kept in signed bytes: kernels without a 32-bit accumulating instruction add pairs of unsigned by signed
    products in 16 bits, which 7 bits cannot overflow and 8 bits can. 8 bits are therefore kept in unsigned bytes
    around 128, which no kernel can overflow and for which kernels are slower.
    """
    limit = 63 if bits == 7 else 127
    peaks = np.abs(weight).max(axis=0)
    scales = (np.where(peaks > 0, peaks, 1) / limit).astype(np.float32)
    rounded = np.clip(np.rint(weight / scales), -limit, limit)
    if bits == 7:
        return QuantizedMatrix(rounded.astype(np.int8), np.array(0, np.int8), scales)
    return QuantizedMatrix((rounded + 128).astype(np.uint8), np.array(128, np.uint8), scales)


class QuantizedLinear:
    """Linear layers over rows scaled one by one."""

    def __init__(self, builder: GraphBuilder, bits: WeightBits) -> None:
        self._builder = builder
        self._bits = bits

    def apply(self, value: str, layer: LinearWeights, name: str) -> str:
        """x [N, in] to x @ weight + bias [N, out], both sides of the product in integers."""
        with self._builder.scope(name):
            return self._product(value, quantize_matrix(layer.weight, self._bits), layer.bias)

    def apply_table(self, value: str, table: Floats, bias: Floats, name: str) -> str:
        """x [N, E] to x @ table^T + bias [N, V]; the integers are the head's own, the table stays float for lookups."""
        with self._builder.scope(name):
            return self._product(value, quantize_matrix(np.ascontiguousarray(table.T), self._bits), bias)

    def _product(self, value: str, matrix: QuantizedMatrix, bias: Floats | None) -> str:
        builder = self._builder
        magnitudes = builder.node("Abs", [value], "magnitudes")
        peak = builder.node("ReduceMax", [magnitudes, builder.integers(1)], "peak", keepdims=1)
        smallest = builder.weight("smallest_peak", np.float32(_SMALLEST_PEAK))
        peak = builder.node("Max", [peak, smallest], "safe_peak")
        # Dividing by the peak first lets the quantisation itself have one constant scale.
        unit = builder.node("Div", [value, peak], "unit")
        step = builder.weight("step", np.float32(1 / ACTIVATION_LIMIT))
        zero = builder.weight("activation_zero", np.uint8(ACTIVATION_ZERO))
        inputs = [
            builder.node("QuantizeLinear", [unit, step, zero], "quantized"),
            builder.weight("weight", matrix.integers),
            step,
            builder.weight("weight_scales", matrix.scales),
            zero,
            builder.weight("weight_zero", matrix.zero),
        ]
        product = builder.contrib("MatMulIntegerToFloat", inputs, "unit_product")
        scaled = builder.node("Mul", [product, peak], "product")
        return scaled if bias is None else builder.node("Add", [scaled, builder.weight("bias", bias)], "biased")
