"""What T5 networks have and no other: relative positions, heads of any width, gates, a head that may be scaled."""

import numpy as np
import pytest

from export.families.spec import RelativePositions
from export.position_tables import relative_buckets
from export.reference import ReferenceNetwork
from service.errors import ExportError
from tests.export.test_export_families import TOLERANCE, UNTIED, exact_pair, graphs_of, logits
from tests.export.tiny_families import VOCABULARY, TinyT5


def ids(length, seed=0):
    return np.random.default_rng(seed).integers(2, VOCABULARY, length).tolist()


def test_every_past_gives_what_a_whole_forward_pass_does_beyond_the_last_bucket_too(tmp_path):
    """TensorRT-LLM#13870, transformers#10645: pasts of 0, 1, 7 and 200 tokens, rows at different places in one step."""
    pair, reference = exact_pair(tmp_path, TinyT5(buckets=32, max_distance=128, feed_forward="gated-gelu"))
    sources, targets = [ids(150, 1), ids(3, 2), ids(40, 3), ids(1, 4)], [ids(201, 5), ids(1, 6), ids(8, 7), ids(140, 8)]
    rows = pair.log_probs(pair.batch(sources), targets)
    for source, target, actual in zip(sources, targets, rows, strict=True):
        np.testing.assert_allclose(actual, reference.force(source, target).log_probs, atol=TOLERANCE)


def test_positions_in_the_source_count_even_far_apart(tmp_path):
    """Moving a token changes what the encoder says; a network without its positions would not notice."""
    pair, _ = exact_pair(tmp_path, TinyT5(layers=(1, 1)))
    first, second = pair.batch([[5, 9, 3, 7, 2]]), pair.batch([[9, 5, 3, 7, 2]])
    assert np.abs(first.memory["cross_k.0"][0, :, 4] - second.memory["cross_k.0"][0, :, 4]).max() > 1e-3


@pytest.mark.parametrize(("buckets", "furthest"), [(32, 128), (8, 5), (11, 7), (64, 128), (4, 3)])
def test_buckets_are_exact_at_first_then_logarithmic_and_the_last_holds_everything_further(buckets, furthest):
    relative = RelativePositions("", "", buckets, furthest)
    own = relative_buckets(relative, "decoder")
    assert own[: buckets // 2].tolist() == list(range(buckets // 2))
    assert own[-1] == buckets - 1
    assert (np.diff(own) >= 0).all()
    both = relative_buckets(relative, "encoder")
    before, after = both[:furthest][::-1], both[furthest + 1 :]
    assert both[furthest] == 0
    np.testing.assert_array_equal(after, before + buckets // 2)
    assert after[-1] == 2 * (buckets // 2) - 1


def test_the_head_is_scaled_unless_the_raw_file_says_that_tables_are_not_tied(tmp_path):
    """transformers#43681, mlx-examples#591: two configurations that differ in this alone."""
    said = {"nothing": {}, "yes": {"tie_word_embeddings": True}, "no": {"tie_word_embeddings": False}}
    found = {}
    for name, config in said.items():
        checkpoint, spec = TinyT5(config=config).open(tmp_path / name)
        found[name] = logits(ReferenceNetwork(checkpoint, spec).force([5, 9, 1], [4, 8]))
        pair = graphs_of(tmp_path / f"{name}.graphs", checkpoint, spec)["fp32"]
        (result,) = [outputs for _, outputs in pair.force(pair.batch([[5, 9, 1]]), [[4]])]
        np.testing.assert_allclose(
            result["probe_log_probs"][0] + result["log_normalizer"][0], found[name][0], atol=TOLERANCE
        )
    np.testing.assert_array_equal(found["nothing"], found["yes"])
    np.testing.assert_allclose(found["no"], found["yes"] * 20**0.5)


@pytest.mark.parametrize(
    ("model_type", "config", "scale"),
    [
        ("t5", {"scale_decoder_outputs": False, "tie_word_embeddings": True}, 1),
        ("t5", {"scale_decoder_outputs": True, "tie_word_embeddings": False}, 20**-0.5),
        ("mt5", {"tie_word_embeddings": True}, 1),
        ("mt5", {}, 1),
    ],
)
def test_newer_files_say_in_words_of_their_own_whether_the_head_is_scaled(tmp_path, model_type, config, scale):
    _, spec = TinyT5(model_type, config=config).open(tmp_path)
    assert spec.head_scale == pytest.approx(scale)
    assert any("the head's input" in line for line in spec.decisions)


def test_decoding_starts_where_the_file_says_not_from_pad(tmp_path):
    """CTranslate2#1552."""
    config = {"decoder_start_token_id": 3, "pad_token_id": 1, "eos_token_id": 2}
    pair, reference = exact_pair(tmp_path, TinyT5(config=config))
    (actual,) = pair.log_probs(pair.batch([[5, 9, 2]]), [[4]])
    np.testing.assert_allclose(actual, reference.force([5, 9, 2], [4]).log_probs, atol=TOLERANCE)
    checkpoint, spec = TinyT5(config={**config, "decoder_start_token_id": 1}).open(tmp_path / "from_pad")
    assert np.abs(ReferenceNetwork(checkpoint, spec).force([5, 9, 2], [4]).log_probs - actual).max() > 0.01


def test_caches_are_as_wide_as_heads_are_not_as_the_width_divided(tmp_path):
    """optimum#1523."""
    checkpoint, spec = TinyT5(width=24, heads=2, head_width=16).open(tmp_path / "checkpoint")
    assert spec.cache_head_width == 16
    pair = graphs_of(tmp_path / "graphs", checkpoint, spec)["fp32"]
    keys = pair.batch([[5, 9, 2]]).memory["cross_k.0"]
    assert (keys.shape[1], keys.shape[3]) == (2, 16)


def test_the_encoder_of_a_file_without_shared_table_reads_the_decoders_not_the_heads(tmp_path):
    """transformers#48154."""
    network = TinyT5(
        tensors={**UNTIED, "decoder.embed_tokens.weight": VOCABULARY},
        without=("shared.weight",),
        config={"tie_word_embeddings": False},
    )
    _, spec = network.open(tmp_path)
    assert spec.keys.source_table == spec.keys.target_table == "decoder.embed_tokens.weight"
    assert spec.keys.head_table == "lm_head.weight"


@pytest.mark.parametrize("alias", ["decoder.embed_tokens.weight", "encoder.embed_tokens.weight"])
def test_a_table_stored_under_one_of_its_names_only_is_found(tmp_path, alias):
    """transformers#38870, safetensors#265."""
    whole, _ = TinyT5().open(tmp_path / "whole")
    table = whole.tensor("shared.weight")
    _, spec = TinyT5(tensors={alias: table}, without=("shared.weight",)).open(tmp_path / "part")
    assert {spec.keys.source_table, spec.keys.target_table, spec.keys.head_table} == {alias}


def test_a_head_alone_is_no_embedding(tmp_path):
    with pytest.raises(ExportError) as caught:
        TinyT5(tensors=UNTIED, without=("shared.weight",)).open(tmp_path)
    problems = "\n".join(caught.value.problems)
    assert "the source embedding is missing: none of encoder.embed_tokens.weight, shared.weight" in problems
    assert "the target embedding is missing" in problems


def test_a_table_stored_twice_and_a_stray_one_are_no_obstacle(tmp_path):
    whole, expected = TinyT5().open(tmp_path / "whole")
    stray = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"
    copies = {
        "encoder.embed_tokens.weight": whole.tensor("shared.weight"),
        "lm_head.weight": whole.tensor("shared.weight"),
        stray: np.ones((8, 3), np.float32),
    }
    checkpoint, spec = TinyT5(tensors=copies).open(tmp_path / "copies")
    forced = ReferenceNetwork(checkpoint, spec).force([5, 9, 1], [4, 8])
    np.testing.assert_array_equal(
        forced.log_probs, ReferenceNetwork(whole, expected).force([5, 9, 1], [4, 8]).log_probs
    )


@pytest.mark.parametrize(
    ("network", "activation"),
    [
        (TinyT5(), "relu"),
        (TinyT5(config={"feed_forward_proj": None}), "relu"),
        (TinyT5(feed_forward="gelu"), "gelu"),
        (TinyT5(feed_forward="gated-gelu"), "gelu_tanh"),
        (TinyT5(feed_forward="gated-silu"), "swish"),
        (TinyT5(feed_forward="gated-gelu", config={"dense_act_fn": "gelu"}), "gelu"),
    ],
)
def test_the_activation_is_the_one_transformers_takes(tmp_path, network, activation):
    _, spec = network.open(tmp_path)
    assert spec.activation == activation
    assert (spec.keys.encoder[0].feed_forward.gate is not None) is network.feed_forward.startswith("gated-")


def test_what_the_file_leaves_out_is_decided_aloud(tmp_path):
    left_out = dict.fromkeys(("relative_attention_max_distance", "num_decoder_layers", "layer_norm_epsilon"))
    _, spec = TinyT5(layers=(2, 2), config=left_out).open(tmp_path)
    assert (spec.relative.max_distance, len(spec.keys.decoder), spec.norm_epsilon) == (128, 2, 1e-6)
    assert (spec.max_source_tokens, spec.max_target_tokens) == (512, 512)
    assert all(any(name in line for line in spec.decisions) for name in (*left_out, "n_positions"))


@pytest.mark.parametrize(
    ("network", "parts"),
    [
        (
            TinyT5(feed_forward="gated-mish", config={"num_heads": 0}, tensors={"extra.weight": 3}),
            ("'mish' is not known", "num_heads must be a whole number of at least 1"),
        ),
        (TinyT5(feed_forward="mish", tensors={"adapter.weight": 3}), ("'mish'", "adapter.weight belongs to no part")),
        (TinyT5(config={"feed_forward_proj": "gated-gelu"}), ("the file's feed-forward blocks are not gated",)),
        (TinyT5(feed_forward="gated-gelu", config={"feed_forward_proj": "relu"}), ("blocks are gated",)),
        (
            TinyT5(config={"d_kv": 7, "d_ff": 34}),
            ("SelfAttention.q.weight has shape [18, 20], not [21, 20]", "wi.weight"),
        ),
        (TinyT5(config={"relative_attention_num_buckets": 12}), ("has shape [8, 3], not [12, 3]",)),
        (TinyT5(config={"relative_attention_max_distance": 4}), ("do not fit",)),
        (
            TinyT5(tensors={"encoder.block.1.layer.0.SelfAttention.relative_attention_bias.weight": 8}),
            ("encoder.block.1.layer.0.SelfAttention.relative_attention_bias.weight belongs to no part",),
        ),
        (
            TinyT5(
                tensors={**UNTIED, "encoder.embed_tokens.weight": VOCABULARY, "decoder.embed_tokens.weight": VOCABULARY}
            ),
            ("shared.weight differs from every table in use",),
        ),
        (
            TinyT5(config={"quantization_config": {"bits": 8}, "is_encoder_decoder": False}),
            ("quantization_config", "is_encoder"),
        ),
        (
            TinyT5(config={"eos_token_id": [1, 2], "pad_token_id": 99}),
            ("eos_token_id must be", "beyond the target vocabulary"),
        ),
        (
            TinyT5(without=("encoder.final_layer_norm.weight", "decoder.block.0.layer.2.DenseReluDense.wo.weight")),
            ("encoder.final_layer_norm.weight is missing", "wo.weight is missing"),
        ),
    ],
)
def test_a_network_that_is_another_is_refused_with_every_reason(tmp_path, network, parts):
    with pytest.raises(ExportError) as caught:
        network.open(tmp_path)
    problems = "\n".join(caught.value.problems)
    assert all(part in problems for part in parts), problems
