"""Converted M2M100 tokenizers give the ids of the checkpoint's vocabulary file, and languages as numbers only."""

import json

import pytest

from export.tokenizer.corpus import NATURAL_LINES
from export.tokenizer.language_lists import M2M100, WMT21
from export.tokenizer.m2m100 import convert_m2m100
from export.tokenizer.parity import check_parity
from service.errors import ExportError
from tests.export.tiny_multilingual import LINES, SPELLED, TinyM2M100, processor_of, source_of, target_of, trained
from tests.export.tiny_tokenizers import write_json

KINDS = ("bpe", "unigram")


def looked_up(tiny, text):
    """Pieces by SentencePiece, ids by the vocabulary file."""
    ids = tiny.vocabulary()
    return [ids.get(piece, ids["<unk>"]) for piece in processor_of(tiny.model).encode(text, out_type=str)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lines", [LINES, NATURAL_LINES, SPELLED], ids=["trained on", "natural", "spelled tokens"])
def test_ids_are_those_of_the_vocabulary_file(tmp_path, kind, lines):
    tiny = TinyM2M100(trained(model_type=kind), missing=("▁t", "e"))
    source = source_of(convert_m2m100(tiny.write(tmp_path)))
    assert source.encode_batch(lines) == [looked_up(tiny, line) for line in lines]


@pytest.mark.parametrize("kind", KINDS)
def test_pieces_the_vocabulary_lacks_are_unknown_one_by_one_and_counted(tmp_path, kind):
    model = trained(model_type=kind)
    first, *rest = processor_of(model).encode("the", out_type=str)
    converted = convert_m2m100(TinyM2M100(model, missing=(first,)).write(tmp_path))
    source = source_of(converted)
    assert source.pieces(source.encode("the the the")) == ["<unk>", *rest] * 3
    assert any(line.endswith("read as unknown: 1") for line in converted.decisions)


@pytest.mark.parametrize("kind", KINDS)
def test_an_unknown_stretch_is_looked_up_in_the_vocabulary_as_a_whole(tmp_path, kind):
    tiny = TinyM2M100(trained(model_type=kind), extra=("☃☃", "☃"))
    source = source_of(convert_m2m100(tiny.write(tmp_path)))
    texts = ["☃", "the ☃☃", "☃☃☃", "a☃☃ b☃"]
    assert source.encode_batch(texts) == [looked_up(tiny, text) for text in texts]
    assert tiny.vocabulary()["☃☃"] in source.encode("the ☃☃")


def test_languages_follow_the_vocabulary_in_the_published_order(tmp_path):
    tiny = TinyM2M100()
    converted = convert_m2m100(tiny.write(tmp_path))
    first = len(tiny.vocabulary())
    assert converted.language_ids == {code: first + place for place, code in enumerate(M2M100)}


def test_the_networks_of_wmt_2021_have_a_list_of_their_own(tmp_path):
    tiny = TinyM2M100(num_languages=len(WMT21), options={"language_codes": "wmt21"})
    converted = convert_m2m100(tiny.write(tmp_path))
    assert converted.language_ids["ha"] == len(tiny.vocabulary()) + 1
    assert len(converted.language_ids) == len(WMT21)


def test_a_fine_tuned_network_may_have_more_languages(tmp_path):
    tiny = TinyM2M100()
    tiny.added = {"__quy__": len(tiny.vocabulary()) + len(M2M100)}
    converted = convert_m2m100(tiny.write(tmp_path))
    assert converted.language_ids["quy"] == tiny.added["__quy__"]
    assert len(converted.language_ids) == len(M2M100) + 1


def test_a_language_in_another_row_than_its_place_gives_it_is_refused(tmp_path):
    tiny = TinyM2M100()
    tiny.added = {"__de__": len(tiny.vocabulary()) + 3}
    with pytest.raises(ExportError) as caught:
        convert_m2m100(tiny.write(tmp_path))
    assert any("__de__" in problem for problem in caught.value.problems)


def test_special_ids_go_by_value_and_not_by_their_place_in_the_file(tmp_path):
    folder = TinyM2M100().write(tmp_path)
    assert list(json.loads((folder / "vocab.json").read_text()))[-1] == "<unk>"
    special = convert_m2m100(folder).source_special
    assert (special.pad, special.eos, special.unk) == (1, 2, 3)


def test_rows_without_a_token_leave_no_trace_in_a_translation(tmp_path):
    tiny = TinyM2M100()
    converted = convert_m2m100(tiny.write(tmp_path))
    first = converted.target_vocabulary_size - tiny.spare_rows
    ids = tiny.vocabulary()
    assert target_of(converted).decode([first - 1, ids["▁the"], *range(first, first + 20), 2]) == "the"
    assert source_of(converted).pieces([first]) == [""]


@pytest.mark.parametrize("kind", KINDS)
def test_parity_has_no_problems(tmp_path, kind):
    tiny = TinyM2M100(trained(model_type=kind), missing=("▁t",))
    report = check_parity(convert_m2m100(tiny.write(tmp_path)))
    assert report.problems == ()
    assert report.natural.num_mismatches == 0


def test_every_problem_is_reported_at_once(tmp_path):
    folder = TinyM2M100(options={"language_codes": "klingon"}).write(tmp_path)
    (folder / "sentencepiece.bpe.model").write_bytes(b"no model")
    write_json(folder / "vocab.json", {"a": 0, "b": 0, "<unk>": -1})
    with pytest.raises(ExportError) as caught:
        convert_m2m100(folder)
    text = "\n".join(caught.value.problems)
    for part in ("ids used twice: 0", "without a valid id: <unk>", "missing: </s>", "is not a SentencePiece model"):
        assert part in text


def test_a_list_nobody_knows_is_refused(tmp_path):
    with pytest.raises(ExportError) as caught:
        convert_m2m100(TinyM2M100(options={"language_codes": "klingon"}).write(tmp_path))
    assert any("language_codes is 'klingon'" in problem for problem in caught.value.problems)
