"""The floor of a step: its matrix products alone, in a graph that holds nothing else.

Every product of a weight in the decoder graph is copied with its own weight and kernel; its activations come straight
from an input, so nothing waits for anything but the products before it.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.spread import median
from service.engine.options import EngineOptions
from service.engine.sessions import open_session

_PRODUCTS = {
    "MatMul", "Gemm", "FusedGemm", "FusedMatMul", "MatMulInteger", "MatMulIntegerToFloat", "DynamicQuantizeMatMul",
    "MatMulNBits", "QGemm",
}  # fmt: skip
# Where the zero point of the activations is, whose type is that of the activations.
_ZERO_POINT_INPUTS = {"MatMulInteger": 2, "MatMulIntegerToFloat": 4, "QGemm": 2}
_WARM_UP_RUNS = 5


@dataclass(frozen=True, slots=True)
class Product:
    """One product in the floor graph: activations (rows, depth) times a weight (depth, width)."""

    kind: str
    depth: int
    width: int


def write_floor(decoder: Path, output: Path) -> list[Product]:
    """Writes the graph of a decoder graph's products; returns them. Raises ValueError if there are none."""
    import onnx

    model = onnx.load(decoder)
    weights = {tensor.name: tensor for tensor in model.graph.initializer}
    products: list[Product] = []
    nodes: list[Any] = []
    used: set[str] = set()
    inputs: dict[str, Any] = {}
    outputs: list[Any] = []
    for node in model.graph.node:
        if node.op_type not in _PRODUCTS or node.input[1] not in weights:
            continue
        product = _product(node, weights)
        products.append(product)
        element = _activation_type(node, weights)
        activations = f"rows_{product.depth}_{element}"
        inputs[activations] = onnx.helper.make_tensor_value_info(activations, element, ["R", product.depth])
        names = [activations, *(_constant(name, weights) for name in node.input[1:])]
        copied = onnx.NodeProto()
        copied.CopyFrom(node)
        copied.ClearField("input")
        copied.input.extend(names)
        nodes.append(copied)
        used.update(name for name in names[1:] if name)
        outputs.append(onnx.helper.make_tensor_value_info(node.output[0], onnx.TensorProto.FLOAT, ["R", product.width]))
    if not nodes:
        raise ValueError(f"{decoder.name} has no product of a weight")
    weights[_ONE] = onnx.helper.make_tensor(_ONE, onnx.TensorProto.FLOAT, [], [1.0])
    graph = onnx.helper.make_graph(
        nodes, "floor", list(inputs.values()), outputs, [weights[name] for name in sorted(used)]
    )
    floor = onnx.helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
    onnx.save_model(floor, output, save_as_external_data=True, location=f"{output.name}.weights")
    return products


class FloorProbe:
    """A floor graph, run with the same settings as the engine's graphs."""

    def __init__(self, graph: Path, num_threads: int) -> None:
        self._session = open_session(graph, EngineOptions(), num_threads)

    def seconds(self, num_rows: int, runs: int) -> list[float]:
        """Runs the products for so many rows; returns the seconds of each run."""
        binding = self._session.io_binding()
        draw = np.random.default_rng(1)
        kept: list[Any] = []
        for value in self._session.get_inputs():
            array = _activations(draw, value.type, (num_rows, value.shape[1]))
            kept.append(array)
            binding.bind_input(value.name, "cpu", 0, array.dtype.type, array.shape, array.ctypes.data)
        for value in self._session.get_outputs():
            array = np.empty((num_rows, value.shape[1]), np.float32)
            kept.append(array)
            binding.bind_output(value.name, "cpu", 0, array.dtype.type, array.shape, array.ctypes.data)
        seconds = []
        for _ in range(_WARM_UP_RUNS + runs):
            started = time.perf_counter()
            self._session.run_with_iobinding(binding)
            seconds.append(time.perf_counter() - started)
        return seconds[_WARM_UP_RUNS:]

    def median_seconds(self, num_rows: int, runs: int = 40) -> float:
        """Returns the median of several runs."""
        return median(self.seconds(num_rows, runs))


def describe(products: Iterable[Product]) -> str:
    """Counts products by kind."""
    kinds = [product.kind for product in products]
    return ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))


_ONE = "one"


def _product(node: Any, weights: dict[str, Any]) -> Product:
    attributes = {attribute.name: attribute.i for attribute in node.attribute}
    if node.op_type == "MatMulNBits":
        return Product(node.op_type, attributes["K"], attributes["N"])
    rows, columns = weights[node.input[1]].dims[-2:]
    return Product(node.op_type, columns, rows) if attributes.get("transB") else Product(node.op_type, rows, columns)


def _activation_type(node: Any, weights: dict[str, Any]) -> int:
    import onnx

    place = _ZERO_POINT_INPUTS.get(node.op_type)
    if place is None:
        return int(onnx.TensorProto.FLOAT)
    zero = weights.get(node.input[place]) if place < len(node.input) else None
    return int(zero.data_type) if zero is not None else int(onnx.TensorProto.UINT8)


def _constant(name: str, weights: dict[str, Any]) -> str:
    """Keeps what is constant; scales that depend on the activations become 1."""
    return name if not name or name in weights else _ONE


def _activations(draw: np.random.Generator, kind: str, shape: tuple[int, int]) -> Any:
    if kind == "tensor(uint8)":
        return draw.integers(0, 256, shape, np.uint8)
    if kind == "tensor(int8)":
        return draw.integers(-127, 128, shape, np.int8)
    return draw.normal(0, 1, shape).astype(np.float32)
