"""Parity with SentencePiece over the kinds of models there are, and what the comparison makes of differences."""

import dataclasses
import json

import pytest

from export.tokenizer.corpus import NATURAL_LINES, generated_lines, stress_lines
from export.tokenizer.marian import convert_marian
from export.tokenizer.parity import Comparison, MismatchKind, check_parity
from tests.export.tiny_multilingual import changed
from tests.export.tiny_tokenizers import ENGLISH, TinyCheckpoint, handmade, read_ids, train, two_step_ids

LINES = (*ENGLISH[:50], *NATURAL_LINES, *stress_lines())

SPACED = tuple(line.replace(" the ", "   the ") for line in ENGLISH)
KINDS = {
    "nmt_nfkc": {},
    "nfkc with case folding": {"normalization_rule_name": "nmt_nfkc_cf"},
    "identity": {"normalization_rule_name": "identity"},
    "byte fallback": {"vocab_size": 400, "byte_fallback": True},
    "identity, byte fallback, kept spaces": {
        "lines": SPACED,
        "vocab_size": 400,
        "normalization_rule_name": "identity",
        "byte_fallback": True,
        "remove_extra_whitespaces": False,
    },
    "kept spaces": {"lines": SPACED, "remove_extra_whitespaces": False, "allow_whitespace_only_pieces": True},
    "no dummy prefix": {"add_dummy_prefix": False},
    "pieces over words": {"split_by_whitespace": False, "vocab_size": 300},
    "user-defined pieces": {"user_defined_symbols": "<br>,harbour,@@"},
    "user-defined pieces that normalisation would change": {"user_defined_symbols": "\n,Ⅷ,harbour,harbour bridge"},
    "runs of one letter": {
        "lines": ("aaaa aaaaaaa aa aaa hahahaha hahaha eeeerrr rr", *ENGLISH[:100]),
        "vocab_size": 80,
    },
}
# Lines for some of the kinds.
MORE_LINES = (
    *("a" * length for length in range(1, 40)),
    *("ha" * length for length in range(1, 20)),
    "the<br>harbour\nbridge @@harbours Ⅷ@@@\n\n",
    "see the harbour bridge\tthe  harbour  bridge",
    "\U0010f000 private \U0010f001\U0010f002",
)


def train_knowing(*lines):
    """A model that has every character of the lines as a piece."""
    return train((*lines, *ENGLISH[:100]), vocab_size=100, character_coverage=1.0)


@pytest.mark.parametrize("model_type", ["unigram", "bpe"])
@pytest.mark.parametrize("kind", KINDS)
def test_only_explained_lines_differ(tmp_path, kind, model_type):
    source = train(**{**KINDS[kind], "model_type": model_type})
    folder = TinyCheckpoint(source=source, missing=("▁t", "s")).write(tmp_path)
    lines = (*LINES, *MORE_LINES)
    found = Comparison(convert_marian(folder)).compare(lines)
    assert found.num_lines == len(lines)
    assert found.count(MismatchKind.UNEXPLAINED) == 0
    assert found.num_mismatches <= 0.02 * len(lines)
    assert found.num_decoding_mismatches == 0


@pytest.mark.parametrize("kind", ["byte fallback", "identity, byte fallback, kept spaces"])
def test_bytes_of_a_target_model_are_joined_into_characters(tmp_path, kind):
    folder = TinyCheckpoint(target=train(**KINDS[kind])).write(tmp_path)
    assert Comparison(convert_marian(folder)).compare(NATURAL_LINES).num_decoding_mismatches == 0


def test_a_good_conversion_has_no_problems(tmp_path):
    folder = TinyCheckpoint(missing=("▁t", "s"), extra=(">>deu<<",), spare_rows=3).write(tmp_path)
    report = check_parity(convert_marian(folder))
    assert report.problems == ()
    assert report.natural.num_mismatches == 0
    assert report.natural.num_lines == len(NATURAL_LINES)


def test_two_ids_exchanged_are_unexplained(tmp_path):
    folder = TinyCheckpoint().write(tmp_path)
    tokenizers = convert_marian(folder)
    content = json.loads(tokenizers.source_json)
    ids = read_ids(folder)
    entries = content["model"]["vocab"]
    first, second = ids["▁t"], ids["s"]
    entries[first], entries[second] = entries[second], entries[first]
    broken = dataclasses.replace(tokenizers, source_json=json.dumps(content))
    report = check_parity(broken)
    assert report.natural.count(MismatchKind.UNEXPLAINED) > 0
    assert any("unexplained" in problem for problem in report.problems)


def test_a_wrong_target_piece_is_noticed(tmp_path):
    folder = TinyCheckpoint().write(tmp_path)
    tokenizers = convert_marian(folder)
    broken = dataclasses.replace(tokenizers, target_json=tokenizers.target_json.replace('"▁Sch"', '"▁Schu"'))
    assert check_parity(broken).problems == ("target ids decoded differently: 1",)


def test_equal_scores_are_told_apart_from_faults(tmp_path):
    source = handmade([("▁", -3.3), ("a", -1.1), ("aa", -2.2), ("aaa", -3.3)])
    folder = TinyCheckpoint(source=source).write(tmp_path)
    found = Comparison(convert_marian(folder)).compare(["a" * length for length in range(1, 60)])
    assert found.num_mismatches == found.count(MismatchKind.TIE) > 0


def test_bpe_ranks_have_no_ties_in_runs_of_one_letter(tmp_path):
    source = train(("aaaa aaaaaaa aa aaa", *ENGLISH[:50]), vocab_size=70, model_type="bpe")
    found = Comparison(convert_marian(TinyCheckpoint(source=source).write(tmp_path))).compare(
        ["a" * length for length in range(1, 60)]
    )
    assert found.num_mismatches == 0


def test_the_name_of_a_charsmap_does_not_decide_about_composition(tmp_path):
    composing, unnamed = train(), changed(train(), name="")
    for folder, source in ((tmp_path / "named", composing), (tmp_path / "unnamed", unnamed)):
        converted = convert_marian(TinyCheckpoint(source=source).write(folder))
        assert any("between compositions" in line for line in converted.decisions)
        assert check_parity(converted).problems == ()


def test_a_charsmap_that_does_not_compose_is_left_alone(tmp_path):
    (tmp_path / "rules.tsv").write_text("41\t61\n42\t62\n")  # A to a, B to b
    source = train(ENGLISH, normalization_rule_tsv=str(tmp_path / "rules.tsv"))
    converted = convert_marian(TinyCheckpoint(source=source).write(tmp_path / "checkpoint"))
    assert not any("between compositions" in line for line in converted.decisions)
    found = Comparison(converted).compare(("AB ab", "tie\u0302\u0301ng", "\u1100\u1161\u11a8", *ENGLISH[:50]))
    assert found.num_mismatches == 0
    # Marks behind a replaced letter are lost, which no composition could help; such a line is found and told.
    assert Comparison(converted).compare(("A\u030angstrom",)).count(MismatchKind.NORMALIZATION) == 1


def test_stacked_marks_are_told_apart_from_faults(tmp_path):
    folder = TinyCheckpoint(source=train_knowing("q\u0307\u0323")).write(tmp_path)
    found = Comparison(convert_marian(folder)).compare(["q\u0307\u0323", "the harbour"])
    assert [(mismatch.line, mismatch.kind) for mismatch in found.mismatches] == [(0, MismatchKind.NORMALIZATION)]


@pytest.mark.parametrize(
    ("decomposed", "composed"),
    [
        ("\u1100\u1161\u11a8", "각"),
        ("tie\u0302\u0301ng Vie\u0323\u0302t", "tiếng Việt"),
        ("\uff76\uff9e\uff8a\uff9f", "ガパ"),
    ],
)
def test_decomposed_text_has_the_ids_that_sentencepiece_gives_it(tmp_path, decomposed, composed):
    folder = TinyCheckpoint(source=train_knowing(composed)).write(tmp_path)
    assert read_ids(folder)["<unk>"] not in two_step_ids(folder, decomposed)
    assert Comparison(convert_marian(folder)).compare([decomposed, composed]).num_mismatches == 0


def test_vowel_marks_stay_in_the_order_in_which_they_are_typed(tmp_path):
    pointed = ("\u0645\u0651\u064e\u062f", "\u05e9\u05c1\u05bc\u05b8\u05dc\u05d5\u05b9\u05dd")
    folder = TinyCheckpoint(source=train_knowing(*pointed)).write(tmp_path)
    assert all(read_ids(folder)["<unk>"] not in two_step_ids(folder, text) for text in pointed)
    assert Comparison(convert_marian(folder)).compare(pointed).num_mismatches == 0


def test_generated_lines_are_the_same_every_time():
    assert [*generated_lines(20, seed=3)] == [*generated_lines(20, seed=3)] != [*generated_lines(20, seed=4)]
