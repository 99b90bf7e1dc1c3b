"""Parity with SentencePiece over the kinds of models there are, and what the comparison makes of differences."""

import dataclasses
import json

import pytest

from export.tokenizer.corpus import NATURAL_LINES, generated_lines, stress_lines
from export.tokenizer.marian import convert_marian
from export.tokenizer.parity import MismatchKind, check_parity, compare
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
}


def train_knowing(*lines):
    """A model that has every character of the lines as a piece."""
    return train((*lines, *ENGLISH[:100]), vocab_size=100, character_coverage=1.0)


@pytest.mark.parametrize("kind", KINDS)
def test_only_explained_lines_differ(tmp_path, kind):
    folder = TinyCheckpoint(source=train(**KINDS[kind]), missing=("▁t", "s")).write(tmp_path)
    found = compare(folder, convert_marian(folder), LINES)
    assert found.num_lines == len(LINES)
    assert found.count(MismatchKind.UNEXPLAINED) == 0
    assert found.num_mismatches <= 0.02 * len(LINES)
    assert found.num_decoding_mismatches == 0


@pytest.mark.parametrize("kind", ["byte fallback", "identity, byte fallback, kept spaces"])
def test_bytes_of_a_target_model_are_joined_into_characters(tmp_path, kind):
    folder = TinyCheckpoint(target=train(**KINDS[kind])).write(tmp_path)
    assert compare(folder, convert_marian(folder), NATURAL_LINES).num_decoding_mismatches == 0


def test_a_good_conversion_has_no_problems(tmp_path):
    folder = TinyCheckpoint(missing=("▁t", "s"), extra=(">>deu<<",), spare_rows=3).write(tmp_path)
    report = check_parity(folder, convert_marian(folder))
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
    report = check_parity(folder, broken)
    assert report.natural.count(MismatchKind.UNEXPLAINED) > 0
    assert any("unexplained" in problem for problem in report.problems)


def test_a_wrong_target_piece_is_noticed(tmp_path):
    folder = TinyCheckpoint().write(tmp_path)
    tokenizers = convert_marian(folder)
    broken = dataclasses.replace(tokenizers, target_json=tokenizers.target_json.replace('"▁Sch"', '"▁Schu"'))
    assert check_parity(folder, broken).problems == ("target ids decoded differently: 1",)


def test_equal_scores_are_told_apart_from_faults(tmp_path):
    source = handmade([("▁", -3.3), ("a", -1.1), ("aa", -2.2), ("aaa", -3.3)])
    folder = TinyCheckpoint(source=source).write(tmp_path)
    found = compare(folder, convert_marian(folder), ["a" * length for length in range(1, 60)])
    assert found.num_mismatches == found.count(MismatchKind.TIE) > 0


def test_stacked_marks_are_told_apart_from_faults(tmp_path):
    folder = TinyCheckpoint(source=train_knowing("q\u0307\u0323")).write(tmp_path)
    found = compare(folder, convert_marian(folder), ["q\u0307\u0323", "the harbour"])
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
    assert compare(folder, convert_marian(folder), [decomposed, composed]).num_mismatches == 0


def test_vowel_marks_stay_in_the_order_in_which_they_are_typed(tmp_path):
    pointed = ("\u0645\u0651\u064e\u062f", "\u05e9\u05c1\u05bc\u05b8\u05dc\u05d5\u05b9\u05dd")
    folder = TinyCheckpoint(source=train_knowing(*pointed)).write(tmp_path)
    assert all(read_ids(folder)["<unk>"] not in two_step_ids(folder, text) for text in pointed)
    assert compare(folder, convert_marian(folder), pointed).num_mismatches == 0


def test_generated_lines_are_the_same_every_time():
    assert [*generated_lines(20, seed=3)] == [*generated_lines(20, seed=3)] != [*generated_lines(20, seed=4)]
