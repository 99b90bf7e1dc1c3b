"""16-bit graphs: what is 16-bit in them, that they follow float32, and that nothing in them can grow too large.

They are for processors with 16-bit arithmetic; here they run on ONNX Runtime's CPU kernels, with every rounding made.
"""

from collections import Counter

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto

from export.checkpoint import Checkpoint
from export.graph.half_builder import HalfGraphBuilder
from export.graph.half_linear import HalfLinear
from export.graph.weight_store import WeightStore
from export.graphs import GraphPlan, write_graphs
from export.marian.network import describe_marian_native
from export.network import LinearWeights, NetworkWeights
from export.options import ExportOptions
from export.reference import ReferenceNetwork
from export.run import export_checkpoint
from export.verify.agreement import AgreementLimits, measure_agreement
from export.verify.graph_pair import GraphPair
from export.verify.parity import COMPANY_TOLERANCE, check_parity
from export.verify.sections import SectionedGraph
from export.verify.structure import check_structure
from service.engine.arrays import StepInputs
from service.engine.engine import Engine
from service.engine.options import EngineOptions
from service.errors import ExportError
from service.package.package import ModelPackage
from tests.export.marian_models import GOLDEN
from tests.export.tiny_families import VOCABULARY, TinyBart, TinyT5
from tests.export.tiny_networks import NO_LIMITS, TinyNetwork

HALF, SINGLE = TensorProto.FLOAT16, TensorProto.FLOAT
NETWORKS = {
    "marian": lambda: TinyBart("marian", activation="swish"),
    "m2m100": lambda: TinyBart("m2m100"),
    "mbart": lambda: TinyBart("mbart", activation="gelu"),
    "t5": lambda: TinyT5(),
    "t5-gated": lambda: TinyT5(feed_forward="gated-gelu", tensors={"lm_head.weight": VOCABULARY}),
}


def written(network, folder, precisions=("fp32", "fp16")):
    """Pairs of graphs by precision, their paths likewise, checkpoint and spec."""
    checkpoint, spec = network.open(folder / "checkpoint")
    files = write_graphs(folder, spec, NetworkWeights(checkpoint, spec), GraphPlan(precisions, 7, None)).files
    paths = {name: (folder / graphs.encoder, folder / graphs.decoder) for name, graphs in files.items()}
    return {name: GraphPair(*pair, spec) for name, pair in paths.items()}, paths, checkpoint, spec


@pytest.mark.parametrize("name", NETWORKS)
def test_half_graphs_follow_float32(tmp_path, name):
    pairs, paths, _, spec = written(NETWORKS[name](), tmp_path)
    for path, kind in zip(paths["fp16"], ("encoder", "decoder"), strict=True):
        assert check_structure(path, kind, "fp16", spec).problems == ()
    assert check_parity(pairs["fp16"], spec, None, COMPANY_TOLERANCE["fp16"]).problems == ()
    random = np.random.default_rng(1)
    sources = [random.integers(3, VOCABULARY, length).tolist() for length in (3, 9, 14, 5, 1)]
    agreement = measure_agreement(pairs["fp32"], pairs["fp16"], sources, 12)
    assert agreement.top1 > 0.95
    assert agreement.mean_divergence < 1e-4


@pytest.mark.parametrize("name", NETWORKS)
def test_only_linear_layers_tables_and_attention_are_16_bit(tmp_path, name):
    _, paths, _, _ = written(NETWORKS[name](), tmp_path)
    for path in paths["fp16"]:
        model = onnx.load(path, load_external_data=False)
        kinds = {tensor.name: tensor.data_type for tensor in model.graph.initializer}
        by_operator = {}
        for node in model.graph.node:
            for value in node.input:
                by_operator.setdefault(node.op_type, Counter())[kinds.get(value)] += 1
        for operator in ("LayerNormalization", "SimplifiedLayerNormalization", "Add", "Mul", "LogSoftmax"):
            assert by_operator.get(operator, Counter())[HALF] == 0
        products = {node.name: kinds[node.input[1]] for node in model.graph.node if node.op_type == "Gemm"}
        # Banned ids have one column or two.
        assert {name for name, kind in products.items() if kind != HALF} <= {"decoder/head/banned/logits"}
        values = {value.name: value.type.tensor_type.elem_type for value in (*model.graph.input, *model.graph.output)}
        for value, kind in values.items():
            if kind in (HALF, SINGLE):
                kept = value.startswith(("past_", "present_", "cross_", "solo_"))
                assert kind == (HALF if kept else SINGLE), value


def test_a_recurrent_state_stays_32_bit(tmp_path):
    checkpoint = Checkpoint.open(GOLDEN / "student")
    spec = describe_marian_native(checkpoint)
    files = write_graphs(tmp_path, spec, NetworkWeights(checkpoint, spec), GraphPlan(("fp16",), 7, None)).files["fp16"]
    assert check_structure(tmp_path / files.decoder, "decoder", "fp16", spec).problems == ()
    types = SectionedGraph(tmp_path / files.decoder).input_types
    assert {str(kind) for name, kind in types.items() if name.startswith("past_")} == {"float32"}
    assert {str(kind) for name, kind in types.items() if name.startswith("cross_")} == {"float16"}
    pair = GraphPair(tmp_path / files.encoder, tmp_path / files.decoder, spec)
    assert check_parity(pair, spec, None, COMPANY_TOLERANCE["fp16"]).problems == ()


def layer_of(folder, name, layer):
    """A 16-bit linear layer, with every rounding made, and the graph as it is."""
    with WeightStore(folder / "weights.bin") as store:
        builder = HalfGraphBuilder("linear", store)
        value = builder.input("x", SINGLE, ["N", layer.weight.shape[0]])
        # Read by something that works in 32 bits, as values in a network are.
        value = builder.node("Mul", [value, builder.weight("one", np.float32(1))])
        result = builder.node(
            "Mul", [HalfLinear(builder).apply(value, layer, name), builder.weight("one", np.float32(1))]
        )
        builder.output(result, SINGLE, ["N", layer.weight.shape[1]])
        builder.save(folder / "linear.onnx")
    rounded = SectionedGraph(folder / "linear.onnx")
    plain = onnxruntime.InferenceSession(folder / "linear.onnx", providers=["CPUExecutionProvider"])
    return lambda x: rounded.run({"x": x})[result], lambda x: plain.run(None, {"x": x})[0]


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("name", ["projection", "outer"])
def test_a_layer_is_the_product_of_its_rounded_sides(tmp_path, name):
    layer = LinearWeights(numbers(48, 37), numbers(37, seed=1))
    x = numbers(9, 48, seed=2)
    rounded, plain = layer_of(tmp_path, name, layer)
    for run in (rounded, plain):
        np.testing.assert_allclose(run(x), x @ layer.weight + layer.bias, rtol=4e-3, atol=2e-2)
    if name == "projection":
        halves = x.astype(np.float16).astype(np.float64) @ layer.weight.astype(np.float16).astype(np.float64)
        expected = (halves + layer.bias.astype(np.float16)).astype(np.float16)
        np.testing.assert_allclose(rounded(x), expected.astype(np.float32), rtol=1.5e-3)


def test_the_check_sees_what_would_be_too_large_on_a_processor_with_16_bit_arithmetic(tmp_path):
    """ONNX Runtime's own CPU run does not: it leaves the casts out."""
    layer = LinearWeights(np.full((4, 3), 1e4, np.float32), None)
    rounded, plain = layer_of(tmp_path, "projection", layer)
    x = np.full((1, 4), 10, np.float32)
    assert np.isinf(rounded(x)).all()
    assert np.isfinite(plain(x)).all()


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e4, 3e5])
def test_inner_values_and_products_of_a_feed_forward_block_may_be_beyond_16_bits(tmp_path, size):
    layer = LinearWeights(numbers(48, 37) * np.float32(6e3), numbers(37, seed=1))
    x = numbers(9, 48, seed=2) * np.float32(size)
    expected = x.astype(np.float64) @ layer.weight + layer.bias
    for run in layer_of(tmp_path, "outer", layer):
        largest = np.abs(expected).max(axis=1, keepdims=True)
        assert (np.abs(run(x) - expected) < 2e-3 * largest).all()


def test_a_row_of_zeros_gives_the_bias(tmp_path):
    layer = LinearWeights(numbers(48, 37), numbers(37, seed=1))
    for run in layer_of(tmp_path, "outer", layer):
        np.testing.assert_array_equal(run(np.zeros((2, 48), np.float32)), [layer.bias, layer.bias])


def large_t5(**scales):
    """A T5 whose weights of one name are larger by a factor."""
    network = TinyT5(feed_forward="gated-gelu", seed=3)
    drawn = {}
    random = np.random.default_rng(3)
    for name, values in network.weights(
        lambda *shape: (random.standard_normal(shape) * 0.4).astype(np.float32)
    ).items():
        for part, scale in scales.items():
            if name.endswith(f".{part}.weight"):
                drawn[name] = values * np.float32(scale)
    network.tensors = drawn
    return network


def test_a_t5_whose_sums_are_beyond_16_bits_computes_what_float32_does(tmp_path):
    """As the outer products of large T5 networks are: with them in 16 bits every token would come out as NaN."""
    pairs, _, checkpoint, spec = written(large_t5(wo=2e4), tmp_path)
    sources = [[5, 9, 17, 30], [7, 8]]
    inner = ReferenceNetwork(checkpoint, spec)
    assert np.abs(inner.encode(sources[0])).max() < 100
    agreement = measure_agreement(pairs["fp32"], pairs["fp16"], sources, 8)
    assert agreement.mean_divergence < 1e-3
    assert check_parity(pairs["fp16"], spec, None, COMPANY_TOLERANCE["fp16"]).problems == ()


def test_numbers_that_are_not_finite_keep_an_export_from_being_made(tmp_path):
    """Values of attention beyond 16 bits are nothing that graphs are made for."""
    pairs, _, _, spec = written(large_t5(v=4e4, o=1e-5), tmp_path)
    assert check_parity(pairs["fp32"], spec, None).problems == ()
    problems = check_parity(pairs["fp16"], spec, None, COMPANY_TOLERANCE["fp16"]).problems
    assert "does not hold: log-probabilities of allowed ids are finite" in problems
    agreement = measure_agreement(pairs["fp32"], pairs["fp16"], [[5, 9, 17, 30]], 8)
    assert agreement.problems(AgreementLimits())


def test_weights_beyond_16_bits_are_all_named_before_anything_is_written(tmp_path):
    large = {
        "model.encoder.layers.0.fc1.bias": np.full(33, 7e4),
        "model.decoder.layers.0.fc2.weight": np.full((20, 35), -1e5),
    }
    # These stay in 32 bits.
    large |= {"final_logits_bias": None, "model.encoder.layers.0.final_layer_norm.bias": np.full(20, 1e5)}
    del large["final_logits_bias"]
    checkpoint = TinyNetwork(tensors=large).write(tmp_path / "checkpoint")
    with pytest.raises(ExportError) as caught:
        export_checkpoint(ExportOptions(checkpoint, tmp_path / "package", precisions=("fp16",), limits=NO_LIMITS))
    assert caught.value.problems == (
        "tensor model.decoder.layers.0.fc2.weight has values beyond 65504",
        "tensor model.encoder.layers.0.fc1.bias has values beyond 65504",
    )
    assert not (tmp_path / "package").exists()


@pytest.mark.parametrize(
    ("precisions", "default", "against"),
    [
        (("fp16",), "fp16", "plain computation"),
        (("fp32", "fp16"), "fp32", "fp32"),
        (("fp16", "int8"), "int8", "plain computation"),
    ],
)
def test_half_is_exported_when_asked_for_and_said_to_be(tmp_path, precisions, default, against):
    checkpoint = TinyNetwork().write(tmp_path / "checkpoint")
    report = export_checkpoint(ExportOptions(checkpoint, tmp_path / "p", precisions=precisions, limits=NO_LIMITS))
    manifest = ModelPackage.open(tmp_path / "p").manifest
    assert set(manifest.precisions) == set(precisions)
    assert manifest.default_precision == default
    assert report.verification.agreements["fp16"].against == against
    assert report.verification.agreements["fp16"].mean_divergence < 1e-4


def test_the_engine_keeps_in_16_bits_what_half_graphs_take_and_gives_what_float32_does(tmp_path):
    checkpoint = TinyNetwork(decoder_layers=2).write(tmp_path / "checkpoint")
    export_checkpoint(ExportOptions(checkpoint, tmp_path / "p", precisions=("fp32", "fp16"), limits=NO_LIMITS))
    package = ModelPackage.open(tmp_path / "p")
    size = package.manifest.dimensions.target_vocabulary_size
    probes, aligned = np.tile(np.arange(size), (4, 1)), np.array([0, 2])
    found = {}
    for precision in package.manifest.precisions:
        engine = Engine(package, EngineOptions(precision=precision), 4)
        encoded = engine.encode([np.array([5, 9, 2]), np.array([3, 1]), np.array([4, 4, 8])])
        *own, shared = engine.hold(encoded, np.array([True, True, False]))
        memories, solo = np.array([*own, shared, shared]), np.array([True, True, False, False])
        found[precision] = []
        for position, token in enumerate((package.manifest.special_ids.decoder_start, 7, 30, 12)):
            inputs = StepInputs(np.full(4, token), np.full(4, position), memories, solo, probes, aligned, 1)
            outputs = engine.step(inputs)
            found[precision] += [outputs.probes.copy(), outputs.alignment]
    for half, single in zip(found["fp16"], found["fp32"], strict=True):
        assert half.dtype == np.float32
        np.testing.assert_allclose(half, single, atol=1e-2)


def test_nobody_gets_half_graphs_who_did_not_ask(tmp_path):
    checkpoint = TinyNetwork().write(tmp_path / "checkpoint")
    export_checkpoint(ExportOptions(checkpoint, tmp_path / "p", limits=NO_LIMITS))
    assert not list((tmp_path / "p").glob("*fp16*"))


def test_a_tied_table_is_stored_once_in_16_bits(tmp_path):
    _, paths, checkpoint, _ = written(TinyT5(), tmp_path, precisions=("fp16",))
    size = checkpoint.shape("shared.weight")
    places = {
        entry.value
        for path in paths["fp16"]
        for tensor in onnx.load(path, load_external_data=False).graph.initializer
        if tuple(tensor.dims) == size
        for entry in tensor.external_data
        if entry.key == "offset"
    }
    assert len(places) == 1
