"""Converted NLLB and mBART tokenizers move SentencePiece's ids as fairseq does, and read languages off the files."""

import pytest

from export.tokenizer.corpus import NATURAL_LINES
from export.tokenizer.fairseq import convert_mbart, convert_nllb
from export.tokenizer.language_lists import MBART25, MBART50
from export.tokenizer.parity import check_parity
from service.errors import ExportError
from tests.export.tiny_multilingual import (
    FAIRSEQ_SPECIAL,
    LINES,
    NLLB_LANGUAGES,
    SPELLED,
    TinyFairseq,
    changed,
    processor_of,
    source_of,
    target_of,
    trained,
    with_pieces,
)
from tests.export.tiny_tokenizers import pieces_of, train, write_json

KINDS = ("bpe", "unigram")


def moved(content, text):
    """SentencePiece's ids, one higher; its unknown id is 0, which becomes 3."""
    return [token_id + 1 if token_id else 3 for token_id in processor_of(content).encode(text)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lines", [LINES, NATURAL_LINES, SPELLED], ids=["trained on", "natural", "spelled tokens"])
def test_ids_are_one_more_than_those_of_sentencepiece(tmp_path, kind, lines):
    tiny = TinyFairseq(trained(model_type=kind))
    source = source_of(convert_nllb(tiny.write(tmp_path)))
    assert source.encode_batch(lines) == [moved(tiny.model, line) for line in lines]


@pytest.mark.parametrize("kind", KINDS)
def test_parity_has_no_problems(tmp_path, kind):
    report = check_parity(convert_nllb(TinyFairseq(trained(model_type=kind)).write(tmp_path)))
    assert report.problems == ()
    assert report.natural.num_mismatches == 0


def test_special_ids_are_those_of_fairseq(tmp_path):
    special = convert_nllb(TinyFairseq().write(tmp_path)).target_special
    assert (special.pad, special.eos, special.unk) == (1, 2, 3)


def test_languages_have_the_rows_after_the_pieces_in_the_order_of_the_list(tmp_path):
    tiny = TinyFairseq()
    converted = convert_nllb(tiny.write(tmp_path))
    first = len(pieces_of(tiny.model)) + 1
    assert converted.language_ids == {code: first + place for place, code in enumerate(NLLB_LANGUAGES)}
    assert target_of(converted).pieces([first + len(NLLB_LANGUAGES)]) == ["<mask>"]


def test_ids_in_the_checkpoint_come_before_places_in_the_list(tmp_path):
    tiny = TinyFairseq()
    first = tiny.first_language_id
    tiny.added = {**FAIRSEQ_SPECIAL, "tyv_Cyrl": first + 5, "<mask>": first + 4, "ltg": first + 7}
    tiny.num_rows = first + 8
    converted = convert_nllb(tiny.write(tmp_path))
    assert converted.language_ids["tyv_Cyrl"] == first + 5
    assert converted.language_ids["zho_Hans"] == first + 3
    assert converted.language_ids["ltg"] == first + 7
    assert target_of(converted).pieces([first + 4, first + 5, first + 6]) == ["<mask>", "tyv_Cyrl", ""]


def test_two_tokens_in_one_row_are_refused(tmp_path):
    tiny = TinyFairseq()
    tiny.added = {"tyv_Cyrl": tiny.first_language_id + 1}
    with pytest.raises(ExportError) as caught:
        convert_nllb(tiny.write(tmp_path))
    assert any("used twice" in problem for problem in caught.value.problems)


def test_files_that_give_a_token_different_ids_are_refused(tmp_path):
    tiny = TinyFairseq()
    first = tiny.first_language_id
    tiny.added = {"ace_Arab": first}
    folder = tiny.write(tmp_path)
    write_json(folder / "added_tokens.json", {"ace_Arab": first + 2})
    with pytest.raises(ExportError) as caught:
        convert_nllb(folder)
    assert any(f"ace_Arab has the id {first + 2}" in problem for problem in caught.value.problems)


def test_added_tokens_that_are_ordinary_text_are_refused(tmp_path):
    tiny = TinyFairseq()
    folder = tiny.write(tmp_path)
    token = {"content": "harbour master", "special": False}
    write_json(folder / "tokenizer_config.json", {"added_tokens_decoder": {str(tiny.first_language_id + 5): token}})
    with pytest.raises(ExportError) as caught:
        convert_nllb(folder)
    assert any("harbour master" in problem for problem in caught.value.problems)


def test_nllb_without_a_list_of_languages_is_refused(tmp_path):
    with pytest.raises(ExportError) as caught:
        convert_nllb(TinyFairseq(languages=None).write(tmp_path))
    assert any("no file lists the languages" in problem for problem in caught.value.problems)


@pytest.mark.parametrize("published", [MBART25, MBART50], ids=["mbart-25", "mbart-50"])
def test_an_mbart_network_without_a_list_has_the_published_one_of_its_size(tmp_path, published):
    tiny = TinyFairseq(trained(), "mbart", languages=None)
    tiny.num_rows = tiny.first_language_id + len(published) + 1
    converted = convert_mbart(tiny.write(tmp_path))
    assert list(converted.language_ids) == list(published)
    assert converted.language_ids["cs_CZ"] == tiny.first_language_id + 1


def test_an_mbart_network_of_another_size_has_no_languages(tmp_path):
    converted = convert_mbart(TinyFairseq(trained(), "mbart", languages=None).write(tmp_path))
    assert converted.language_ids == {}


def test_a_model_in_the_order_of_the_network_keeps_its_ids(tmp_path):
    content = trained(bos_id=0, pad_id=1, eos_id=2, unk_id=3, model_type="bpe")
    content = with_pieces(content, "<mask>", at=10**6)
    folder = TinyFairseq(content, "mbart", languages=None, num_rows=len(pieces_of(content))).write(tmp_path)
    converted = convert_mbart(folder)
    source, processor = source_of(converted), processor_of(content)
    assert source.encode_batch(LINES) == [processor.encode(line) for line in LINES]
    mask = len(pieces_of(content)) - 1
    assert mask not in source.encode("the <mask> bridge")
    assert target_of(converted).decode([mask]) == ""


def test_a_model_in_an_order_nobody_knows_is_refused(tmp_path):
    content = trained(pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
    with pytest.raises(ExportError) as caught:
        convert_nllb(TinyFairseq(content).write(tmp_path))
    assert any("begins with <pad>, </s>, <unk>" in problem for problem in caught.value.problems)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (with_pieces(trained(model_type="bpe"), "left▁over", at=10**6, kind=5), "unused pieces"),
        (with_pieces(trained(model_type="bpe"), "▁<br>", at=10**6, kind=4), "user-defined pieces with spaces"),
        (trained(model_type="word", vocab_size=60), "its type is WORD"),
        (trained(treat_whitespace_as_suffix=True), "spaces at the end of pieces"),
        (changed(trained(), escape_whitespaces=False), "plain spaces inside pieces"),
    ],
)
def test_models_that_cannot_be_converted_exactly_are_refused(tmp_path, content, reason):
    with pytest.raises(ExportError) as caught:
        convert_nllb(TinyFairseq(content).write(tmp_path))
    assert any(
        problem.startswith("sentencepiece.bpe.model: ") and reason in problem for problem in caught.value.problems
    )


def test_languages_and_special_tokens_leave_no_trace_in_a_translation(tmp_path):
    tiny = TinyFairseq()
    converted = convert_nllb(tiny.write(tmp_path))
    german = converted.language_ids["deu_Latn"]
    bridge = moved(tiny.model, "the bridge")
    assert target_of(converted).decode([2, german, *bridge, 2, converted.target_vocabulary_size - 1]) == "the bridge"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", ["", " ", "   ", "\t\n", "\u3000"])
def test_a_text_of_nothing_but_spaces_has_no_ids(tmp_path, kind, text):
    assert source_of(convert_nllb(TinyFairseq(trained(model_type=kind)).write(tmp_path))).encode(text) == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", ["{the} [bridge]\t{}", "the\tbridge\nagain", "the\u3000bridge  today", "▁the▁"])
def test_white_space_and_braces_are_those_of_sentencepiece(tmp_path, kind, text):
    tiny = TinyFairseq(trained(model_type=kind))
    assert source_of(convert_nllb(tiny.write(tmp_path))).encode(text) == moved(tiny.model, text)


@pytest.mark.parametrize("decomposed", ["\u1100\u1161\u11a8", "tie\u0302\u0301ng Vie\u0323\u0302t", "\uff76\uff9e"])
def test_decomposed_text_has_the_ids_that_sentencepiece_gives_it(tmp_path, decomposed):
    content = train(("각 tiếng Việt ガ", *LINES[:100]), vocab_size=120, model_type="bpe", character_coverage=1.0)
    source = source_of(convert_nllb(TinyFairseq(content).write(tmp_path)))
    assert 3 not in moved(content, decomposed)
    assert source.encode(decomposed) == moved(content, decomposed)


def test_converting_twice_gives_the_same_files(tmp_path):
    folder = TinyFairseq().write(tmp_path)
    assert convert_nllb(folder) == convert_nllb(folder)
