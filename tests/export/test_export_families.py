"""Networks of every family: exported graphs compute what the plain reference does, whatever the file decided."""

import dataclasses

import numpy as np
import onnx
import onnxruntime
import pytest

from export.calibration import calibrate
from export.graphs import WEIGHTS_FILE, GraphPlan, write_graphs
from export.network import NetworkWeights
from export.reference import ReferenceNetwork
from export.verify.agreement import AgreementLimits, measure_agreement
from export.verify.graph_pair import GraphPair
from export.verify.parity import TOLERANCE, check_parity
from export.verify.structure import check_structure
from tests.export.tiny_families import VOCABULARY, TinyBart, TinyT5

UNTIED = {"lm_head.weight": VOCABULARY}
ALIASES = {"model.encoder.embed_tokens.weight": VOCABULARY, "model.decoder.embed_tokens.weight": VOCABULARY}
NETWORKS = {
    "marian": TinyBart("marian", activation="swish"),
    "marian, untied head, deep decoder": TinyBart("marian", layers=(1, 3), tensors=UNTIED),
    "marian, three tables, odd width": TinyBart(
        "marian", width=21, heads=3, activation="gelu", tensors={**UNTIED, **ALIASES}, without=("model.shared.weight",)
    ),
    "m2m100": TinyBart("m2m100"),
    "m2m100, untied head, deep decoder": TinyBart("m2m100", layers=(1, 3), activation="gelu", tensors=UNTIED),
    "m2m100, odd width, unscaled": TinyBart(
        "m2m100", width=21, heads=3, activation="swish", config={"scale_embedding": False}
    ),
    "m2m100, another pad id": TinyBart("m2m100", activation="gelu_new", config={"pad_token_id": 7}),
    "mbart": TinyBart("mbart", activation="gelu", config={"scale_embedding": False}),
    "mbart, untied head, deep decoder": TinyBart("mbart", layers=(1, 3), tensors=UNTIED),
    "mbart, no head bias, 16-bit weights": TinyBart(
        "mbart", activation="quick_gelu", dtype=np.float16, without=("final_logits_bias",)
    ),
    "mbart, odd width": TinyBart("mbart", width=21, heads=3, activation="swish"),
    "t5": TinyT5(),
    "t5, untied head, gated tanh gelu": TinyT5(
        feed_forward="gated-gelu", tensors=UNTIED, config={"tie_word_embeddings": False}
    ),
    "t5, heads of 8, deep decoder": TinyT5(width=24, head_width=8, layers=(1, 3), feed_forward="gated-silu"),
    "t5, one wide head, odd buckets": TinyT5(heads=1, head_width=31, buckets=11, max_distance=7, feed_forward="gelu"),
    "mt5": TinyT5("mt5", feed_forward="gated-gelu", dtype=np.float16, config={"tie_word_embeddings": False}),
    "madlad, no shared table": TinyT5(
        feed_forward="gated-gelu",
        tensors={**UNTIED, "decoder.embed_tokens.weight": VOCABULARY},
        without=("shared.weight",),
        config={"tie_word_embeddings": False, "pad_token_id": 1, "eos_token_id": 2},
    ),
}
FIRST_OF_EACH = {name: NETWORKS[name] for name in ("marian", "m2m100", "mbart", "t5", "madlad, no shared table")}

every_network = pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
every_family = pytest.mark.parametrize("network", FIRST_OF_EACH.values(), ids=FIRST_OF_EACH)


def graphs_of(folder, checkpoint, spec, precisions=("fp32",)):
    folder.mkdir(exist_ok=True)
    plan = GraphPlan(precisions, 7, calibrate=None)
    files = write_graphs(folder, spec, NetworkWeights(checkpoint, spec), plan).files
    return {name: GraphPair(folder / pair.encoder, folder / pair.decoder, spec) for name, pair in files.items()}


def exact_pair(tmp_path, network):
    checkpoint, spec = network.open(tmp_path / "checkpoint")
    return graphs_of(tmp_path / "graphs", checkpoint, spec)["fp32"], ReferenceNetwork(checkpoint, spec)


def logits(forced):
    return forced.log_probs + forced.log_normalizers[:, None]


@every_network
def test_graphs_equal_the_reference_with_ragged_sources_rows_and_beams(tmp_path, network):
    pair, reference = exact_pair(tmp_path, network)
    parity = check_parity(pair, pair.spec, reference)
    assert parity.problems == ()
    assert parity.max_difference < TOLERANCE
    assert parity.max_company_difference == 0


@every_network
def test_integer_graphs_keep_the_laws_and_stay_near_the_reference(tmp_path, network):
    checkpoint, spec = network.open(tmp_path / "checkpoint")
    pair = graphs_of(tmp_path / "graphs", checkpoint, spec, ("int8",))["int8"]
    parity = check_parity(pair, spec, None)
    assert parity.problems == ()
    assert parity.max_company_difference == 0
    source, target = [5, 9, 3, 11, 4], [8, 15, 16, 3]
    expected = ReferenceNetwork(checkpoint, spec).force(source, target).log_probs
    (actual,) = pair.log_probs(pair.batch([source]), [target])
    finite = np.isfinite(expected)
    assert np.abs(actual[finite] - expected[finite]).mean() < 0.3 * expected[finite].std()


@every_family
def test_constant_scales_keep_rows_apart_too(tmp_path, network):
    checkpoint, spec = network.open(tmp_path / "checkpoint")
    sources = [[token, 9, 3, 2 * token, 2] for token in range(3, 20)]
    plan = GraphPlan(
        ("fp32", "int8"), 7, lambda graphs, inputs: calibrate(tmp_path / "graphs", graphs, spec, inputs, sources)
    )
    (tmp_path / "graphs").mkdir()
    written = write_graphs(tmp_path / "graphs", spec, NetworkWeights(checkpoint, spec), plan)
    assert len(written.constant_scales) > written.num_linear_layers / 2
    files = written.files["int8"]
    parity = check_parity(
        GraphPair(tmp_path / "graphs" / files.encoder, tmp_path / "graphs" / files.decoder, spec), spec, None
    )
    assert (parity.problems, parity.max_company_difference) == ((), 0)


def test_integers_that_lose_their_way_over_an_outlier_channel_do_not_pass(tmp_path):
    """CTranslate2#847: rounding that repeats a token is no quality to ship; the gate sees it."""
    plain, _ = TinyT5(layers=(2, 2)).open(tmp_path / "plain")
    name = "decoder.block.0.layer.2.DenseReluDense.wo.weight"
    weight = plain.tensor(name).copy()
    weight[5] *= 300
    checkpoint, spec = TinyT5(layers=(2, 2), tensors={name: weight}).open(tmp_path / "outlier")
    pairs = graphs_of(tmp_path / "graphs", checkpoint, spec, ("fp32", "int8"))
    sources = [[token, 9, 3, 2 * token, 1] for token in range(3, 20)]
    agreement = measure_agreement(pairs["fp32"], pairs["int8"], sources, 12)
    assert agreement.top1 < 0.97
    assert any("the best token agrees" in problem for problem in agreement.problems(AgreementLimits()))


@every_network
def test_graphs_have_the_structure_they_must_have(tmp_path, network):
    """optimum#404, #365, #1163: sources are projected once, and no step works on whole sources but for attention."""
    checkpoint, spec = network.open(tmp_path / "checkpoint")
    graphs_of(tmp_path / "graphs", checkpoint, spec, ("fp32", "int8"))
    for kind in ("encoder", "decoder"):
        for precision in ("fp32", "int8"):
            found = check_structure(tmp_path / "graphs" / f"{kind}.{precision}.onnx", kind, precision, spec)
            assert found.problems == ()


@every_family
def test_a_tied_table_is_stored_once_and_loading_makes_no_second_copy(tmp_path, network):
    """transformers#12985, onnxruntime#20709: one table, and nothing that the runtime folds into another."""
    checkpoint, spec = network.open(tmp_path / "checkpoint")
    folder = tmp_path / "graphs"
    graphs_of(folder, checkpoint, spec)
    tables = {name: checkpoint.tensor(name).tobytes() for name in (spec.keys.source_table, spec.keys.head_table)}
    stored = (folder / WEIGHTS_FILE).read_bytes()
    assert all(stored.count(table) == 1 for table in tables.values())
    for kind in ("encoder", "decoder"):
        options = onnxruntime.SessionOptions()
        options.optimized_model_filepath = str(folder / "optimised.onnx")
        options.log_severity_level = 3
        onnxruntime.InferenceSession(folder / f"{kind}.fp32.onnx", options, providers=["CPUExecutionProvider"])
        before, after = (
            sum(onnx.numpy_helper.to_array(tensor).nbytes for tensor in onnx.load(folder / name).graph.initializer)
            for name in (f"{kind}.fp32.onnx", "optimised.onnx")
        )
        # Small constants may be folded into initializers.
        assert after <= before + 1000


@every_family
def test_padding_changes_no_bit_of_what_is_real(tmp_path, network):
    """optimum-executorch#230, FasterTransformer#270: a sentence alone and beside one that is twenty tokens longer."""
    pair, _ = exact_pair(tmp_path, network)
    short, long = [5, 9, 3, 2], [*range(3, 25), 2, 2]
    alone, padded = pair.batch([short]), pair.batch([short, long])
    for name, values in alone.memory.items():
        if name.startswith("cross"):
            np.testing.assert_array_equal(padded.memory[name][0, :, :4], values[0, :, :4])
    target = [4, 8, 15, 16]
    expected, actual = pair.log_probs(alone, [target])[0], pair.log_probs(padded, [target, target])[0]
    np.testing.assert_array_equal(actual, expected)


@every_family
def test_beams_of_one_source_equal_rows_with_sources_of_their_own(tmp_path, network):
    """vllm#8545: two sources with three beams each."""
    pair, _ = exact_pair(tmp_path, network)
    sources, widths = [[5, 9, 3, 2], [7, 2]], [3, 3]
    targets = [[row + 2, 3 * row + 1, 11, 4] for row in range(6)]
    together = pair.log_probs(pair.batch(sources, widths), targets)
    for row, target in enumerate(targets):
        (alone,) = pair.log_probs(pair.batch([sources[row // 3]]), [target])
        np.testing.assert_allclose(together[row], alone, atol=1e-5)


@every_family
@pytest.mark.parametrize("size", [1, 2, 5])
def test_no_size_is_frozen_into_the_graphs(tmp_path, network, size):
    """pytorch#152018, optimum#2219: rows, source lengths, steps and choices of each small number, from no past on."""
    pair, _ = exact_pair(tmp_path, network)
    for length in (1, 2, 5):
        batch = pair.batch([list(range(2, 2 + length))] * 2, [size, 1])
        results = list(pair.force(batch, [list(range(3, 3 + length))] * (size + 1), best=size))
        assert len(results) == length
        assert results[-1][1]["top_ids"].shape == (size + 1, size)


@pytest.mark.parametrize(
    "network", [TinyBart("marian", layers=(3, 1)), TinyBart("mbart", layers=(3, 1)), TinyT5(layers=(3, 1))]
)
def test_caches_are_as_many_as_decoder_layers(tmp_path, network):
    """optimum#279."""
    checkpoint, spec = network.open(tmp_path / "checkpoint")
    graphs_of(tmp_path / "graphs", checkpoint, spec)
    model = onnx.load(tmp_path / "graphs" / "decoder.fp32.onnx", load_external_data=False)
    pasts = [value.name for value in model.graph.input if value.name.startswith("past_")]
    assert sorted(pasts) == ["past_k.0", "past_v.0"]


@every_family
def test_a_head_of_its_own_is_used_as_stored_whatever_the_settings_say(tmp_path, network):
    """transformers#26216 and #45005, candle#903: the file's two tables, though the settings speak of one."""
    plain, spec = network.open(tmp_path / "plain")
    head = np.random.default_rng(3).standard_normal(plain.shape(spec.keys.head_table)).astype(np.float32)
    untied = dataclasses.replace(
        network,
        tensors={**network.tensors, "lm_head.weight": head},
        config={**network.config, "tie_word_embeddings": True, "share_encoder_decoder_embeddings": True},
    )
    pair, reference = exact_pair(tmp_path, untied)
    assert any("head and target embedding: two tables in the file" in line for line in pair.spec.decisions)
    forced = reference.force([5, 9, 2], [4, 8])
    own = plain.tensor(spec.keys.head_table).astype(np.float64)
    finite = np.isfinite(forced.log_probs)
    (actual,) = pair.log_probs(pair.batch([[5, 9, 2]]), [[4, 8]])
    np.testing.assert_allclose(actual[finite], forced.log_probs[finite], atol=TOLERANCE)
    tied_logits = logits(ReferenceNetwork(plain, spec).force([5, 9, 2], [4, 8]))
    if not np.array_equal(own, head):
        assert np.abs(tied_logits[finite] - logits(forced)[finite]).max() > 0.1
