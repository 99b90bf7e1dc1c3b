"""Graphs that are run a section at a time give what they give as a whole."""

import numpy as np
import onnx
import pytest

from export.graphs import PRECISIONS, GraphPlan, write_graphs
from export.network import NetworkWeights
from export.verify.graph_pair import GraphPair
from export.verify.parity import forced_case
from export.verify.sections import SectionedGraph
from service.engine.packing import pack
from tests.export.tiny_families import TinyBart, TinyT5

NETWORKS = {"marian": lambda: TinyBart("marian"), "t5": lambda: TinyT5(feed_forward="gated-gelu", layers=(2, 2))}


class Cut(GraphPair):
    """A pair of graphs cut into many sections."""

    def __init__(self, encoder, decoder, spec):
        super().__init__(encoder, decoder, spec)
        self._encoder = SectionedGraph(encoder, section_bytes=3_000)
        self._decoder = SectionedGraph(decoder, section_bytes=3_000)


def sections_of(graph):
    return graph._sections


@pytest.fixture(params=NETWORKS)
def written(request, tmp_path):
    checkpoint, spec = NETWORKS[request.param]().open(tmp_path / "checkpoint")
    files = write_graphs(tmp_path, spec, NetworkWeights(checkpoint, spec), GraphPlan(PRECISIONS, 7, None)).files
    paths = {name: (tmp_path / graphs.encoder, tmp_path / graphs.decoder) for name, graphs in files.items()}
    return paths, spec


@pytest.mark.parametrize("precision", PRECISIONS)
def test_sections_give_what_the_whole_graph_gives(written, precision):
    paths, spec = written
    whole, cut = GraphPair(*paths[precision], spec), Cut(*paths[precision], spec)
    assert len(sections_of(whole._decoder)) == 1
    assert len(sections_of(cut._encoder)) > 2
    assert len(sections_of(cut._decoder)) > 2
    case = forced_case(spec)
    for together, apart in zip(
        whole.log_probs(whole.batch(case.sources, case.widths), case.targets),
        cut.log_probs(cut.batch(case.sources, case.widths), case.targets),
        strict=True,
    ):
        np.testing.assert_allclose(together, apart, atol=1e-2 if precision == "fp16" else 1e-5)
    assert whole.greedy(case.sources, 6) == cut.greedy(case.sources, 6)


def test_a_section_has_no_more_weights_than_it_may_unless_one_node_has(written):
    paths, _ = written
    path = paths["fp32"][1]
    graph = onnx.load(path, load_external_data=False).graph
    # A table that is only looked up in is never read as a whole.
    multiplied = {name for node in graph.node if node.op_type != "Gather" for name in node.input}
    sizes = {
        tensor.name: int({entry.key: entry.value for entry in tensor.external_data}["length"])
        if tensor.name in multiplied
        else 0
        for tensor in graph.initializer
    }
    for section in sections_of(SectionedGraph(path, section_bytes=3_000)):
        used = {name for node in section.nodes for name in node.input if name in sizes}
        assert {tensor.name for tensor in section.weights} == used
        single = len([node for node in section.nodes if node.op_type != "Constant"]) == 1
        assert single or sum(sizes[name] for name in used) <= 3_000


def test_every_node_is_in_one_section_and_in_order(written):
    paths, _ = written
    path = paths["int8"][0]
    nodes = [
        node.name
        for section in sections_of(SectionedGraph(path, section_bytes=3_000))
        for node in section.nodes
        if node.op_type != "Constant"
    ]
    graph = onnx.load(path, load_external_data=False).graph
    assert nodes == [node.name for node in graph.node if node.op_type != "Constant"]


def test_values_inside_a_graph_can_be_watched_whether_it_is_cut_or_not(written):
    paths, spec = written
    path = paths["fp32"][0]
    inside = [node.output[0] for node in onnx.load(path, load_external_data=False).graph.node if node.op_type == "Gemm"]
    feeds = pack([[3, 4, 5], [6]]).feeds()
    whole, cut = (SectionedGraph(path, inside, section_bytes=size).run(feeds) for size in (1 << 30, 3_000))
    outputs = {f"cross_{part}.{layer}" for layer in range(len(spec.keys.decoder)) for part in "kv"}
    assert whole.keys() == cut.keys() == {*inside, *outputs}
    for name, values in whole.items():
        np.testing.assert_allclose(values, cut[name], atol=1e-5)
