"""Writes the graph files of a package and the one weight file they share."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from export.families.spec import ModelSpec
from export.graph.builder import GraphBuilder
from export.graph.decoder import add_decoder
from export.graph.encoder import add_encoder
from export.graph.linear import FloatLinear, LinearEmitter
from export.graph.quantized_linear import QuantizedLinear, WeightBits
from export.graph.sublayers import Parts
from export.graph.weight_store import WeightStore
from export.network import NetworkWeights
from service.package.manifest import GraphFiles

Precision = Literal["fp32", "int8"]

PRECISIONS: tuple[Precision, ...] = ("fp32", "int8")
WEIGHTS_FILE = "weights.bin"

_GRAPHS: Mapping[Literal["encoder", "decoder"], Callable[[Parts], None]] = {
    "encoder": add_encoder,
    "decoder": add_decoder,
}


def write_graphs(
    folder: Path, spec: ModelSpec, weights: NetworkWeights, precisions: Sequence[Precision], weight_bits: WeightBits
) -> dict[Precision, GraphFiles]:
    """Writes encoder and decoder in each precision into `folder`; returns their file names by precision."""
    written: dict[Precision, GraphFiles] = {}
    with WeightStore(folder / WEIGHTS_FILE) as store:
        for precision in precisions:
            names = {kind: f"{kind}.{precision}.onnx" for kind in _GRAPHS}
            for kind, add in _GRAPHS.items():
                builder = GraphBuilder(kind, store)
                add(Parts(builder, spec, weights, _emitter(builder, precision, weight_bits)))
                builder.save(folder / names[kind])
            written[precision] = GraphFiles(**names)
    return written


def _emitter(builder: GraphBuilder, precision: Precision, weight_bits: WeightBits) -> LinearEmitter:
    return FloatLinear(builder) if precision == "fp32" else QuantizedLinear(builder, weight_bits)
