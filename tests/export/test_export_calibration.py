"""Constant activation scales: which layers get one, and that the exporter falls back to rows."""

import dataclasses

import numpy as np
import pytest

from export.calibration import _Range, calibrate
from export.graphs import GraphPlan, write_graphs
from export.network import NetworkWeights
from export.options import ExportOptions
from export.reading import read_checkpoint
from export.reference import ReferenceNetwork
from export.run import export_checkpoint
from export.sample import built_in_sentences
from tests.export.tiny_networks import NO_LIMITS, TinyNetwork


def range_of(rows):
    found = _Range()
    found.add(np.asarray(rows, np.float32))
    return found.scale()


def test_rows_of_like_size_share_a_constant_scale():
    rows = np.random.default_rng(0).normal(size=(500, 64))
    scale = range_of(rows)
    assert scale is not None
    assert float(scale.step) == pytest.approx((rows.max() - rows.min()) / 255, rel=0.01)


def test_a_layer_with_an_enormous_row_keeps_a_scale_per_row():
    rows = np.random.default_rng(0).normal(size=(2_000, 64))
    rows[7] *= 500
    assert range_of(rows) is None


def test_one_sided_values_use_the_whole_byte():
    scale = range_of(np.abs(np.random.default_rng(0).normal(size=(500, 64))))
    assert int(scale.zero) == 0


@pytest.fixture(scope="module")
def read(tmp_path_factory):
    return read_checkpoint(TinyNetwork().write(tmp_path_factory.mktemp("checkpoint")), (), ())


def test_ranges_are_those_of_the_reference_network(read, tmp_path):
    spec, sources = read.spec, [[5, 9, 2, 7], [3, 1]]
    seen = {}

    def look(graphs, inputs):
        scales = calibrate(tmp_path, graphs, spec, inputs, sources)
        seen.update(scales)
        return scales

    plan = GraphPlan(("fp32", "int8"), 7, look)
    written = write_graphs(tmp_path, spec, NetworkWeights(read.checkpoint, spec), plan)
    assert written.constant_scales == tuple(sorted(seen))
    assert not list(tmp_path.glob(".watched*"))
    # The encoder's output is what the memory projection reads.
    encoded = np.concatenate([ReferenceNetwork(read.checkpoint, spec).encode(source) for source in sources])
    span = encoded.max() - encoded.min()
    assert float(seen["encoder/memory/projection"].step) == pytest.approx(span / 255, rel=0.01)


@pytest.mark.parametrize(
    ("changes", "constant"),
    [({}, True), ({"sources": ("fr",)}, False), ({"sources": ("fr",), "sample": ("Bonjour.", "Au revoir !")}, True)],
)
def test_only_sentences_of_the_source_language_are_calibrated_on(tmp_path, changes, constant):
    checkpoint = TinyNetwork().write(tmp_path / "checkpoint")
    options = ExportOptions(checkpoint, tmp_path / "package", limits=NO_LIMITS)
    report = export_checkpoint(dataclasses.replace(options, **changes))
    (decision,) = [line for line in report.decisions if line.startswith("int8:")]
    assert decision.startswith("int8: a constant activation scale in 0 of") is not constant


def test_calibration_and_agreement_use_different_sentences():
    assert not set(built_in_sentences("calibration")) & set(built_in_sentences("agreement"))
