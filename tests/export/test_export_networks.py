"""Exported graphs compute what the plain reference network does, for every kind of checkpoint."""

import dataclasses

import numpy as np
import pytest

from export.graphs import GraphPlan, write_graphs
from export.network import NetworkWeights
from export.options import ExportOptions
from export.reading import read_checkpoint
from export.reference import ReferenceNetwork
from export.run import export_checkpoint
from export.verify.graph_pair import GraphPair
from export.verify.parity import TOLERANCE, check_parity, forced_case
from tests.export.tiny_networks import NO_LIMITS, TinyNetwork
from tests.export.tiny_tokenizers import TinyCheckpoint

# Widths: 20 / 2 heads of 10 is padded to 16; 24 / 3 of 8 is not padded; 21 / 3 of 7 makes an odd position table.
NETWORKS = {
    "post-norm swish, padded heads": TinyNetwork(),
    "relu, more decoder than encoder layers": TinyNetwork(activation="relu", encoder_layers=1, decoder_layers=3),
    "exact gelu, heads of 8": TinyNetwork(activation="gelu", width=24, heads=3),
    "tanh gelu, odd width": TinyNetwork(activation="gelu_new", width=21, heads=3),
    "quick gelu, one head": TinyNetwork(activation="quick_gelu", heads=1),
    "separate vocabularies": TinyNetwork(TinyCheckpoint(separate=True)),
    "unscaled embeddings, rows without a token": TinyNetwork(
        TinyCheckpoint(spare_rows=3), config={"scale_embedding": False}
    ),
    "16-bit weights": TinyNetwork(dtype=np.float16),
    "no head bias": TinyNetwork(without=("final_logits_bias",)),
}


def graphs_of(folder, read, precisions=("fp32",), bits=7):
    folder.mkdir(exist_ok=True)
    plan = GraphPlan(precisions, bits, calibrate=None)
    files = write_graphs(folder, read.spec, NetworkWeights(read.checkpoint, read.spec), plan).files
    return {name: GraphPair(folder / pair.encoder, folder / pair.decoder, read.spec) for name, pair in files.items()}


def prepared(tmp_path, network):
    return read_checkpoint(network.write(tmp_path / "checkpoint"), (), ())


@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_float_graphs_equal_the_reference_with_ragged_rows_and_beams(tmp_path, network):
    read = prepared(tmp_path, network)
    pair = graphs_of(tmp_path / "graphs", read)["fp32"]
    parity = check_parity(pair, read.spec, ReferenceNetwork(read.checkpoint, read.spec))
    assert parity.problems == ()
    assert parity.max_difference < TOLERANCE


@pytest.mark.parametrize("bits", [7, 8])
@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_integer_graphs_keep_the_laws_and_stay_near_the_reference(tmp_path, network, bits):
    read = prepared(tmp_path, network)
    pair = graphs_of(tmp_path / "graphs", read, ("int8",), bits)["int8"]
    assert check_parity(pair, read.spec, None).problems == ()
    case = forced_case(read.spec)
    rows = pair.log_probs(pair.batch(case.sources, case.widths), case.targets)
    reference = ReferenceNetwork(read.checkpoint, read.spec)
    for source, target, actual in zip(case.source_of_row, case.targets, rows, strict=True):
        expected = reference.force(case.sources[source], target).log_probs
        finite = np.isfinite(expected)
        assert np.abs(actual[finite] - expected[finite]).mean() < 0.25


def test_a_wrong_graph_is_noticed(tmp_path):
    read = prepared(tmp_path, TinyNetwork())
    other = dataclasses.replace(read.spec, embedding_scale=read.spec.embedding_scale * 1.01)
    pair = graphs_of(tmp_path / "graphs", read)["fp32"]
    parity = check_parity(pair, read.spec, ReferenceNetwork(read.checkpoint, other))
    assert any("differs from the reference" in problem for problem in parity.problems)


def test_padding_changes_nothing_whatever_it_holds(tmp_path):
    read = prepared(tmp_path, TinyNetwork(decoder_layers=2))
    pair = graphs_of(tmp_path / "graphs", read)["fp32"]
    short, long = [5, 9, 3], list(range(2, 25))
    alone, padded = pair.batch([short]), pair.batch([short, long])
    for name, values in alone.memory.items():
        if name.startswith("cross"):
            expected = values[0, :, : len(short)]
            np.testing.assert_array_equal(padded.memory[name][0, :, : len(short)], expected)
            padded.memory[name][0, :, len(short) :] = 1e3
    target = [4, 8, 15, 16]
    expected = pair.log_probs(alone, [target])[0]
    np.testing.assert_allclose(pair.log_probs(padded, [target, target])[0], expected, atol=1e-5)


def test_beams_of_one_source_equal_independent_rows(tmp_path):
    read = prepared(tmp_path, TinyNetwork(decoder_layers=2))
    pair = graphs_of(tmp_path / "graphs", read)["fp32"]
    sources, widths = [[5, 9, 3], [7, 2]], [3, 5]
    targets = [[row + 2, 3 * row + 1, 11, 4] for row in range(8)]
    together = pair.log_probs(pair.batch(sources, widths), targets)
    asked = [sources[0]] * 3 + [sources[1]] * 5
    for row, (source, target) in enumerate(zip(asked, targets, strict=True)):
        np.testing.assert_allclose(together[row], pair.log_probs(pair.batch([source]), [target])[0], atol=1e-5)


def test_pad_is_never_produced_even_with_the_largest_logit(tmp_path):
    size = len(TinyCheckpoint().vocabulary(TinyCheckpoint().source, TinyCheckpoint().target, seed=7))
    bias = np.zeros((1, size), np.float32)
    bias[0, -1] = 80
    read = prepared(tmp_path, TinyNetwork(tensors={"final_logits_bias": bias}))
    pair = graphs_of(tmp_path / "graphs", read)["fp32"]
    (log_probs,) = pair.log_probs(pair.batch([[5, 9, 3]]), [[4, 8, 15]])
    assert read.spec.special_ids.pad == size - 1
    assert np.isneginf(log_probs[:, -1]).all()
    np.testing.assert_allclose(np.exp(log_probs[:, :-1].astype(np.float64)).sum(axis=1), 1, atol=1e-5)
    assert read.spec.special_ids.pad not in pair.greedy([[5, 9, 3]], 20)[0]


@pytest.mark.parametrize("rows", [1, 2, 5])
@pytest.mark.parametrize("length", [1, 2, 5])
@pytest.mark.parametrize("steps", [1, 2, 5])
def test_no_size_is_frozen_into_the_graphs(tiny_export, rows, length, steps):
    pair, _ = tiny_export
    batch = pair.batch([list(range(2, 2 + length))] * 2, [rows, 1])
    results = list(pair.force(batch, [list(range(steps))] * (rows + 1), best=steps))
    assert [position[0] for position, _ in results] == list(range(steps))
    assert results[-1][1]["top_ids"].shape == (rows + 1, steps)
    assert results[-1][1]["alignment"].shape == (rows + 1, length)
    assert len(pair.greedy([list(range(2, 2 + length))] * rows, steps)) == rows


def test_a_whole_export_equals_its_checkpoint_and_names_what_it_decided(tmp_path):
    checkpoint = TinyNetwork(TinyCheckpoint(separate=True), decoder_layers=2).write(tmp_path / "checkpoint")
    report = export_checkpoint(ExportOptions(checkpoint, tmp_path / "package", limits=NO_LIMITS))
    assert report.verification.problems == []
    assert report.verification.parities["fp32"].max_difference < TOLERANCE
    assert any("two tables" in line for line in report.decisions)
