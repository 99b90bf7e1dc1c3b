"""Exports of large networks: files over two gigabytes, and no more memory than the largest tensor asks for."""

import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto

from export.graph.builder import GraphBuilder
from export.graph.linear import FloatLinear
from export.graph.weight_store import WeightStore
from export.graphs import GraphPlan, write_graphs
from export.network import LinearWeights, NetworkWeights
from export.verify.sections import SectionedGraph
from service.package.package import file_record
from tests.export.tiny_families import TinyBart, TinyT5

ROOT = Path(__file__).resolve().parents[2]
MEGABYTE = 1 << 20
ROWS, WIDTH = 150_000, 64
# Stretches that are rounded or widened at once, graph files, tokens of Python's own.
ROOM = 12 * MEGABYTE


def test_weights_beyond_two_gigabytes_are_found_where_they_are(tmp_path):
    """The file is sparse: what lies before the weights takes no space."""
    weight = np.random.default_rng(0).standard_normal((9, 70)).astype(np.float32)
    x = np.ones((2, 9), np.float32)
    with WeightStore(tmp_path / "weights.bin") as store:
        store._end = store._file.seek((1 << 32) + 10)
        builder = GraphBuilder("linear", store)
        value = builder.input("x", TensorProto.FLOAT, ["N", 9])
        result = FloatLinear(builder).apply(value, LinearWeights(weight, None), "linear")
        builder.output(result, TensorProto.FLOAT, ["N", 70])
        builder.save(tmp_path / "linear.onnx")
    assert (tmp_path / "weights.bin").stat().st_size > 1 << 32
    session = onnxruntime.InferenceSession(tmp_path / "linear.onnx", providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(None, {"x": x})[0], x @ weight, rtol=1e-5)
    np.testing.assert_allclose(SectionedGraph(tmp_path / "linear.onnx").run({"x": x})[result], x @ weight, rtol=1e-5)


def peak_of(call):
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_file_is_hashed_in_a_little_memory(tmp_path):
    with (tmp_path / "large").open("wb") as file:
        file.truncate(100 * MEGABYTE)
    assert peak_of(lambda: file_record(tmp_path / "large")) < 4 * MEGABYTE


@pytest.mark.parametrize("stored", [np.float32, np.float16])
@pytest.mark.parametrize("precision", ["fp32", "fp16", "int8"])
def test_graphs_are_written_in_the_memory_of_one_and_a_half_of_the_largest_tensor(tmp_path, precision, stored):
    """A second copy of the largest tensor, however short-lived, would be over the limit."""
    network = TinyT5(width=WIDTH, dtype=stored, tensors={"shared.weight": ROWS, "lm_head.weight": ROWS})
    checkpoint, spec = network.open(tmp_path / "checkpoint")
    largest = ROWS * WIDTH * 4
    weights, plan = NetworkWeights(checkpoint, spec), GraphPlan((precision,), 7, calibrate=None)
    peak = peak_of(lambda: write_graphs(tmp_path, spec, weights, plan))
    assert peak < 1.5 * largest + ROOM
    assert 1.5 * largest + ROOM < 2 * largest
    if stored is np.float16:
        assert peak > largest


def test_tables_are_compared_in_the_memory_of_one(tmp_path):
    network = TinyT5(width=WIDTH, dtype=np.float16, tensors={"shared.weight": ROWS, "lm_head.weight": ROWS})
    checkpoint, _ = network.open(tmp_path / "checkpoint")
    assert peak_of(lambda: checkpoint.equal("shared.weight", "lm_head.weight")) < 1.2 * ROWS * WIDTH * 4


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells a process its peak")
def test_a_network_is_run_with_one_section_in_memory(tmp_path):
    """In a process of its own, since a peak is never forgotten."""
    network = TinyBart("m2m100", width=256, heads=4, inner=4096, layers=(12, 1))
    checkpoint, spec = network.open(tmp_path / "checkpoint")
    write_graphs(tmp_path, spec, NetworkWeights(checkpoint, spec), GraphPlan(("fp32",), 7, calibrate=None))
    program = (
        "import re, sys\n"
        "from pathlib import Path\n"
        "from export.verify.sections import SectionedGraph\n"
        "from service.engine.packing import pack\n"
        "peak = lambda: int(re.search(r'VmHWM:\\s*(\\d+)', Path('/proc/self/status').read_text())[1])\n"
        "before = peak()\n"
        "graph = SectionedGraph(Path(sys.argv[1]), section_bytes=int(sys.argv[2]))\n"
        "graph.run(pack([[5, 6, 7]]).feeds())\n"
        "print((peak() - before) / 1024)\n"
    )

    def megabytes(section_bytes):
        arguments = [sys.executable, "-c", program, str(tmp_path / "encoder.fp32.onnx"), str(section_bytes)]
        return float(subprocess.run(arguments, cwd=ROOT, check=True, timeout=100, capture_output=True).stdout)

    weights = (tmp_path / "weights.bin").stat().st_size / MEGABYTE
    assert weights > 110
    assert megabytes(10 * MEGABYTE) < 50
    assert megabytes(1000 * MEGABYTE) > 90
