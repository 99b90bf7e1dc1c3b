"""Checks what graph files look like, whatever they compute: operators, initializers, inputs, outputs, versions."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

import onnx
from onnx import TensorProto

from export.families.spec import ModelSpec, RecurrentKeys
from export.graph.builder import IR_VERSION, MICROSOFT, OPSET
from export.graphs import WEIGHTS_FILE, Precision
from service.package.package import GraphKind

# Control flow keeps the runtime from planning memory and holds weights in every branch.
_BANNED_OPERATORS = {"If", "Loop", "Scan"}
# A layer has four to six linear layers; rounding the activations of one takes seven nodes, casting them two.
_MOST_NODES_PER_LAYER: Mapping[Precision, int] = {"fp32": 32, "fp16": 45, "int8": 75}
_ATTENTION_OPERATORS = {"MultiHeadAttention", "GroupQueryAttention"}

_CHUNK_BYTES = 1 << 20
_FLOAT, _INT64, _INT32 = TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32

Values = dict[str, tuple[int, tuple[int | str, ...]]]


@dataclass(frozen=True, slots=True)
class GraphStructure:
    """Counts of one graph file and what is wrong with it. `operators` counts nodes by kind, constants left out."""

    num_nodes: int
    num_initializers: int
    operators: Mapping[str, int]
    problems: tuple[str, ...]


def check_structure(path: Path, kind: GraphKind, precision: Precision, spec: ModelSpec) -> GraphStructure:
    """Reads one graph without its weights."""
    model = onnx.load(path, load_external_data=False)
    values = _Values(spec, TensorProto.FLOAT16 if precision == "fp16" else _FLOAT)
    expected_inputs, expected_outputs = values.of_encoder() if kind == "encoder" else values.of_decoder()
    problems = [
        *_version_problems(model),
        *_operator_problems(model),
        *_layer_problems(model, kind, _MOST_NODES_PER_LAYER[precision]),
        *_initializer_problems(model, path.parent / WEIGHTS_FILE),
        *_value_problems("input", _values(model.graph.input), expected_inputs),
        *_value_problems("output", _values(model.graph.output), expected_outputs),
    ]
    operators = Counter(node.op_type for node in model.graph.node if node.op_type != "Constant")
    return GraphStructure(
        num_nodes=operators.total(),
        num_initializers=len(model.graph.initializer),
        operators=dict(sorted(operators.items())),
        problems=tuple(f"{path.name}: {problem}" for problem in problems),
    )


def _version_problems(model: onnx.ModelProto) -> Iterator[str]:
    if model.ir_version != IR_VERSION:
        yield f"IR version {model.ir_version}, not {IR_VERSION}"
    opsets = {opset.domain: opset.version for opset in model.opset_import}
    if opsets != {"": OPSET, MICROSOFT: 1}:
        yield f"operator sets {opsets}"


def _operator_problems(model: onnx.ModelProto) -> Iterator[str]:
    weights = {tensor.name for tensor in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type in _BANNED_OPERATORS:
            yield f"{node.name}: {node.op_type} is control flow"
        if node.op_type == "Transpose" and node.input[0] in weights:
            yield f"{node.name}: transposes a weight, which the runtime would keep twice"
        asks_memory = any(name.startswith(("cross_", "solo_k", "solo_v")) for name in node.input)
        if asks_memory and node.op_type not in _ATTENTION_OPERATORS:
            yield f"{node.name}: {node.op_type} works on whole sources in every step"


def _layer_problems(model: onnx.ModelProto, kind: str, most: int) -> Iterator[str]:
    layers = Counter(match[1] for node in model.graph.node if (match := re.match(rf"{kind}/(\d+)/", node.name)))
    for layer, count in sorted(layers.items()):
        if count > most:
            yield f"layer {layer} has {count} nodes, over {most}"


def _initializer_problems(model: onnx.ModelProto, weights: Path) -> Iterator[str]:
    used = {name for node in model.graph.node for name in node.input}
    seen: dict[tuple[int, tuple[int, ...], bytes], str] = {}
    size = weights.stat().st_size
    with weights.open("rb") as file:
        for tensor in model.graph.initializer:
            place = {entry.key: entry.value for entry in tensor.external_data}
            if tensor.data_location != TensorProto.EXTERNAL or place.get("location") != weights.name:
                yield f"{tensor.name}: is not in {weights.name}"
                continue
            if tensor.name not in used:
                yield f"{tensor.name}: is not used"
            offset, length = int(place["offset"]), int(place["length"])
            if offset + length > size:
                yield f"{tensor.name}: lies beyond the end of {weights.name}"
                continue
            file.seek(offset)
            key = (tensor.data_type, tuple(tensor.dims), _digest(file, length))
            if key in seen:
                yield f"{tensor.name}: equals {seen[key]}"
            seen[key] = tensor.name


def _digest(file: BinaryIO, length: int) -> bytes:
    """SHA-256 of the next bytes, however many."""
    digest = sha256()
    for start in range(0, length, _CHUNK_BYTES):
        digest.update(file.read(min(_CHUNK_BYTES, length - start)))
    return digest.digest()


def _value_problems(side: str, actual: Values, expected: Values) -> Iterator[str]:
    for name in sorted(actual.keys() | expected.keys()):
        if actual.get(name) != expected.get(name):
            yield f"{side} {name} is {actual.get(name)}, not {expected.get(name)}"


def _values(infos: Iterable[onnx.ValueInfoProto]) -> Values:
    values: Values = {}
    for info in infos:
        tensor = info.type.tensor_type
        values[info.name] = (tensor.elem_type, tuple(dim.dim_param or dim.dim_value for dim in tensor.shape.dim))
    return values


@dataclass(frozen=True, slots=True)
class _Values:
    """Inputs and outputs of the two graphs. kept: element type of keys and values."""

    spec: ModelSpec
    kept: int

    def of_encoder(self) -> tuple[Values, Values]:
        """Inputs and outputs."""
        inputs: Values = {
            "ids": (_INT64, ("N",)),
            "position": (_INT32, ("N",)),
            "grid": (_INT64, ("S", "L")),
            "cell": (_INT64, ("N",)),
            "lengths": (_INT32, ("S",)),
        }
        return inputs, self._per_layer("cross", "S", "L")

    def of_decoder(self) -> tuple[Values, Values]:
        """Inputs and outputs."""
        width, layers = self.spec.num_heads * self.spec.cache_head_width, len(self.spec.keys.decoder)
        inputs: Values = {
            "token": (_INT64, ("R",)),
            "position": (_INT32, ("R",)),
            "total_length": (_INT32, (1,)),
            "lengths": (_INT32, ("S",)),
            "grid": (_INT64, ("S", "K")),
            "cell": (_INT64, ("R",)),
            "probe": (_INT64, ("R", "P")),
            "k": (_INT64, (1,)),
            **self._of_rows("past"),
            **self._per_layer("cross", "S", "L"),
            "solo_row": (_INT64, ("G",)),
            "solo_past": (_INT32, ("G",)),
            "solo_total": (_INT32, (1,)),
            **self._per_layer("solo", "G", "M"),
            **{f"solo_last_{part}.{layer}": (self.kept, ("G", 1, width)) for layer in range(layers) for part in "kv"},
        }
        outputs: Values = {
            "top_log_probs": (_FLOAT, ("R", "k")),
            "top_ids": (_INT64, ("R", "k")),
            "probe_log_probs": (_FLOAT, ("R", "P")),
            "log_normalizer": (_FLOAT, ("R", 1)),
            "banned_logits": (_FLOAT, ("R", len(self.spec.banned_ids))),
            "alignment_query": (_FLOAT, ("R", width)),
            **self._of_rows("present"),
            **self._per_layer("solo_present", "G", "M"),
        }
        return inputs, outputs

    def _of_rows(self, name: str) -> Values:
        """What layers keep of rows: keys and values, or a state."""
        cached = self._per_layer(name, "R", "T")
        for index, layer in enumerate(self.spec.keys.decoder):
            if isinstance(layer.attention, RecurrentKeys):
                for part in "kv":
                    del cached[f"{name}_{part}.{index}"]
                cached[f"{name}_state.{index}"] = (_FLOAT, ("R", self.spec.model_width))
        return cached

    def _per_layer(self, name: str, first: str, length: str) -> Values:
        shape = (first, self.spec.num_heads, length, self.spec.cache_head_width)
        layers = range(len(self.spec.keys.decoder))
        return {f"{name}_{part}.{layer}": (self.kept, shape) for layer in layers for part in "kv"}
