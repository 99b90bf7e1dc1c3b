"""Writes the graph files of a package and the one weight file they share, a precision at a time."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from export.families.spec import ModelSpec
from export.graph.builder import GraphBuilder
from export.graph.decoder import add_decoder
from export.graph.encoder import add_encoder
from export.graph.half_builder import HalfGraphBuilder
from export.graph.half_linear import HalfLinear
from export.graph.linear import FloatLinear, LinearEmitter
from export.graph.quantized_linear import ActivationScale, QuantizedLinear, WeightBits
from export.graph.sublayers import Parts
from export.graph.weight_store import WeightStore
from export.network import NetworkWeights
from service.package.manifest import GraphFiles

Precision = Literal["fp32", "fp16", "int8"]

PRECISIONS: tuple[Precision, ...] = get_args(Precision)
WEIGHTS_FILE = "weights.bin"

# Per graph, the value each linear layer reads, by the layer's path.
LinearInputs = Mapping[str, Mapping[str, str]]

# A builder, and what adds linear layers to it.
_Drawing = tuple[GraphBuilder, LinearEmitter]

_GRAPHS: Mapping[Literal["encoder", "decoder"], Callable[[Parts], None]] = {
    "encoder": add_encoder,
    "decoder": add_decoder,
}


@dataclass(frozen=True, slots=True)
class GraphPlan:
    """Which precisions to write, how many bits int8 weights have, and what finds constant activation scales.

    calibrate: given the float32 graphs' files and what their linear layers read; None keeps a scale per row everywhere.
        Without fp32 among the precisions there is nothing to calibrate on, and it is not asked.
    """

    precisions: Sequence[Precision]
    weight_bits: WeightBits
    calibrate: Callable[[GraphFiles, LinearInputs], Mapping[str, ActivationScale]] | None


@dataclass(frozen=True, slots=True)
class WrittenGraphs:
    """File names by precision; the int8 layers by path that have a constant activation scale, of all there are."""

    files: Mapping[Precision, GraphFiles]
    constant_scales: tuple[str, ...]
    num_linear_layers: int

    @property
    def decisions(self) -> tuple[str, ...]:
        """How activations of int8 layers are scaled, as a sentence."""
        if "int8" not in self.files:
            return ()
        if "fp32" not in self.files:
            return ("int8: an activation scale per row in every layer; constant ones are measured on fp32 graphs only",)
        constant, layers = len(self.constant_scales), self.num_linear_layers
        return (f"int8: a constant activation scale in {constant} of {layers} layers, one per row in the rest",)


class _Writer:
    """Draws the network into `folder` once for each precision."""

    def __init__(self, folder: Path, store: WeightStore, spec: ModelSpec, weights: NetworkWeights) -> None:
        self._folder = folder
        self._store = store
        self._spec = spec
        self._weights = weights
        self.files: dict[Precision, GraphFiles] = {}

    def write(self, precision: Precision, start: Callable[[str], _Drawing]) -> None:
        """Writes both graphs; `start` gives an empty one of a name."""
        names = {kind: f"{kind}.{precision}.onnx" for kind in _GRAPHS}
        for kind, add in _GRAPHS.items():
            builder, emitter = start(kind)
            add(Parts(builder, self._spec, self._weights, emitter))
            builder.save(self._folder / names[kind])
        self._store.flush()
        self.files[precision] = GraphFiles(**names)

    def write_fp32(self) -> LinearInputs:
        """Writes float32 graphs; returns what their linear layers read."""
        inputs: dict[str, Mapping[str, str]] = {}

        def start(kind: str) -> _Drawing:
            builder = GraphBuilder(kind, self._store)
            emitter = FloatLinear(builder)
            inputs[kind] = emitter.inputs
            return builder, emitter

        self.write("fp32", start)
        return inputs

    def write_int8(self, bits: WeightBits, scales: Mapping[str, ActivationScale]) -> None:
        """Writes 8-bit graphs."""

        def start(kind: str) -> _Drawing:
            builder = GraphBuilder(kind, self._store)
            return builder, QuantizedLinear(builder, bits, scales)

        self.write("int8", start)

    def write_fp16(self) -> None:
        """Writes 16-bit graphs."""

        def start(kind: str) -> _Drawing:
            builder = HalfGraphBuilder(kind, self._store)
            return builder, HalfLinear(builder)

        self.write("fp16", start)


def write_graphs(folder: Path, spec: ModelSpec, weights: NetworkWeights, plan: GraphPlan) -> WrittenGraphs:
    """Writes encoder and decoder in each precision of the plan into `folder`."""
    inputs: LinearInputs = {}
    scales: Mapping[str, ActivationScale] = {}
    with WeightStore(folder / WEIGHTS_FILE) as store:
        writer = _Writer(folder, store, spec, weights)
        if "fp32" in plan.precisions:
            inputs = writer.write_fp32()
        if "int8" in plan.precisions:
            if "fp32" in plan.precisions and plan.calibrate is not None:
                scales = plan.calibrate(writer.files["fp32"], inputs)
            writer.write_int8(plan.weight_bits, scales)
        if "fp16" in plan.precisions:
            writer.write_fp16()
    return WrittenGraphs(writer.files, tuple(sorted(scales)), sum(map(len, inputs.values())))
