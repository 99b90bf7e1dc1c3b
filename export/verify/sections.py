"""Runs a graph file with the weights of one section of it in memory at a time.

A graph whose weights are few is one section and stays open. A larger one is cut between nodes; each section is opened
on the mapped weight file, run, and closed again, so that any network can be checked in the memory its largest tensor
needs.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper

from export.verify.half_rounding import with_rounded_halves

SECTION_BYTES = 64 << 20
"""What the weights of a section may take, unless a single node's take more."""

# A processor without 16-bit arithmetic keeps such weights in 32 bits, besides what is mapped.
_HALF_WIDENED = 3


@dataclass(frozen=True, slots=True)
class _Section:
    """Some nodes that follow one another, what they read from elsewhere, and what is read elsewhere of theirs.

    Constants are nobody's output: each section that reads one has it.
    """

    nodes: tuple[onnx.NodeProto, ...]
    weights: tuple[TensorProto, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


class SectionedGraph:
    """One graph. watched: values inside it that `run` gives besides its outputs."""

    def __init__(self, path: Path, watched: Iterable[str] = (), section_bytes: int = SECTION_BYTES) -> None:
        model = onnx.load(path, load_external_data=False)
        self._folder = path.parent
        self._model = with_rounded_halves(model)
        self._results = [*(output.name for output in model.graph.output), *watched]
        self._declared = {value.name: value for value in model.graph.input}
        self.input_types = {value.name: _dtype(value) for value in model.graph.input}
        sections = _cut(self._model.graph, section_bytes)
        self._sections = list(_connect(self._model.graph, sections, self._results))
        self._last_readers = {name: place for place, section in enumerate(self._sections) for name in section.inputs}
        whole = len(self._sections) == 1
        self._session = self._open(self._sections[0], self.input_types) if whole else None

    def run(self, feeds: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """All outputs and watched values of one run, in shapes and types of the graph's own."""
        values = dict(feeds)
        results: dict[str, NDArray[Any]] = {}
        for place, section in enumerate(self._sections):
            given = {name: values[name] for name in section.inputs}
            session = self._session or self._open(section, {name: value.dtype for name, value in given.items()})
            found = dict(zip(section.outputs, session.run(list(section.outputs), given), strict=True))
            results |= {name: value for name, value in found.items() if name in self._results}
            values |= found
            values = {name: value for name, value in values.items() if self._last_readers.get(name, -1) > place}
        return results

    def _open(self, section: _Section, types: Mapping[str, np.dtype[Any]]) -> onnxruntime.InferenceSession:
        inputs = [self._declared.get(name) or _value(name, types[name]) for name in section.inputs]
        outputs = [onnx.ValueInfoProto(name=name) for name in section.outputs]
        graph = helper.make_graph(section.nodes, self._model.graph.name, inputs, outputs, section.weights)
        model = helper.make_model(
            graph, ir_version=self._model.ir_version, opset_imports=list(self._model.opset_import)
        )
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(self._folder))
        # What a run took is given back after it.
        options.enable_cpu_mem_arena = False
        if len(self._sections) > 1:
            # Packing copies weights; without it they are read where the file is mapped.
            options.add_session_config_entry("session.disable_prepacking", "1")
        return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def _cut(graph: onnx.GraphProto, section_bytes: int) -> list[list[onnx.NodeProto]]:
    """Nodes in order, constants left out, in as few sections as their weights allow."""
    # Of a table that is only looked up in, no more is read than the rows asked for.
    multiplied = {name for node in graph.node if node.op_type != "Gather" for name in node.input}
    sizes = {tensor.name: _size(tensor) if tensor.name in multiplied else 0 for tensor in graph.initializer}
    sections: list[list[onnx.NodeProto]] = [[]]
    weights: set[str] = set()
    for node in graph.node:
        if node.op_type == "Constant":
            continue
        wider = weights.union(name for name in node.input if name in sizes)
        if sections[-1] and sum(sizes[name] for name in wider) > section_bytes:
            sections.append([])
            wider = {name for name in node.input if name in sizes}
        sections[-1].append(node)
        weights = wider
    return sections


def _connect(
    graph: onnx.GraphProto, sections: Sequence[Sequence[onnx.NodeProto]], results: Sequence[str]
) -> Iterator[_Section]:
    weights = {tensor.name: tensor for tensor in graph.initializer}
    constants = {node.output[0]: node for node in graph.node if node.op_type == "Constant"}
    read = [{name for node in nodes for name in node.input if name} for nodes in sections]
    for place, nodes in enumerate(sections):
        made = [name for node in nodes for name in node.output if name]
        later = {*results}.union(*read[place + 1 :])
        ordered = sorted(read[place])
        yield _Section(
            nodes=(*(constants[name] for name in ordered if name in constants), *nodes),
            weights=tuple(weights[name] for name in ordered if name in weights),
            inputs=tuple(sorted(read[place].difference(weights, constants, made))),
            outputs=tuple(name for name in made if name in later),
        )


def _size(tensor: TensorProto) -> int:
    length = sum(int(entry.value) for entry in tensor.external_data if entry.key == "length")
    return length * (_HALF_WIDENED if tensor.data_type == TensorProto.FLOAT16 else 1)


def _dtype(value: onnx.ValueInfoProto) -> np.dtype[Any]:
    return helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)


def _value(name: str, dtype: np.dtype[Any]) -> onnx.ValueInfoProto:
    """An input of any shape."""
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(dtype), None)
