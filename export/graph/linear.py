"""Emits linear layers over rows [N, in]; a precision is a choice of emitter.

Emitters see one graph's values only and never mix rows, so a row's result cannot depend on its neighbours.
"""

from typing import Protocol

from export.graph.builder import GraphBuilder
from export.network import Floats, LinearWeights


class LinearEmitter(Protocol):
    """Adds linear layers to the builder it was made for."""

    def apply(self, value: str, layer: LinearWeights, name: str) -> str:
        """x [N, in] to x @ weight + bias [N, out]."""

    def apply_table(self, value: str, table: Floats, bias: Floats, name: str) -> str:
        """x [N, E] to x @ table^T + bias [N, V], for a table [V, E] that may also be an embedding."""


class FloatLinear:
    """Linear layers in float32: one Gemm each, which takes the bias along.

    inputs: the value that each layer, named by its path, reads; calibration looks at these.
    """

    def __init__(self, builder: GraphBuilder) -> None:
        self._builder = builder
        self.inputs: dict[str, str] = {}

    def apply(self, value: str, layer: LinearWeights, name: str) -> str:
        """x [N, in] to x @ weight + bias [N, out]."""
        with self._builder.scope(name) as path:
            self.inputs[path] = value
            inputs = [value, self._builder.weight("weight", layer.weight)]
            if layer.bias is not None:
                inputs.append(self._builder.weight("bias", layer.bias))
            return self._builder.node("Gemm", inputs)

    def apply_table(self, value: str, table: Floats, bias: Floats, name: str) -> str:
        """x [N, E] to x @ table^T + bias [N, V]; the table is used as stored, so a tied one stays one tensor."""
        with self._builder.scope(name) as path:
            self.inputs[path] = value
            inputs = [value, self._builder.weight("table", table), self._builder.weight("bias", bias)]
            return self._builder.node("Gemm", inputs, transB=1)
