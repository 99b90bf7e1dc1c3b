"""Builds a graph whose linear layers, attention and caches are in 16-bit floats, and everything else in 32-bit ones.

Encoder and decoder draw the same network as ever; which values are 16-bit follows from what makes and reads them.
Norms, sums, activations and the softmax over the vocabulary stay as they are.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto

from export.graph.builder import Dimension, GraphBuilder
from export.graph.weight_store import WeightStore

# Inputs of these that are 16-bit, by place; the others are lengths and masks.
_ATTENTION_OPERANDS: Mapping[str, frozenset[int]] = {
    "GroupQueryAttention": frozenset({0, 1, 2, 3, 4, 10}),
    "MultiHeadAttention": frozenset({0, 1, 2, 5}),
}
# What these give has the kind of their first input.
_MOVING = frozenset({"Gather", "Reshape", "Slice", "Split", "Transpose", "Unsqueeze"})
# These are 16-bit where all of their inputs are.
_MIXING = frozenset({"Concat", "Gemm"})
# Token tables, which may be the head's too, and tables of scores, which only attention adds up.
_HALF_WEIGHTS = frozenset({"table"})
# Stands for minus infinity in masked scores, and is a 16-bit number.
_MASK_VALUE = -6e4


class HalfGraphBuilder(GraphBuilder):
    """Casts where 16-bit and 32-bit values meet; a value is cast once, whoever reads it."""

    def __init__(self, name: str, store: WeightStore) -> None:
        super().__init__(name, store)
        self._halves: set[str] = set()
        # 32-bit inputs that nothing has read yet.
        self._untouched: set[str] = set()
        self._casts: dict[tuple[str, int], str] = {}

    def input(self, name: str, kind: int, shape: Sequence[Dimension]) -> str:
        """Declares a graph input; a float one that attention is the first to read becomes 16-bit."""
        if kind == TensorProto.FLOAT:
            self._untouched.add(name)
        return super().input(name, kind, shape)

    def weight(self, name: str, values: NDArray[Any] | np.generic) -> str:
        """An initializer with these values; tables are kept in 16 bits."""
        if name in _HALF_WEIGHTS and values.dtype == np.float32:
            values = values.astype(np.float16)
        path = super().weight(name, values)
        if values.dtype == np.float16:
            self._halves.add(path)
        return path

    def nodes(
        self, operator: str, inputs: Sequence[str], outputs: int | Sequence[str], name: str = "", **attributes: Any
    ) -> list[str]:
        """Adds a node whose inputs are cast to what it works in."""
        is_half = self._works_in_half(operator, inputs)
        operands = _ATTENTION_OPERANDS.get(operator)
        if operands is not None:
            inputs = [self.half(value) if place in operands and value else value for place, value in enumerate(inputs)]
        elif not is_half:
            inputs = [self._single(value) for value in inputs]
        if "mask_filter_value" in attributes:
            attributes["mask_filter_value"] = _MASK_VALUE
        names = super().nodes(operator, inputs, outputs, name, **attributes)
        if is_half:
            self._halves.update(filter(None, names))
        return names

    def half(self, value: str) -> str:
        """A value in 16 bits; an input that nothing has read yet becomes 16-bit itself."""
        if value in self._untouched:
            self._untouched.remove(value)
            self._halves.add(value)
        return value if value in self._halves else self._cast(value, TensorProto.FLOAT16, "half")

    def model(self) -> onnx.ModelProto:
        """The finished model; inputs and outputs are declared as what they turned out to be."""
        for info in (*self._inputs, *self._outputs):
            if info.name in self._halves:
                info.type.tensor_type.elem_type = TensorProto.FLOAT16
        return super().model()

    def _works_in_half(self, operator: str, inputs: Sequence[str]) -> bool:
        if operator in _ATTENTION_OPERANDS:
            return True
        if operator in _MOVING:
            return inputs[0] in self._halves
        return operator in _MIXING and self._halves.issuperset(inputs)

    def _single(self, value: str) -> str:
        """A value in 32 bits where it is a 16-bit one; any other as it is."""
        self._untouched.discard(value)
        return self._cast(value, TensorProto.FLOAT, "single") if value in self._halves else value

    def _cast(self, value: str, kind: int, name: str) -> str:
        if (value, kind) not in self._casts:
            self._casts[value, kind] = super().nodes("Cast", [value], 1, name, to=kind)[0]
        result = self._casts[value, kind]
        if kind == TensorProto.FLOAT16:
            self._halves.add(result)
        return result
