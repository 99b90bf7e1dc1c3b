"""Builds one ONNX graph: nodes named by path, initializers kept outside the file, inputs and outputs by declaration.

Which nodes a network needs is the business of `encoder` and `decoder`.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper

from export.graph.weight_store import WeightStore

OPSET = 21
IR_VERSION = 10
MICROSOFT = "com.microsoft"

Dimension = int | str


class GraphBuilder:
    """One graph under construction. Values are referred to by name; "" stands for an absent optional input."""

    def __init__(self, name: str, store: WeightStore) -> None:
        self._name = name
        self._store = store
        self._scope: list[str] = []
        self._counts: dict[str, int] = {}
        self._nodes: list[onnx.NodeProto] = []
        self._initializers: dict[str, TensorProto] = {}
        self._initializer_names: dict[tuple[Any, ...], str] = {}
        self._shapes: dict[tuple[int, ...], str] = {}
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []

    @contextmanager
    def scope(self, name: str) -> Iterator[str]:
        """Puts `name/` in front of everything named inside; gives the path so far."""
        self._scope.append(name)
        try:
            yield "/".join(self._scope)
        finally:
            self._scope.pop()

    def input(self, name: str, kind: int, shape: Sequence[Dimension]) -> str:
        """Declares a graph input; `kind` is a TensorProto type, named dimensions are free."""
        self._inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, name: str, kind: int, shape: Sequence[Dimension]) -> None:
        """Declares that the value called `name` is a graph output."""
        self._outputs.append(helper.make_tensor_value_info(name, kind, shape))

    def node(self, operator: str, inputs: Sequence[str], name: str = "", **attributes: Any) -> str:
        """Adds a node with one output and returns the output's name."""
        return self.nodes(operator, inputs, 1, name, **attributes)[0]

    def nodes(
        self, operator: str, inputs: Sequence[str], outputs: int | Sequence[str], name: str = "", **attributes: Any
    ) -> list[str]:
        """Adds a node; `outputs` is a number of fresh outputs or their names ("" where one is not wanted)."""
        path = self.fresh(name or operator.lower())
        names = [path, *(f"{path}.{i}" for i in range(1, outputs))] if isinstance(outputs, int) else list(outputs)
        domain = attributes.pop("domain", "")
        self._nodes.append(helper.make_node(operator, list(inputs), names, name=path, domain=domain, **attributes))
        return names

    def contrib(self, operator: str, inputs: Sequence[str], name: str = "", **attributes: Any) -> str:
        """Adds a node of ONNX Runtime's own operator set with one output."""
        return self.node(operator, inputs, name, domain=MICROSOFT, **attributes)

    def weight(self, name: str, values: NDArray[Any] | np.generic) -> str:
        """An initializer with these values, shared with any equal one of this graph."""
        array = np.asarray(values)
        extent = self._store.add(array)
        key = (extent.offset, array.dtype.str, array.shape)
        if key not in self._initializer_names:
            path = self.fresh(name)
            self._initializer_names[key] = path
            self._initializers[path] = _external(path, array, self._store.path.name, extent.offset, extent.length)
        return self._initializer_names[key]

    def integers(self, *values: int) -> str:
        """A small one-dimensional int64 constant, such as a shape or axes, kept in the graph itself."""
        if values not in self._shapes:
            path = "constants/" + "_".join(str(value).replace("-", "minus") for value in values)
            self._nodes.append(helper.make_node("Constant", [], [path], name=path, value_ints=list(values)))
            self._shapes[values] = path
        return self._shapes[values]

    def model(self) -> onnx.ModelProto:
        """The finished model."""
        graph = helper.make_graph(
            self._nodes, self._name, self._inputs, self._outputs, initializer=list(self._initializers.values())
        )
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(MICROSOFT, 1)]
        return helper.make_model(graph, producer_name="verso", ir_version=IR_VERSION, opset_imports=opsets)

    def save(self, path: Path) -> None:
        """Writes the model in a form that depends on its content only."""
        path.write_bytes(self.model().SerializeToString(deterministic=True))

    def fresh(self, name: str) -> str:
        """An unused name in the current scope."""
        path = "/".join([*self._scope, name])
        count = self._counts.get(path, 0)
        self._counts[path] = count + 1
        return path if count == 0 else f"{path}.{count}"


def _external(name: str, array: NDArray[Any], file: str, offset: int, length: int) -> TensorProto:
    tensor = TensorProto()
    tensor.name = name
    tensor.data_type = helper.np_dtype_to_tensor_dtype(np.dtype(array.dtype))
    tensor.dims.extend(array.shape)
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", file), ("offset", str(offset)), ("length", str(length))):
        tensor.external_data.add(key=key, value=value)
    return tensor
