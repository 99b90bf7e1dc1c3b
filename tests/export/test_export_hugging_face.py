"""The plain reference and the exported graphs give the distributions that Hugging Face recorded."""

import numpy as np
import pytest

from export.checkpoint import Checkpoint
from export.families.registry import find_family
from export.graphs import GraphPlan, write_graphs
from export.network import NetworkWeights
from export.reference import ReferenceNetwork
from export.verify.graph_pair import GraphPair
from tests.golden.hf import golden_cases

# Recorded in float32 with five decimals.
TOLERANCE = 1e-4


@pytest.fixture(scope="module", params=[*golden_cases.TINY_NAMES, *golden_cases.FAMILY_NAMES])
def recorded(request):
    checkpoint = Checkpoint.open(golden_cases.checkpoint_folder(request.param))
    sources = [source.ids for source in golden_cases.read_sources(request.param)]
    return checkpoint, find_family(checkpoint).describe(checkpoint), sources, golden_cases.read_rows(request.param)


def assert_recorded(log_probs, rows):
    for step, (ids, expected) in enumerate(zip(rows.top_ids, rows.top_log_probs, strict=True)):
        np.testing.assert_allclose(log_probs[step][ids], expected, atol=TOLERANCE)
        rest = np.delete(log_probs[step], ids)
        assert rest.max() <= expected[-1] + TOLERANCE


def test_the_reference_gives_the_recorded_distributions(recorded):
    checkpoint, spec, sources, recorded_rows = recorded
    reference = ReferenceNetwork(checkpoint, spec)
    for rows in recorded_rows:
        # The last entry is the distribution after the whole target, so one more token of any kind is forced.
        assert_recorded(reference.force(sources[rows.source], [*rows.target, 0]).log_probs, rows)


def test_the_graphs_give_the_recorded_distributions(recorded, tmp_path):
    checkpoint, spec, sources, recorded_rows = recorded
    plan = GraphPlan(("fp32",), weight_bits=7, calibrate=None)
    files = write_graphs(tmp_path, spec, NetworkWeights(checkpoint, spec), plan).files["fp32"]
    pair = GraphPair(tmp_path / files.encoder, tmp_path / files.decoder, spec)
    batch = pair.batch([sources[rows.source] for rows in recorded_rows])
    for log_probs, rows in zip(
        pair.log_probs(batch, [[*rows.target, 0] for rows in recorded_rows]), recorded_rows, strict=True
    ):
        assert_recorded(log_probs, rows)
