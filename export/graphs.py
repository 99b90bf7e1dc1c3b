"""Writes the graph files of a package and the one weight file they share."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from export.families.spec import ModelSpec
from export.graph.builder import GraphBuilder
from export.graph.decoder import add_decoder
from export.graph.encoder import add_encoder
from export.graph.linear import FloatLinear, LinearEmitter
from export.graph.quantized_linear import ActivationScale, QuantizedLinear, WeightBits
from export.graph.sublayers import Parts
from export.graph.weight_store import WeightStore
from export.network import NetworkWeights
from service.package.manifest import GraphFiles

Precision = Literal["fp32", "int8"]

PRECISIONS: tuple[Precision, ...] = ("fp32", "int8")
WEIGHTS_FILE = "weights.bin"

# Per graph, the value each linear layer reads, by the layer's path.
LinearInputs = Mapping[str, Mapping[str, str]]

Emitter = TypeVar("Emitter", bound=LinearEmitter)

_GRAPHS: Mapping[Literal["encoder", "decoder"], Callable[[Parts], None]] = {
    "encoder": add_encoder,
    "decoder": add_decoder,
}


@dataclass(frozen=True, slots=True)
class GraphPlan:
    """Which precisions to write, how many bits int8 weights have, and what finds constant activation scales.

    calibrate: given the float32 graphs' files and what their linear layers read; None keeps a scale per row everywhere.
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
        constant, layers = len(self.constant_scales), self.num_linear_layers
        return (f"int8: a constant activation scale in {constant} of {layers} layers, one per row in the rest",)


def write_graphs(folder: Path, spec: ModelSpec, weights: NetworkWeights, plan: GraphPlan) -> WrittenGraphs:
    """Writes encoder and decoder in float32, then in each other precision, into `folder`."""
    files: dict[Precision, GraphFiles] = {}
    scales: Mapping[str, ActivationScale] = {}
    with WeightStore(folder / WEIGHTS_FILE) as store:

        def write(precision: Precision, emitter: Callable[[GraphBuilder], Emitter]) -> dict[str, Emitter]:
            emitters: dict[str, Emitter] = {}
            names = {kind: f"{kind}.{precision}.onnx" for kind in _GRAPHS}
            for kind, add in _GRAPHS.items():
                builder = GraphBuilder(kind, store)
                emitters[kind] = emitter(builder)
                add(Parts(builder, spec, weights, emitters[kind]))
                builder.save(folder / names[kind])
            files[precision] = GraphFiles(**names)
            return emitters

        inputs = {kind: emitter.inputs for kind, emitter in write("fp32", FloatLinear).items()}
        store.flush()
        if "int8" in plan.precisions:
            if plan.calibrate is not None:
                scales = plan.calibrate(files["fp32"], inputs)
            write("int8", lambda builder: QuantizedLinear(builder, plan.weight_bits, scales))
    return WrittenGraphs(files, tuple(sorted(scales)), sum(map(len, inputs.values())))
