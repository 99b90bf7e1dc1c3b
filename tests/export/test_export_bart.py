"""Where Marian, M2M100 and mBART differ: norms, positions and pads, biases, start ids. Each taken from the file."""

import dataclasses

import numpy as np
import pytest

from export.position_tables import sinusoid_fairseq, sinusoid_halves
from export.reference import ReferenceNetwork
from service.errors import ExportError
from tests.export.test_export_families import TOLERANCE, UNTIED, exact_pair
from tests.export.tiny_families import VOCABULARY, TinyBart


@pytest.mark.parametrize("width", [4, 7, 20, 21])
def test_fairseq_sinusoids_end_with_a_frequency_of_one_in_ten_thousand(width):
    table = sinusoid_fairseq(50, width)
    half = width // 2
    for row in (0, 1, 49):
        angles = [row * 10000 ** (-i / (half - 1)) for i in range(half)]
        expected = [*np.sin(angles), *np.cos(angles), *[0.0] * (width % 2)]
        np.testing.assert_allclose(table[row], expected, atol=1e-7)


def test_the_two_kinds_of_sinusoids_must_not_be_confused():
    assert np.abs(sinusoid_fairseq(501, 512)[500] - sinusoid_halves(501, 512)[500]).max() > 0.5


@pytest.mark.parametrize(
    ("network", "kind", "first", "norm_order"),
    [
        (TinyBart("marian"), "sinusoid_halves", 0, "post"),
        (TinyBart("m2m100"), "sinusoid_fairseq", 2, "pre"),
        (TinyBart("m2m100", config={"pad_token_id": 7}), "sinusoid_fairseq", 8, "pre"),
        (TinyBart("mbart"), "learned", 2, "pre"),
    ],
)
def test_each_family_has_its_positions_and_norms(tmp_path, network, kind, first, norm_order):
    _, spec = network.open(tmp_path)
    assert (spec.positions.kind, spec.positions.first, spec.positions.count) == (kind, first, 40)
    assert spec.norm_order == norm_order
    assert (spec.max_source_tokens, spec.max_target_tokens) == (40, 40)
    keys = spec.keys
    assert (keys.encoder_final_norm is not None) == (keys.decoder_final_norm is not None) == (norm_order == "pre")
    assert (keys.source_embedding_norm is not None) == (kind == "learned")
    assert spec.banned_ids == ((VOCABULARY - 1,) if network.family == "marian" else ())


@pytest.mark.parametrize("network", [TinyBart("m2m100"), TinyBart("mbart")], ids=["m2m100", "mbart"])
def test_a_network_taken_for_another_familys_is_noticeably_another(tmp_path, network):
    """The trap of one exporter for all that look alike (onnxruntime/mobius): every difference must show."""
    checkpoint, spec = network.open(tmp_path)
    expected = ReferenceNetwork(checkpoint, spec).force([5, 9, 3, 2], [4, 8, 15]).log_probs
    changes = {"norm_order": "post", "embedding_scale": 1.0}
    changes["positions"] = dataclasses.replace(spec.positions, first=spec.positions.first - 1)
    changes["keys"] = dataclasses.replace(spec.keys, encoder_final_norm=None)
    for name, value in changes.items():
        other = ReferenceNetwork(checkpoint, dataclasses.replace(spec, **{name: value}))
        assert np.abs(other.force([5, 9, 3, 2], [4, 8, 15]).log_probs - expected).max() > 0.01, name


def test_a_pad_token_in_a_target_has_no_position_and_those_after_it_keep_theirs(tmp_path):
    pair, reference = exact_pair(tmp_path, TinyBart("m2m100"))
    target = [4, 1, 8, 1, 1, 9]
    (actual,) = pair.log_probs(pair.batch([[5, 9, 2]]), [target])
    np.testing.assert_allclose(actual, reference.force([5, 9, 2], target).log_probs, atol=TOLERANCE)
    positions = dataclasses.replace(pair.spec.positions, zero_at_pad=False)
    checkpoint, _ = TinyBart("m2m100").open(tmp_path / "checkpoint")
    other = ReferenceNetwork(checkpoint, dataclasses.replace(pair.spec, positions=positions))
    assert np.abs(other.force([5, 9, 2], target).log_probs - actual).max() > 0.01


def test_marian_starts_from_the_row_of_pad_and_never_produces_it(tmp_path):
    """CTranslate2#832 and #865, transformers#25294: the largest logit is that of pad."""
    pad = VOCABULARY - 1
    bias = np.zeros((1, VOCABULARY), np.float32)
    bias[0, pad] = 80
    pair, reference = exact_pair(tmp_path, TinyBart("marian", tensors={"final_logits_bias": bias}))
    (log_probs,) = pair.log_probs(pair.batch([[5, 9, 2]]), [[4, 8, 15]])
    np.testing.assert_allclose(
        log_probs[:, :-1], reference.force([5, 9, 2], [4, 8, 15]).log_probs[:, :-1], atol=TOLERANCE
    )
    np.testing.assert_allclose(np.exp(log_probs[:, :-1].astype(np.float64)).sum(axis=1), 1, atol=1e-5)
    assert np.isneginf(log_probs[:, -1]).all()
    assert pad not in pair.greedy([[5, 9, 2]], 20)[0]


@pytest.mark.parametrize("family", ["marian", "mbart"])
def test_a_bias_on_the_head_counts_where_there_is_one(tmp_path, family):
    """transformers#41430, onnxruntime#17677."""
    pair, reference = exact_pair(tmp_path, TinyBart(family))
    assert pair.spec.keys.head_bias == "final_logits_bias"
    sources, targets = [[5, 9, 2], [7, 3, 11, 14, 6, 2]], [[4, 8], [9, 3]]
    for source, target, actual in zip(sources, targets, pair.log_probs(pair.batch(sources), targets), strict=True):
        np.testing.assert_allclose(actual, reference.force(source, target).log_probs, atol=TOLERANCE)
    checkpoint, spec = TinyBart(family, without=("final_logits_bias",)).open(tmp_path / "without")
    assert any("no final_logits_bias" in line for line in spec.decisions)
    unbiased = ReferenceNetwork(checkpoint, spec).force(sources[0], targets[0]).log_probs[:, :-1]
    assert np.abs(unbiased - reference.force(sources[0], targets[0]).log_probs[:, :-1]).max() > 0.1


def test_separate_vocabularies_have_tables_and_a_head_of_their_own_sizes(tmp_path):
    """CTranslate2#1262, transformers#15831."""
    tables = {
        "model.encoder.embed_tokens.weight": 61,
        "model.decoder.embed_tokens.weight": VOCABULARY,
        "lm_head.weight": VOCABULARY,
    }
    network = TinyBart("marian", tensors=tables, without=("model.shared.weight",))
    pair, reference = exact_pair(tmp_path, network)
    assert (pair.spec.source_vocabulary_size, pair.spec.target_vocabulary_size) == (61, VOCABULARY)
    (actual,) = pair.log_probs(pair.batch([[60, 59, 2]]), [[4, 8]])
    np.testing.assert_allclose(actual, reference.force([60, 59, 2], [4, 8]).log_probs, atol=TOLERANCE)


def test_mbart_may_leave_its_start_to_the_language(tmp_path):
    _, spec = TinyBart("mbart", config={"decoder_start_token_id": None}).open(tmp_path)
    assert spec.special_ids.decoder_start == spec.special_ids.eos == 2
    assert any("starts from the target language" in line for line in spec.decisions)


@pytest.mark.parametrize("alias", ["model.decoder.embed_tokens.weight", "model.encoder.embed_tokens.weight"])
def test_a_table_stored_under_one_of_its_names_only_is_found(tmp_path, alias):
    """transformers#38870."""
    _, spec = TinyBart("m2m100", tensors={alias: VOCABULARY}, without=("model.shared.weight",)).open(tmp_path)
    assert {spec.keys.source_table, spec.keys.target_table, spec.keys.head_table} == {alias}


def test_stored_sinusoids_are_no_part_but_no_obstacle(tmp_path):
    nonsense = {
        "model.encoder.embed_positions.weights": np.full((42, 20), 9.0),
        "model.decoder.embed_positions.weight": np.full((42, 20), 9.0),
    }
    _, spec = TinyBart("m2m100", tensors=nonsense).open(tmp_path)
    assert not set(nonsense) & set(spec.tensor_names())


def test_what_the_file_leaves_out_is_decided_aloud(tmp_path):
    for family, scale in (("m2m100", 20**0.5), ("mbart", 1.0)):
        _, spec = TinyBart(family, config={"scale_embedding": None}).open(tmp_path / family)
        assert spec.embedding_scale == pytest.approx(scale)
        assert any("scale_embedding" in line for line in spec.decisions)


@pytest.mark.parametrize(
    ("network", "parts"),
    [
        (
            TinyBart("m2m100", activation="mish", config={"encoder_layers": 0}, tensors={"extra.weight": 3}),
            ("'mish' is not known", "encoder_layers must be a whole number of at least 1"),
        ),
        (
            TinyBart("mbart", activation="relu6", config={"d_model": 21}, tensors={"score.weight": 3}),
            ("'relu6'", "multiple of the number of attention heads", "score.weight belongs to no part"),
        ),
        (
            TinyBart("m2m100", tensors={"final_logits_bias": np.zeros((1, 53))}),
            ("final_logits_bias belongs to no part",),
        ),
        (
            TinyBart("mbart", config={"max_position_embeddings": 64}),
            ("embed_positions.weight has shape [42, 20], not [66, 20]",),
        ),
        (
            TinyBart("mbart", without=("model.encoder.layernorm_embedding.bias", "model.decoder.layer_norm.weight")),
            ("model.encoder.layernorm_embedding.bias is missing", "model.decoder.layer_norm.weight is missing"),
        ),
        (TinyBart("mbart", config={"normalize_before": False}), ("normalize_before = False is not supported",)),
        (
            TinyBart("marian", config={"normalize_before": True, "normalize_embedding": True}),
            ("normalize_before", "normalize_embedding"),
        ),
        (
            TinyBart("m2m100", config={"decoder_start_token_id": None, "eos_token_id": 99}),
            ("decoder_start_token_id must be", "eos_token_id is 99"),
        ),
        (
            TinyBart("m2m100", config={"scale_embedding": "yes", "quantization_config": {}}),
            ("scale_embedding must be true or false", "quantization_config"),
        ),
        (
            TinyBart(
                "m2m100",
                tensors={**UNTIED, "model.encoder.embed_tokens.weight": 53, "model.decoder.embed_tokens.weight": 53},
            ),
            ("model.shared.weight differs from every table in use",),
        ),
        (TinyBart("m2m100", tensors={"lm_head.weight": 50}), ("the head has 50 outputs for 53 target tokens",)),
        (TinyBart("m2m100", width=2, heads=1), ("d_model must be at least 4",)),
    ],
)
def test_a_network_that_is_another_is_refused_with_every_reason(tmp_path, network, parts):
    with pytest.raises(ExportError) as caught:
        network.open(tmp_path)
    problems = "\n".join(caught.value.problems)
    assert all(part in problems for part in parts), problems
