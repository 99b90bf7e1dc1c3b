"""Stopwatches between methods, operators of a profile, and the floor of a step."""

import sys
import time
from types import ModuleType

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

from bench.gemm_floor import FloorProbe, Product, describe, write_floor
from bench.operators import largest, operator_times, part_of
from bench.runtime_watch import RuntimeWatch
from bench.step_profile import Shape
from bench.stopwatch import Stopwatches

WIDTHS = (8, 16, 24)


class Clock:
    def __init__(self):
        self.now = 0.0


@pytest.fixture
def machine(monkeypatch):
    """A module `machine` whose methods take time on a clock of ours."""
    clock = Clock()
    monkeypatch.setattr(time, "perf_counter", lambda: clock.now)

    class Engine:
        def outer(self):
            clock.now += 1
            self.inner()
            self.inner()
            clock.now += 2

        def inner(self):
            clock.now += 10

        def fail(self):
            clock.now += 5
            raise KeyError("x")

    module = ModuleType("machine")
    module.Engine = Engine
    monkeypatch.setitem(sys.modules, "machine", module)
    return Engine()


def test_a_method_is_charged_what_those_inside_it_are_not(machine):
    watches = Stopwatches({"machine:Engine.outer": "outer", "machine:Engine.inner": "inner"})
    machine.outer()
    assert watches.take() == {"outer": 3, "inner": 20}
    assert watches.take() == {"outer": 0, "inner": 0}


def test_methods_may_share_a_label(machine):
    watches = Stopwatches({"machine:Engine.outer": "all", "machine:Engine.inner": "all"})
    machine.outer()
    assert watches.take() == {"all": 23}


def test_a_method_that_fails_is_charged_all_the_same(machine):
    watches = Stopwatches({"machine:Engine.fail": "fail", "machine:Engine.inner": "inner"})
    with pytest.raises(KeyError):
        machine.fail()
    machine.inner()
    assert watches.take() == {"fail": 5, "inner": 10}


def test_places_that_are_not_there_are_listed(machine):
    places = ["machine:Engine.gone", "machine:Gone.inner", "no_such_module:A.b"]
    assert Stopwatches(dict.fromkeys(places, "x")).missing == places


def event(name, kind, microseconds):
    return {"cat": "Node", "name": f"{name}_kernel_time", "dur": microseconds, "args": {"op_name": kind}}


def test_operators_are_added_up_by_kind_and_part():
    run = {"cat": "Session", "name": "model_run", "dur": 100}
    events = [
        run,
        event("decoder/0/self_attention/output/product", "MatMul", 10),
        event("decoder/1/self_attention/output/product", "MatMul", 20),
        event("decoder/head/top", "TopK", 5),
        run,
        event("decoder/0/self_attention/output/product", "MatMul", 30),
        event("decoder/1/self_attention/output/product", "MatMul", 20),
        event("decoder/head/top", "TopK", 7),
        {"cat": "Node", "name": "decoder/head/top_fence_before", "dur": 99, "args": {"op_name": "TopK"}},
    ]
    times = operator_times(events)
    assert times.num_runs == 2
    assert times.by_kind == pytest.approx({"MatMul": 40e-6, "TopK": 6e-6})
    assert times.by_part == pytest.approx({("self_attention", "MatMul"): 40e-6, ("head", "TopK"): 6e-6})
    assert times.total == pytest.approx(46e-6)


def test_a_profile_without_runs_is_refused():
    with pytest.raises(ValueError, match="no run"):
        operator_times([event("a", "Add", 1)])


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("decoder/12/cross_attention/query/product", "cross_attention"),
        ("decoder/head/logits/product", "head"),
        ("encoder/0/feed_forward/inner", "feed_forward"),
        ("MatMul_fused_3", "other"),
    ],
)
def test_a_nodes_name_says_its_part(name, part):
    assert part_of(name) == part


def test_the_largest_entries_come_first_and_the_rest_together():
    assert largest({"a": 1.0, "b": 5.0, "c": 2.0, "d": 1.5}, 2) == [("b", 5.0), ("c", 2.0), ("others", 2.5)]
    assert largest({"a": 1.0}, 2) == [("a", 1.0)]


def test_shapes_are_read_as_sources_and_beam():
    assert Shape.parse("32x4") == Shape(32, 4)
    for text in ("32", "x4", "ax4"):
        with pytest.raises(ValueError, match="invalid literal"):
            Shape.parse(text)


@pytest.fixture
def decoder(tmp_path):
    """A graph with an integer product, a float one with a transposed weight, and a product without a weight."""
    depth, inner, width = WIDTHS
    weights = {
        "w8": np.ones((depth, inner), np.int8),
        "scales": np.ones(inner, np.float32),
        "step": np.float32(0.1),
        "zero": np.uint8(128),
        "w_zero": np.int8(0),
        "table": np.ones((width, inner), np.float32),
    }
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "step", "zero"], ["q"]),
        helper.make_node(
            "MatMulIntegerToFloat",
            ["q", "w8", "step", "scales", "zero", "w_zero"],
            ["hidden"],
            domain="com.microsoft",
        ),
        helper.make_node("Gemm", ["hidden", "table"], ["logits"], transB=1),
        helper.make_node("Transpose", ["logits"], ["turned"]),
        helper.make_node("MatMul", ["logits", "turned"], ["square"]),
    ]
    graph = helper.make_graph(
        nodes,
        "decoder",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["R", depth])],
        [helper.make_tensor_value_info("square", TensorProto.FLOAT, ["R", "R"])],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in weights.items()],
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    path = tmp_path / "decoder.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)
    return path


def test_the_floor_holds_the_products_of_weights_and_nothing_else(decoder, tmp_path):
    products = write_floor(decoder, tmp_path / "floor.onnx")
    depth, inner, width = WIDTHS
    assert products == [Product("MatMulIntegerToFloat", depth, inner), Product("Gemm", inner, width)]
    assert describe(products) == "1 MatMulIntegerToFloat, 1 Gemm"
    floor = onnx.load(tmp_path / "floor.onnx")
    assert [node.op_type for node in floor.graph.node] == ["MatMulIntegerToFloat", "Gemm"]


def test_the_floor_runs_for_any_number_of_rows(decoder, tmp_path):
    write_floor(decoder, tmp_path / "floor.onnx")
    probe = FloorProbe(tmp_path / "floor.onnx", num_threads=1)
    for num_rows in (1, 5):
        assert len(probe.seconds(num_rows, runs=3)) == 3
    assert probe.median_seconds(2, runs=3) > 0


def test_a_graph_without_products_has_no_floor(tmp_path):
    graph = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])],
    )
    path = tmp_path / "decoder.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
    with pytest.raises(ValueError, match="no product"):
        write_floor(path, tmp_path / "floor.onnx")


def test_the_watch_sees_runs_and_leaves_no_trace(decoder):
    original = ort.InferenceSession.run
    with RuntimeWatch() as watch:
        session = ort.InferenceSession(decoder, providers=["CPUExecutionProvider"])
        session.run(None, {"x": np.zeros((1, WIDTHS[0]), np.float32)})
        # It reads no token, so it is taken for an encoder.
        assert watch.seconds["encoder"] > 0
        assert watch.seconds["decoder"] == 0
        assert watch.sessions["encoder"] is session
    assert ort.InferenceSession.run is original
