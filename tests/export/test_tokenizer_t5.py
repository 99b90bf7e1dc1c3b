"""Converted T5, mT5 and MADLAD tokenizers keep SentencePiece's ids; sentinels and language pieces are never text."""

import pytest

from export.tokenizer.corpus import NATURAL_LINES
from export.tokenizer.parity import check_parity
from export.tokenizer.t5 import convert_t5
from service.errors import ExportError
from tests.export.tiny_multilingual import (
    LINES,
    SPELLED,
    TinyT5Tokenizer,
    processor_of,
    source_of,
    target_of,
    tiny_madlad,
    trained,
    trained_t5,
    with_pieces,
)
from tests.export.tiny_tokenizers import pieces_of

CODES = ("de", "en", "zh_Hant")


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
@pytest.mark.parametrize("lines", [LINES, NATURAL_LINES, SPELLED], ids=["trained on", "natural", "spelled tokens"])
def test_ids_are_those_of_sentencepiece(tmp_path, kind, lines):
    tiny = TinyT5Tokenizer(trained_t5(model_type=kind))
    source = source_of(convert_t5(tiny.write(tmp_path)))
    assert source.encode_batch(lines) == processor_of(tiny.model).encode(list(lines))


@pytest.mark.parametrize("tiny", [TinyT5Tokenizer(), tiny_madlad(*CODES)], ids=["t5", "madlad"])
def test_parity_has_no_problems(tmp_path, tiny):
    report = check_parity(convert_t5(tiny.write(tmp_path)))
    assert report.problems == ()
    assert report.natural.num_mismatches == 0


def test_special_ids_are_those_of_the_configuration(tmp_path):
    special = convert_t5(TinyT5Tokenizer().write(tmp_path / "t5")).target_special
    assert (special.pad, special.eos, special.unk) == (0, 1, 2)
    special = convert_t5(tiny_madlad("de").write(tmp_path / "madlad")).target_special
    assert (special.unk, special.pad, special.eos) == (0, 1, 2)


def test_sentinels_follow_the_pieces_in_falling_order(tmp_path):
    tiny = TinyT5Tokenizer()
    converted = convert_t5(tiny.write(tmp_path))
    first = len(pieces_of(tiny.model))
    target = target_of(converted)
    assert target.pieces([first, first + 4, first + 5]) == ["<extra_id_4>", "<extra_id_0>", ""]
    assert target.decode([first, *processor_of(tiny.model).encode("the bridge"), first + 4, 1]) == "the bridge"


def test_sentinels_among_the_pieces_are_not_found_in_texts(tmp_path):
    content = with_pieces(trained_t5(), "\u2581<extra_id_1>", "<extra_id_0>", at=10**6, kind=4)
    converted = convert_t5(TinyT5Tokenizer(content, {"extra_ids": 0}).write(tmp_path))
    sentinels = {len(pieces_of(content)) - 1, len(pieces_of(content)) - 2}
    assert sentinels <= set(processor_of(content).encode("see <extra_id_1> and<extra_id_0>"))
    assert not sentinels & set(source_of(converted).encode("see <extra_id_1> and<extra_id_0>"))
    assert target_of(converted).decode(sorted(sentinels)) == ""
    assert check_parity(converted).problems == ()


def test_a_character_without_a_piece_is_unknown(tmp_path):
    source = source_of(convert_t5(TinyT5Tokenizer().write(tmp_path)))
    assert source.encode("the {bridge}")[-1] == 2
    assert source.encode("the {bridge}").count(2) == 2


@pytest.mark.parametrize(
    ("config", "part"),
    [
        ({"eos_token_id": 7}, "which occurs in texts"),
        ({"eos_token_id": 10**6}, "which no token has"),
        ({"pad_token_id": "<pad>"}, "pad_token_id is not a token id"),
        ({"vocab_size": 20}, "beyond the 20 rows"),
    ],
)
def test_a_configuration_that_does_not_fit_the_pieces_is_refused(tmp_path, config, part):
    with pytest.raises(ExportError) as caught:
        convert_t5(TinyT5Tokenizer(config=config).write(tmp_path))
    assert any(part in problem for problem in caught.value.problems)


def test_the_number_of_sentinels_must_be_a_number(tmp_path):
    with pytest.raises(ExportError) as caught:
        convert_t5(TinyT5Tokenizer(options={"extra_ids": "many"}).write(tmp_path))
    assert any("extra_ids is 'many'" in problem for problem in caught.value.problems)


def test_language_pieces_become_languages(tmp_path):
    tiny = tiny_madlad(*CODES, "translate", "zxx_xx_noise")
    converted = convert_t5(tiny.write(tmp_path))
    pieces = pieces_of(tiny.model)
    assert converted.language_ids == {code: pieces.index(f"<2{code}>") for code in CODES}


@pytest.mark.parametrize("add_dummy_prefix", [True, False], ids=["a space in front", "no space in front"])
@pytest.mark.parametrize("lines", [LINES[::7], NATURAL_LINES], ids=["trained on", "natural"])
def test_a_language_id_and_a_text_are_what_sentencepiece_makes_of_both(tmp_path, add_dummy_prefix, lines):
    tiny = tiny_madlad(*CODES, add_dummy_prefix=add_dummy_prefix)
    converted = convert_t5(tiny.write(tmp_path))
    source = source_of(converted)
    front = [*converted.language_lead_ids, converted.language_ids["zh_Hant"]]
    expected = processor_of(tiny.model).encode([f"<2zh_Hant> {line}" for line in lines])
    assert [front + ids for ids in source.encode_batch(lines)] == expected
    assert len(converted.language_lead_ids) == add_dummy_prefix


# SentencePiece's BPE only finds language pieces in a text when they are user-defined (kind 4).
@pytest.mark.parametrize(("model_type", "kind"), [("unigram", 1), ("unigram", 4), ("bpe", 4)])
def test_a_text_cannot_ask_for_a_language(tmp_path, model_type, kind):
    model = trained(vocab_size=420, byte_fallback=True, model_type=model_type)
    tiny = tiny_madlad("de", model=model, kind=kind)
    converted = convert_t5(tiny.write(tmp_path))
    language = converted.language_ids["de"]
    source = source_of(converted)
    for text in ("<2de>", "<2de> the bridge", "see <2de> the bridge", "<2de><2de>"):
        assert language in processor_of(tiny.model).encode(text)
        assert language not in source.encode(text)
        assert target_of(converted).decode(source.encode(text)) == text
    assert check_parity(converted).problems == ()


def test_a_text_that_changes_behind_a_language_piece_is_refused(tmp_path):
    # A piece that reaches over the space behind a language piece.
    content = with_pieces(trained(), "<2de>", "<2de>▁The")
    with pytest.raises(ExportError, match="not cut like the text alone"):
        convert_t5(TinyT5Tokenizer(content, {"extra_ids": 0}, {"eos_token_id": 2, "pad_token_id": 1}).write(tmp_path))


def test_newlines_of_a_madlad_model_are_pieces(tmp_path):
    tiny = tiny_madlad("de")
    source = source_of(convert_t5(tiny.write(tmp_path)))
    assert source.encode("the\nbridge") == processor_of(tiny.model).encode("the\nbridge")
    assert pieces_of(tiny.model).index("\n") in source.encode("the\nbridge")


def test_spaces_that_the_model_keeps_are_kept(tmp_path):
    tiny = tiny_madlad("de")
    source, texts = source_of(convert_t5(tiny.write(tmp_path))), ["the   bridge", "  the", "the  ", "   ", ""]
    assert source.encode_batch(texts) == processor_of(tiny.model).encode(texts)


def test_unknown_characters_are_spelled_in_bytes_and_joined_again(tmp_path):
    tiny = tiny_madlad("de")
    converted = convert_t5(tiny.write(tmp_path))
    ids = source_of(converted).encode("the ☃☃ bridge 漢字")
    assert ids == processor_of(tiny.model).encode("the ☃☃ bridge 漢字")
    assert converted.source_special.unk not in ids
    assert target_of(converted).decode(ids) == "the ☃☃ bridge 漢字"
