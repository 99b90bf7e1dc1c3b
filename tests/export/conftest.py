"""What several export tests share: one small export, made once."""

import pytest

from export.options import ExportOptions
from export.reading import read_checkpoint
from export.run import export_checkpoint
from export.verify.graph_pair import GraphPair
from tests.export.tiny_networks import NO_LIMITS, TinyNetwork


@pytest.fixture(scope="session")
def tiny_export(tmp_path_factory):
    """The float32 graphs of a small network, and the folder of its package; neither may be changed."""
    folder = tmp_path_factory.mktemp("tiny")
    checkpoint = TinyNetwork().write(folder / "checkpoint")
    export_checkpoint(ExportOptions(checkpoint, folder / "package", limits=NO_LIMITS))
    read = read_checkpoint(checkpoint, (), ())
    graphs = (folder / "package" / "encoder.fp32.onnx", folder / "package" / "decoder.fp32.onnx")
    return GraphPair(*graphs, read.spec), folder / "package"
