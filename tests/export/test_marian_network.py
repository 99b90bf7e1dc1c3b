"""The network that Marian's files describe gives the scores that Marian gives, and what it cannot be is refused."""

import numpy as np
import pytest
from sentencepiece import SentencePieceProcessor

from export.checkpoint import Checkpoint
from export.marian.network import describe_marian_native
from export.marian.tokenizers import read_marian_native
from export.reference import ReferenceNetwork
from service.errors import ExportError
from tests.export.marian_models import GOLDEN, cases, changed

# Scores are recorded with five decimals.
TOLERANCE = 1.2e-5


class MarianModel:
    """A recorded model in the reference network, with ids as Marian finds them."""

    def __init__(self, folder):
        self.checkpoint = Checkpoint.open(folder)
        self.spec = describe_marian_native(self.checkpoint)
        self.reference = ReferenceNetwork(self.checkpoint, self.spec)
        original = read_marian_native(self.checkpoint)
        self.sides = (original.source, original.target)
        self._cutters = [SentencePieceProcessor(model_file=str(path)) for path in self.checkpoint.native.pieces]

    def ids(self, text, side):
        return self.ids_of_pieces(self._cutters[side].encode(text, out_type=str), side)

    def ids_of_pieces(self, pieces, side):
        vocabulary = self.sides[side].vocabulary
        roles = vocabulary.roles
        return [*(vocabulary.ids.get(piece, roles.unk) for piece in pieces), roles.eos]

    def force(self, text, target):
        return self.reference.force(self.ids(text, 0), target)


def scores(forced, target):
    """Log-probabilities of a target among all of Marian's tokens, those it never writes included."""
    banned = np.exp(forced.banned_logits - forced.log_normalizers[:, None]).sum(axis=1)
    return forced.log_probs[np.arange(len(target)), target] - np.log1p(banned)


@pytest.fixture(scope="module", params=["opus", "odd", "student", "separate"])
def recorded(request):
    return MarianModel(GOLDEN / request.param), cases(request.param)


def test_given_translations_score_as_in_marian(recorded):
    model, answers = recorded
    given = [case for case in answers if "given" in case]
    assert len(given) >= 10
    for case in given:
        target = model.ids(case["given"]["text"], 1)
        actual = scores(model.force(case["text"], target), target)
        np.testing.assert_allclose(actual, case["given"]["scores"], atol=TOLERANCE)


def test_greedy_translations_are_what_the_network_finds_best(recorded):
    model, answers = recorded
    for case in answers:
        target = model.ids_of_pieces(case["greedy"]["pieces"], 1)
        forced = model.force(case["text"], target)
        steps = len(case["greedy"]["scores"])
        assert forced.log_probs.argmax(axis=1)[:steps].tolist() == target[:steps]
        np.testing.assert_allclose(scores(forced, target)[:steps], case["greedy"]["scores"], atol=TOLERANCE)


def test_alignments_are_the_weights_that_marian_gives_out(recorded):
    model, answers = recorded
    for case in answers:
        if "alignment" in case["greedy"]:
            target = model.ids_of_pieces(case["greedy"]["pieces"], 1)
            alignments = model.force(case["text"], target).alignments
            np.testing.assert_allclose(alignments, case["greedy"]["alignment"], atol=2e-4)


def test_integer_weights_translate_as_in_marian_but_for_its_rounding_of_activations():
    answers = cases("student")
    same = [case["integers"]["pieces"] == case["greedy"]["pieces"] for case in answers]
    assert sum(same) >= 0.8 * len(same)
    for case in answers:
        if case["integers"]["pieces"] == case["greedy"]["pieces"]:
            difference = case["integers"]["score"] - case["greedy"]["score"]
            assert abs(difference) < 0.02 * len(case["greedy"]["scores"])


def test_start_is_a_row_of_zeros_after_the_vocabulary_without_probability(recorded):
    model, _ = recorded
    spec, keys = model.spec, model.spec.keys
    start = spec.special_ids.decoder_start
    for name in {keys.target_table, keys.head_table}:
        table = model.checkpoint.tensor(name)
        assert table.shape == (start + 1, spec.model_width)
        assert not table[start].any()
    assert model.checkpoint.shape(keys.source_table)[0] == len(model.sides[0].vocabulary.ids)
    assert start in spec.banned_ids
    assert model.checkpoint.tensor(keys.head_bias)[start] < -1e8


def refusals(folder):
    with pytest.raises(ExportError) as caught:
        describe_marian_native(Checkpoint.open(folder))
    return [problem.removeprefix("special:model.yml: ") for problem in caught.value.problems]


def test_every_option_that_makes_another_network_is_named(tmp_path):
    options = {
        "type": "multi-transformer",
        "dec-depth": 0,
        "transformer-heads": 5,
        "transformer-ffn-depth": 3,
        "transformer-ffn-activation": "tanh",
        "transformer-decoder-autoreg": "average-attention",
        "transformer-preprocess": "nd",
        "transformer-postprocess": "dhn",
        "transformer-postprocess-top": "n",
        "transformer-postprocess-emb": "dr",
        "transformer-attention-mask": "alibi",
        "lemma-dim-emb": 8,
        "right-left": True,
        "input-types": ["sequence", "class"],
        "transformer-quite-new": 7,
    }
    ignored = {"transformer-quite-new-but-off": 0, "transformer-tied-layers": []}
    found = refusals(changed("odd", tmp_path / "folder", options=options | ignored))
    named = [problem.removeprefix("the option ").split()[0] for problem in found]
    assert sorted(named) == sorted(options)


def test_recurrent_decoders_that_are_no_ssru_are_refused(tmp_path):
    options = {"transformer-decoder-autoreg": "rnn", "dec-cell": "gru", "layer-normalization": True}
    assert refusals(changed("odd", tmp_path / "folder", options=options)) == [
        "dec-cell = 'gru' is not supported",
        "layer-normalization = 'true' is not supported",
    ]


def test_tied_layers_that_do_not_fit_are_refused(tmp_path):
    for number, tied in enumerate(([1, 2], [1, 2, 4])):
        (problem,) = refusals(changed("odd", tmp_path / str(number), options={"transformer-tied-layers": tied}))
        assert problem == f"transformer-tied-layers {tied} does not fit dec-depth 3"


def test_tensors_that_are_missing_misshapen_or_nobodys_are_all_named(tmp_path):
    folder = changed(
        "odd",
        tmp_path / "folder",
        tensors={
            "encoder_l1_ffn_W1": np.zeros((24, 35), np.float32),
            "encoder_l1_self_Wgate": np.zeros((24, 24), np.float32),
            "Wpos": np.zeros((8, 24), np.float32),
            "encoder_l1_ffn_W1_QuantMultA": np.ones((1, 1), np.float32),
        },
        without=("decoder_l2_context_bq",),
    )
    assert refusals(folder) == [
        "tensor encoder_l1_ffn_W1 has shape [35, 24], not [36, 24]",
        "tensor decoder_l2_context_bq is missing",
        "tensor Wpos belongs to no part of the network",
        "tensor encoder_l1_self_Wgate belongs to no part of the network",
    ]


def test_vocabulary_sizes_that_the_tables_do_not_have_are_refused(tmp_path):
    (problem,) = refusals(changed("odd", tmp_path / "folder", options={"dim-vocabs": [144, 150]}))
    assert problem == "tensor Wemb has 144 rows, and dim-vocabs is [144, 150]"
    for number, sizes in enumerate(([0, 0], [])):
        describe_marian_native(Checkpoint.open(changed("odd", tmp_path / str(number), options={"dim-vocabs": sizes})))


def test_learned_positions_are_used_where_options_and_file_have_them_and_embeddings_then_keep_their_scale(tmp_path):
    table = np.random.default_rng(0).standard_normal((30, 24)).astype(np.float32)
    folder = changed(
        "odd",
        tmp_path / "folder",
        options={"transformer-train-position-embeddings": True},
        tensors={"Wpos": table},
    )
    spec = describe_marian_native(Checkpoint.open(folder))
    assert (spec.positions.kind, spec.positions.count, spec.embedding_scale) == ("learned", 30, 1.0)
    assert spec.max_source_tokens == 30


def test_trained_positions_that_are_not_in_the_file_are_sinusoids_as_in_marian(tmp_path):
    folder = changed("odd", tmp_path / "folder", options={"transformer-train-position-embeddings": True})
    assert describe_marian_native(Checkpoint.open(folder)).positions.kind == "sinusoid_fairseq"


@pytest.mark.parametrize(
    ("version", "activation"),
    [
        ("v1.12.42 b7be0e964", "gelu"),
        ("v1.12.0 65bf82ffc 2023-02-20", "quick_gelu"),
        ("v1.9.56 7a4b8d4", "quick_gelu"),
        (None, "quick_gelu"),
    ],
)
def test_which_gelu_is_meant_depends_on_the_version(tmp_path, version, activation):
    options = {"transformer-ffn-activation": "gelu", "version": version}
    spec = describe_marian_native(Checkpoint.open(changed("odd", tmp_path / "folder", options=options)))
    assert spec.activation == activation
    assert any(line.startswith("gelu is") for line in spec.decisions)


def test_the_guided_layer_aligns(tmp_path):
    folder = changed("odd", tmp_path / "folder", options={"transformer-guided-alignment-layer": "2"})
    assert describe_marian_native(Checkpoint.open(folder)).alignment_layer == 1
    folder = changed("odd", tmp_path / "other", options={"transformer-guided-alignment-layer": 4})
    assert refusals(folder) == ["transformer-guided-alignment-layer 4 is no decoder layer"]


def test_settings_of_the_decoder_become_defaults_and_what_they_allow_is_not_banned(tmp_path):
    model = MarianModel(GOLDEN / "opus")
    assert dict(model.checkpoint.generation) == {
        "num_beams": 4,
        "length_penalty": 1.0,
        "early_stopping": False,
        "renormalize_logits": True,
    }
    assert model.spec.banned_ids == (1, model.spec.special_ids.pad)
    folder = changed("odd", tmp_path / "folder", files={"decoder.yml": "beam-size: 2\nallow-unk: true\n"})
    spec = describe_marian_native(Checkpoint.open(folder))
    assert spec.banned_ids == (spec.special_ids.pad,)


def test_settings_of_the_decoder_that_cannot_be_honoured_are_refused(tmp_path):
    text = "beam-size: 0\nnormalize: true-ish\nword-penalty: 0.5\noutput-sampling: [full]\n"
    folder = changed("odd", tmp_path / "folder", files={"decoder.yml": text})
    assert [problem.split()[1] for problem in refusals(folder)] == [
        "beam-size",
        "normalize",
        "word-penalty",
        "output-sampling",
    ]


def test_decisions_say_what_the_file_decided():
    decisions = MarianModel(GOLDEN / "odd").spec.decisions
    assert "head and target table: two in the file (tied-embeddings-all = False, tied-embeddings = False)" in decisions
    assert "decoder layers share tensors: [1, 2, 1]" in decisions
    assert any(line.startswith("no decoder.yml") for line in decisions)
