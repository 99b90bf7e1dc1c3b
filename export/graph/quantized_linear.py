"""Linear layers in 8-bit integers: weights rounded at export, activations by a constant scale or by each row's own.

Integer sums are exact and every scale is a constant or belongs to one row, so a row's result is the same bits in any
company. A scale taken from the whole tensor would be wrong here: it makes a translation depend on its neighbours.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from export.graph.builder import GraphBuilder
from export.network import Floats, LinearWeights

WeightBits = Literal[7, 8]

ACTIVATION_LIMIT = 127
# Keeps the scale of an all-zero row above zero; far below any activation that matters.
_SMALLEST_PEAK = 1e-30
# Values of a matrix rounded at once, in whole columns: what that takes besides the matrix and its integers is small.
_VALUES_AT_ONCE = 1 << 19


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
    limit, zero, dtype = (63, np.int8(0), np.int8) if bits == 7 else (127, np.uint8(128), np.uint8)
    integers = np.empty(weight.shape, dtype)
    scales = np.empty(weight.shape[1], np.float32)
    columns = max(1, _VALUES_AT_ONCE // weight.shape[0])
    for start in range(0, weight.shape[1], columns):
        some = slice(start, start + columns)
        peaks = np.abs(weight[:, some]).max(axis=0)
        scales[some] = np.where(peaks > 0, peaks, 1) / limit
        rounded = weight[:, some] / scales[some]
        np.rint(rounded, out=rounded)
        np.clip(rounded, -limit, limit, out=rounded)
        rounded += np.float32(zero)
        integers[:, some] = rounded
    return QuantizedMatrix(integers, np.asarray(zero), scales)


@dataclass(frozen=True, slots=True)
class ActivationScale:
    """One constant rounding of a layer's activations: x = (byte - zero) * step, bytes 0 to 255."""

    step: np.float32
    zero: np.uint8

    @classmethod
    def of_range(cls, low: float, high: float) -> "ActivationScale":
        """A rounding that holds values from `low` to `high`, and zero exactly.

        The step is the finest one of eight binary digits, so that the last digits of a measured range, which are the
        machine's own, seldom show in a package.
        """
        low, high = min(low, 0.0), max(high, 0.0)
        digits, exponent = math.frexp((high - low) / 255 or 1.0)
        step = np.float32(math.ldexp(math.ceil(digits * 256), exponent - 8))
        return cls(step, np.uint8(np.clip(np.rint(-low / step), 0, 255)))


# Of a row divided by its largest magnitude.
_UNIT_SCALE = ActivationScale(np.float32(1 / ACTIVATION_LIMIT), np.uint8(128))


class QuantizedLinear:
    """Linear layers in integers; a layer's activations have a constant scale where there is one, else one per row.

    scales: constant scales by the layers' paths. Both kinds keep rows apart; a constant one needs no reductions.
    """

    def __init__(self, builder: GraphBuilder, bits: WeightBits, scales: Mapping[str, ActivationScale]) -> None:
        self._builder = builder
        self._bits = bits
        self._scales = scales

    def apply(self, value: str, layer: LinearWeights, name: str) -> str:
        """x [N, in] to x @ weight + bias [N, out], both sides of the product in integers."""
        with self._builder.scope(name) as path:
            return self._product(value, quantize_matrix(layer.weight, self._bits), layer.bias, self._scales.get(path))

    def apply_table(self, value: str, table: Floats, bias: Floats, name: str) -> str:
        """x [N, E] to x @ table^T + bias [N, V]; the integers are the head's own, the table stays float for lookups."""
        with self._builder.scope(name) as path:
            matrix = quantize_matrix(table.T, self._bits)
            return self._product(value, matrix, bias, self._scales.get(path))

    def _product(self, value: str, matrix: QuantizedMatrix, bias: Floats | None, scale: ActivationScale | None) -> str:
        if scale is None:
            return self._product_by_row(value, matrix, bias)
        return self._multiply(self._rounded(value, scale), scale, matrix, bias)

    def _product_by_row(self, value: str, matrix: QuantizedMatrix, bias: Floats | None) -> str:
        builder = self._builder
        magnitudes = builder.node("Abs", [value], "magnitudes")
        peak = builder.node("ReduceMax", [magnitudes, builder.integers(1)], "peak", keepdims=1)
        smallest = builder.weight("smallest_peak", np.float32(_SMALLEST_PEAK))
        peak = builder.node("Max", [peak, smallest], "safe_peak")
        # Dividing by the peak first lets the rounding itself have one constant scale.
        unit = builder.node("Div", [value, peak], "unit")
        product = self._multiply(self._rounded(unit, _UNIT_SCALE), _UNIT_SCALE, matrix, None)
        scaled = builder.node("Mul", [product, peak], "scaled")
        return scaled if bias is None else builder.node("Add", [scaled, builder.weight("bias", bias)], "biased")

    def _rounded(self, value: str, scale: ActivationScale) -> str:
        inputs = [value, self._builder.weight("step", scale.step), self._builder.weight("activation_zero", scale.zero)]
        return self._builder.node("QuantizeLinear", inputs, "quantized")

    def _multiply(self, rounded: str, scale: ActivationScale, matrix: QuantizedMatrix, bias: Floats | None) -> str:
        builder = self._builder
        inputs = [
            rounded,
            builder.weight("weight", matrix.integers),
            builder.weight("step", scale.step),
            builder.weight("weight_scales", matrix.scales),
            builder.weight("activation_zero", scale.zero),
            builder.weight("weight_zero", matrix.zero),
        ]
        if bias is not None:
            inputs.append(builder.weight("bias", bias))
        return builder.contrib("MatMulIntegerToFloat", inputs, "product")
