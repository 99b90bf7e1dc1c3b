"""8-bit linear layers: rows do not depend on each other, and rounding is what it is said to be."""

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto

from export.graph.builder import GraphBuilder
from export.graph.quantized_linear import ActivationScale, QuantizedLinear, quantize_matrix
from export.graph.weight_store import WeightStore
from export.network import LinearWeights

WIDTH, OUTPUTS = 48, 37


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def layer_of(folder, bits, weight, bias, scale=None):
    with WeightStore(folder / "weights.bin") as store:
        builder = GraphBuilder("linear", store)
        value = builder.input("x", TensorProto.FLOAT, ["N", weight.shape[0]])
        scales = {} if scale is None else {"linear": scale}
        result = QuantizedLinear(builder, bits, scales).apply(value, LinearWeights(weight, bias), "linear")
        builder.output(result, TensorProto.FLOAT, ["N", weight.shape[1]])
        builder.save(folder / "linear.onnx")
    session = onnxruntime.InferenceSession(folder / "linear.onnx", providers=["CPUExecutionProvider"])
    return lambda x: session.run(None, {"x": x})[0]


def expected_product(x, weight, bias, bits):
    """Both sides rounded to integers, multiplied exactly, scaled back."""
    matrix = quantize_matrix(weight, bits)
    peaks = np.maximum(np.abs(x).max(axis=1, keepdims=True), np.float32(1e-30))
    rows = np.rint(x / peaks / np.float32(1 / 127)).astype(np.int64)
    sums = rows @ (matrix.integers.astype(np.int64) - int(matrix.zero))
    return sums * (matrix.scales.astype(np.float64) * peaks / 127) + bias


@pytest.mark.parametrize("bits", [7, 8])
def test_a_layer_is_the_exact_product_of_its_rounded_sides(tmp_path, bits):
    weight, bias, x = numbers(WIDTH, OUTPUTS), numbers(OUTPUTS, seed=1), numbers(9, WIDTH, seed=2)
    actual = layer_of(tmp_path, bits, weight, bias)(x)
    np.testing.assert_allclose(actual, expected_product(x, weight, bias, bits), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("bits", [7, 8])
def test_extreme_values_do_not_saturate(tmp_path, bits):
    """Pairs of largest products are where kernels that add in 16 bits would overflow."""
    weight = np.ones((WIDTH, OUTPUTS), np.float32) * np.where(np.arange(OUTPUTS) % 2, 1, -1).astype(np.float32)
    x = np.ones((3, WIDTH), np.float32) * np.array([[1], [-1], [5]], np.float32)
    actual = layer_of(tmp_path, bits, weight, np.zeros(OUTPUTS, np.float32))(x)
    np.testing.assert_allclose(actual, x @ weight, rtol=1e-5)


@pytest.mark.parametrize("bits", [7, 8])
@pytest.mark.parametrize("scale", [8, 1e6, 0])
def test_a_row_has_the_same_bits_alone_and_beside_any_other(tmp_path, bits, scale):
    layer = layer_of(tmp_path, bits, numbers(WIDTH, OUTPUTS), numbers(OUTPUTS, seed=1))
    x = numbers(20, WIDTH, seed=2)
    alone = np.concatenate([layer(x[row : row + 1]) for row in range(10)])
    x[10:] *= scale
    np.testing.assert_array_equal(layer(x)[:10], alone)


def test_a_row_of_zeros_gives_the_bias(tmp_path):
    bias = numbers(OUTPUTS, seed=1)
    layer = layer_of(tmp_path, 7, numbers(WIDTH, OUTPUTS), bias)
    np.testing.assert_array_equal(layer(np.zeros((2, WIDTH), np.float32)), [bias, bias])


@pytest.mark.parametrize(("bits", "limit", "dtype"), [(7, 63, np.int8), (8, 127, np.uint8)])
def test_weights_are_rounded_to_their_bits_by_column(bits, limit, dtype):
    weight = numbers(WIDTH, OUTPUTS) * np.linspace(0.01, 100, OUTPUTS, dtype=np.float32)
    weight[:, 3] = 0
    matrix = quantize_matrix(weight, bits)
    integers = matrix.integers.astype(int) - int(matrix.zero)
    assert matrix.integers.dtype == dtype
    assert (np.abs(integers).max(axis=0)[np.arange(OUTPUTS) != 3] == limit).all()
    assert not integers[:, 3].any()
    assert (np.abs(matrix.restored() - weight) <= np.abs(weight).max(axis=0) / limit * 0.5001).all()


@pytest.mark.parametrize(("low", "high"), [(-3.0, 5.0), (-0.28, 14.0), (0.0, 2.0), (-4.0, 0.0), (1.0, 6.0), (0.0, 0.0)])
def test_a_constant_scale_holds_its_range_and_zero_exactly(low, high):
    scale = ActivationScale.of_range(low, high)
    lowest, highest = (np.array([0, 255]) - int(scale.zero)) * float(scale.step)
    assert lowest <= min(low, 0.0) + float(scale.step) / 2
    assert highest >= max(high, 0.0) - float(scale.step) / 2
    assert 0 <= int(scale.zero) <= 255


@pytest.mark.parametrize("bits", [7, 8])
def test_a_layer_with_a_constant_scale_is_the_exact_product_of_its_rounded_sides(tmp_path, bits):
    weight, bias, x = numbers(WIDTH, OUTPUTS), numbers(OUTPUTS, seed=1), numbers(9, WIDTH, seed=2)
    scale = ActivationScale.of_range(-2.0, 3.0)
    actual = layer_of(tmp_path, bits, weight, bias, scale)(x)
    matrix = quantize_matrix(weight, bits)
    # Values beyond the range are held as its ends.
    rows = np.clip(np.rint(x / scale.step) + int(scale.zero), 0, 255).astype(np.int64) - int(scale.zero)
    sums = rows @ (matrix.integers.astype(np.int64) - int(matrix.zero))
    expected = sums * (matrix.scales.astype(np.float64) * float(scale.step)) + bias
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("bits", [7, 8])
def test_with_a_constant_scale_too_a_row_has_the_same_bits_in_any_company(tmp_path, bits):
    scale = ActivationScale.of_range(-3.0, 3.0)
    layer = layer_of(tmp_path, bits, numbers(WIDTH, OUTPUTS), numbers(OUTPUTS, seed=1), scale)
    x = numbers(20, WIDTH, seed=2)
    alone = np.concatenate([layer(x[row : row + 1]) for row in range(10)])
    x[10:] *= 1e6
    np.testing.assert_array_equal(layer(x)[:10], alone)
