"""Networks of every family beside transformers: the same logits, and token for token the same decoding.

Checkpoints have random weights and are written by transformers itself. Each is read and exported as any other would be,
but for its tokenizers: everything here is about token ids.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from export.checkpoint import Checkpoint
from export.families.registry import find_family
from export.families.spec import ModelSpec
from export.position_tables import relative_buckets
from export.reference import ReferenceNetwork
from export.verify.graph_pair import GraphPair
from service.search.options import DecodingOptions
from tests.parity.verso_side import Target, decode

if TYPE_CHECKING:
    from tests.parity.oracle import Oracle

pytestmark = [pytest.mark.parity, pytest.mark.timeout(600)]

TOLERANCE = 1e-4
NUM_SOURCES = 6
MAX_NEW_TOKENS = 14
PLAIN = DecodingOptions(max_new_tokens=MAX_NEW_TOKENS)
SETTINGS: Mapping[str, DecodingOptions] = {
    "greedy": PLAIN,
    "beam_4": replace(PLAIN, beam_size=4),
    "beam_4_all": replace(PLAIN, beam_size=4, num_hypotheses=4),
    "beam_5_early": replace(PLAIN, beam_size=5, num_hypotheses=3, length_penalty=0.6, early_stopping=True),
}
NAMES = (
    "marian", "marian, untied, relu", "marian, two vocabularies", "marian, two vocabularies, untied",
    "marian, odd width", "marian, quick gelu", "m2m100", "m2m100, untied, deep encoder", "m2m100, deep decoder, swish",
    "m2m100, odd width, gelu", "m2m100, unscaled", "m2m100, fond of pad", "mbart", "mbart, untied, relu",
    "mbart, scaled, deep encoder", "mbart, odd width, quick gelu",
    "mbart, started by the language", "t5", "t5, deep decoder", "t5 v1.1",
    "t5 v1.1, written by transformers 4", "t5, tied but unscaled", "t5, untied but scaled",
    "t5, odd width, another activation", "mt5", "mt5, tied", "madlad",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Subject:
    """One checkpoint on both sides, and sources of many lengths for it."""

    folder: Path
    checkpoint: Checkpoint
    spec: ModelSpec
    oracle: "Oracle"
    target: Target
    sources: Sequence[Sequence[int]]


@pytest.fixture(scope="module", params=NAMES)
def subject(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Subject:
    from tests.parity.network_cases import CASES
    from tests.parity.oracle import load_oracle
    from tests.parity.random_models import write_random_model

    case = CASES[request.param]
    folder = tmp_path_factory.mktemp("network")
    write_random_model(case, folder)
    checkpoint = Checkpoint.open(folder)
    spec = find_family(checkpoint).describe(checkpoint)
    target = Target(case.forced_first_id, case.start_id)
    draw = random.Random(7)
    ids = [token for token in range(3, spec.source_vocabulary_size) if token != spec.special_ids.pad]
    lengths = [1, 25, 4, 9, 17, 2][:NUM_SOURCES]
    sources = [[*draw.choices(ids, k=length), 2] for length in lengths]
    return Subject(folder, checkpoint, spec, asking_for(load_oracle(folder), target), target, sources)


def asking_for(oracle: "Oracle", target: Target) -> "Oracle":
    if target.start_id is not None:
        oracle.generation.decoder_start_token_id = target.start_id
    return replace(oracle, forced_first_id=target.forced_first_id)


def test_every_case_is_tried() -> None:
    from tests.parity.network_cases import CASES

    assert set(CASES) == set(NAMES)


def test_reference_and_graphs_give_the_logits_of_transformers_in_a_padded_batch(
    subject: Subject, tmp_path: Path
) -> None:
    from tests.parity.ids_package import write_ids_package

    spec = subject.spec
    graphs = write_ids_package(tmp_path / "package", subject.checkpoint, spec)
    pair = GraphPair(tmp_path / "package" / graphs.encoder, tmp_path / "package" / graphs.decoder, spec)
    draw = random.Random(8)
    ids = [token for token in range(spec.target_vocabulary_size) if token != spec.special_ids.pad]
    targets = [draw.choices(ids, k=length) for length in (12, 3, 20, 1, 7, 15)]
    expected = _logits(subject, targets)
    reference = ReferenceNetwork(subject.checkpoint, spec)
    actual = _graph_logits(pair, subject.sources, targets)
    free = np.delete(np.arange(spec.target_vocabulary_size), spec.banned_ids)
    for source, target, theirs, ours in zip(subject.sources, targets, expected, actual, strict=True):
        forced = reference.force(source, target)
        plain = forced.log_probs + forced.log_normalizers[:, None]
        np.testing.assert_allclose(plain[:, free], theirs[:, free], atol=TOLERANCE)
        np.testing.assert_allclose(ours[:, free], theirs[:, free], atol=TOLERANCE)
        np.testing.assert_allclose(forced.banned_logits, theirs[:, list(spec.banned_ids)], atol=TOLERANCE)


def test_decoding_is_that_of_generate(subject: Subject, tmp_path: Path) -> None:
    from tests.parity.comparison import Comparison, difference, score_errors
    from tests.parity.ids_package import write_ids_package
    from tests.parity.oracle import generate, load_oracle

    write_ids_package(tmp_path / "package", subject.checkpoint, subject.spec)
    plan = [(name, index) for name in SETTINGS for index in range(len(subject.sources))]
    sources, options = [subject.sources[index] for _, index in plan], [SETTINGS[name] for name, _ in plan]
    got = decode(tmp_path / "package", "fp32", sources, options, subject.target)
    exact = asking_for(load_oracle(subject.folder, double=True), subject.target)
    cases = [
        Comparison(name, index, source, option, generate(subject.oracle, source, option), hypotheses)
        for (name, index), source, option, hypotheses in zip(plan, sources, options, got, strict=True)
    ]
    found = [one for case in cases if (one := difference(case, subject.oracle, exact)) is not None]
    assert [one for one in found if not one.is_tie] == []
    assert len(found) <= 1
    differing = {(one.setting, one.source) for one in found}
    errors = [error for case in cases if (case.setting, case.source) not in differing for error in score_errors(case)]
    assert max(errors) <= TOLERANCE


@pytest.mark.parametrize("side", ["encoder", "decoder"])
@pytest.mark.parametrize("num_buckets", [4, 7, 8, 12, 32, 64])
@pytest.mark.parametrize("max_distance", [33, 40, 64, 128, 200])
def test_distances_fall_into_the_buckets_of_transformers(side: Any, num_buckets: int, max_distance: int) -> None:
    import torch
    from transformers.models.t5.modeling_t5 import T5Attention

    from export.families.spec import RelativePositions

    ours = relative_buckets(RelativePositions("", "", num_buckets, max_distance), side)
    offsets = np.arange(-max_distance, max_distance + 1) if side == "encoder" else -np.arange(max_distance + 1)
    theirs = T5Attention._relative_position_bucket(
        torch.tensor(offsets), bidirectional=side == "encoder", num_buckets=num_buckets, max_distance=max_distance
    )
    assert ours.tolist() == theirs.tolist()


def _logits(subject: Subject, targets: Sequence[Sequence[int]]) -> list[np.ndarray]:
    """Logits [T, V] of each target, all sources in one right-padded batch."""
    import torch

    spec = subject.spec
    width, length = max(map(len, subject.sources)), max(map(len, targets))
    pad = spec.special_ids.pad
    ids = torch.tensor([[*source, *[pad] * (width - len(source))] for source in subject.sources])
    mask = torch.tensor([[1] * len(source) + [0] * (width - len(source)) for source in subject.sources])
    inputs = [[spec.special_ids.decoder_start, *target[:-1]] for target in targets]
    decoder_ids = torch.tensor([[*row, *[pad] * (length - len(row))] for row in inputs])
    with torch.no_grad():
        logits = subject.oracle.model(
            input_ids=ids, attention_mask=mask, decoder_input_ids=decoder_ids, use_cache=False
        ).logits
    return [row[: len(target)].double().numpy() for row, target in zip(logits, targets, strict=True)]


def _graph_logits(pair: GraphPair, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[Any]:
    collected: list[list[Any]] = [[] for _ in targets]
    for position, result in pair.force(pair.batch(sources), targets):
        for row, place in enumerate(position.tolist()):
            if place == len(collected[row]):
                collected[row].append(result["probe_log_probs"][row].astype(np.float64) + result["log_normalizer"][row])
    return [np.array(rows) for rows in collected]
