"""Converted MarianMT tokenizers give the ids and texts of the checkpoint's own files."""

import pytest
from sentencepiece import SentencePieceProcessor

from export.tokenizer.corpus import NATURAL_LINES
from export.tokenizer.marian import convert_marian
from service.errors import ExportError
from service.package.tokenizer import SourceTokenizer, TargetTokenizer
from tests.export.tiny_tokenizers import (
    ENGLISH,
    GERMAN,
    TinyCheckpoint,
    handmade,
    pieces_of,
    read_ids,
    train,
    two_step_ids,
    write_json,
)

WHITE_SPACE = (
    "",
    " ",
    " \t\n\u3000",
    "  the   bridge  ",
    "the\tbridge\nagain\r\nand",
    "the\u00a0old\u202fboat\u3000today",
    "the\u2028bridge\u2029again\x85today",
    "zero\u200bwidth\ufeff",
    "\u2581",
    "the \u2581",
    "\u2581\u2581 the\u2581bridge",
)


@pytest.fixture
def checkpoint(tmp_path):
    """Shuffled ids, two pieces missing from the vocabulary, a language token and a quotation mark that is none."""
    return TinyCheckpoint(missing=("▁t", "e"), extra=(">>deu<<", ">>")).write(tmp_path)


def source_of(tokenizers):
    return SourceTokenizer.from_json(
        tokenizers.source_json, tokenizers.source_vocabulary_size, tokenizers.source_special.unk
    )


def target_of(tokenizers):
    return TargetTokenizer.from_json(tokenizers.target_json)


@pytest.mark.parametrize("lines", [ENGLISH, NATURAL_LINES, WHITE_SPACE], ids=["english", "natural", "white space"])
def test_source_ids_are_those_of_the_vocabulary_file(checkpoint, lines):
    assert source_of(convert_marian(checkpoint)).encode_batch(lines) == [two_step_ids(checkpoint, x) for x in lines]


def test_missing_pieces_become_unknown_one_by_one_and_leave_their_neighbours_alone(checkpoint):
    source = source_of(convert_marian(checkpoint))
    text = "the the captain sees the harbour"
    pieces = SentencePieceProcessor(model_file=str(checkpoint / "source.spm")).encode(text, out_type=str)
    ids = read_ids(checkpoint)
    unknown = {"▁t", "e"}
    assert pieces.count("▁t") == pieces.count("h") == 3
    expected = ["<unk>" if piece in unknown else piece for piece in pieces]
    assert source.pieces(source.encode(text)) == expected
    assert [ids[piece] for piece in expected] == source.encode(text)


def test_special_ids_come_from_the_vocabulary_file(checkpoint):
    ids = read_ids(checkpoint)
    special = convert_marian(checkpoint).source_special
    assert (special.eos, special.unk, special.pad) == (ids["</s>"], ids["<unk>"], ids["<pad>"])
    assert 0 not in (special.eos, special.pad)


@pytest.mark.parametrize(
    "text",
    ["</s>", "the </s> bridge", "<unk>", "<pad><pad>", "<s>", ">>deu<<", ">>deu<< the bridge", "see >>deu<< again"],
)
def test_special_and_language_tokens_in_a_text_are_ordinary_text(checkpoint, text):
    tokenizers = convert_marian(checkpoint)
    ids = read_ids(checkpoint)
    encoded = source_of(tokenizers).encode(text)
    assert encoded == two_step_ids(checkpoint, text)
    assert not {ids["</s>"], ids["<pad>"], ids[">>deu<<"]} & set(encoded)


def test_an_unknown_stretch_spelled_like_a_special_token_stays_unknown(tmp_path):
    source = handmade([("▁", -1.0), ("a", -2.0)], remove_extra_whitespaces=True)
    folder = TinyCheckpoint(source=source, extra=(">>b<<", "☃☃", "☃")).write(tmp_path)
    ids = read_ids(folder)
    texts = ["a</s>", "a>>b<<", "a<pad>a", "☃☃", "☃", "☃☃☃"]
    unk, a, space = ids["<unk>"], ids["a"], ids["▁"]
    assert source_of(convert_marian(folder)).encode_batch(texts)[:2] == [[space, a, unk], [space, a, unk]]
    # "<pad>" holds an "a", so it is two unknown stretches; snow men are pieces only the vocabulary file knows.
    assert source_of(convert_marian(folder)).encode_batch(texts)[2:] == [
        [space, a, unk, a, unk, a],
        [space, ids["☃☃"]],
        [space, ids["☃"]],
        [space, unk],
    ]


def test_language_tokens_are_the_vocabulary_entries_of_that_shape(tmp_path):
    folder = TinyCheckpoint(extra=(">>deu<<", ">>cmn_Hans<<", ">>", "<<", ">><<", "a>>b<<")).write(tmp_path)
    ids = read_ids(folder)
    languages = {token[2:-2]: ids[token] for token in (">>deu<<", ">>cmn_Hans<<")}
    assert convert_marian(folder).language_ids == languages


def test_a_language_token_among_the_sentencepiece_pieces_is_not_found_in_texts_either(tmp_path):
    source = train(user_defined_symbols=">>deu<<")
    folder = TinyCheckpoint(source=source).write(tmp_path)
    assert ">>deu<<" in pieces_of(source)
    assert read_ids(folder)[">>deu<<"] not in source_of(convert_marian(folder)).encode("say >>deu<< today")


def test_rows_without_a_token_shift_nothing(tmp_path):
    folder = TinyCheckpoint(missing=("▁t",), spare_rows=5).write(tmp_path)
    tokenizers = convert_marian(folder)
    assert tokenizers.source_vocabulary_size == tokenizers.target_vocabulary_size == len(read_ids(folder)) + 5
    assert source_of(tokenizers).encode_batch(ENGLISH) == [two_step_ids(folder, line) for line in ENGLISH]
    spare = tokenizers.source_vocabulary_size - 1
    assert source_of(tokenizers).pieces([spare]) == target_of(tokenizers).pieces([spare]) == [""]
    assert target_of(tokenizers).decode([spare]) == ""


def test_separate_vocabularies_keep_their_own_ids(tmp_path):
    folder = TinyCheckpoint(separate=True).write(tmp_path)
    tokenizers = convert_marian(folder)
    source_ids, target_ids = read_ids(folder), read_ids(folder, "target_vocab.json")
    assert tokenizers.source_special.eos == source_ids["</s>"]
    assert tokenizers.target_special.eos == target_ids["</s>"] != source_ids["</s>"]
    assert source_of(tokenizers).encode(ENGLISH[3]) == two_step_ids(folder, ENGLISH[3])
    target = target_of(tokenizers)
    assert [target.decode(two_step_ids(folder, line, "target", "target_vocab.json")) for line in GERMAN] == [*GERMAN]


def test_target_ids_become_the_text_they_were_made_from(checkpoint):
    target = target_of(convert_marian(checkpoint))
    known = [line for line in GERMAN if read_ids(checkpoint)["<unk>"] not in two_step_ids(checkpoint, line, "target")]
    assert known
    assert [target.decode(two_step_ids(checkpoint, line, "target")) for line in known] == known


def test_special_ids_leave_no_trace_in_the_text(checkpoint):
    target = target_of(convert_marian(checkpoint))
    ids = read_ids(checkpoint)
    start, end = ids["▁Sch"], ids["t"]
    for name in ("</s>", "<unk>", "<pad>"):
        assert target.decode([ids[name], start, ids[name], end, ids[name]]) == "Scht"
    assert target.decode([start, 10**6, end]) == "Scht"
    assert target.decode([]) == target.decode([ids["▁"]]) == ""


def test_conversion_is_repeatable(checkpoint):
    assert convert_marian(checkpoint) == convert_marian(checkpoint)


def test_spaces_before_punctuation_are_kept_and_the_decision_is_told(tmp_path):
    folder = TinyCheckpoint(options={"clean_up_tokenization_spaces": True}).write(tmp_path)
    tokenizers = convert_marian(folder)
    ids = read_ids(folder)
    assert target_of(tokenizers).decode([ids["▁Sch"], ids["▁"], ids["."]]) == "Sch ."
    assert any("clean_up_tokenization_spaces" in line for line in tokenizers.decisions)


def test_special_pieces_may_have_other_names(tmp_path):
    folder = TinyCheckpoint(extra=("<eos>",), options={"eos_token": {"content": "<eos>"}}).write(tmp_path)
    assert convert_marian(folder).source_special.eos == read_ids(folder)["<eos>"]


def test_every_problem_is_reported_at_once(tmp_path):
    folder = TinyCheckpoint().write(tmp_path)
    (folder / "target.spm").unlink()
    (folder / "source.spm").write_bytes(train(model_type="char"))
    write_json(folder / "vocab.json", {"a": 0, "b": 0, "c": 10**6, "d": -1, "e": True, "<unk>": 1, "</s>": 2})
    with pytest.raises(ExportError) as caught:
        convert_marian(folder)
    text = "\n".join(caught.value.problems)
    for part in (
        "target.spm cannot be read",
        "source.spm: its type is CHAR",
        "without a valid id: d, e",
        "used twice: 0",
        "beyond the",
        "missing: <pad>",
    ):
        assert part in text
    assert len(caught.value.problems) == 6


@pytest.mark.parametrize("name", ["vocab.json", "config.json", "target_vocab.json"])
@pytest.mark.parametrize("content", [None, "[]", "{", "{}"])
def test_a_missing_or_malformed_file_is_named(tmp_path, name, content):
    folder = TinyCheckpoint(separate=True).write(tmp_path)
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_text(content)
    with pytest.raises(ExportError) as caught:
        convert_marian(folder)
    assert any(problem.startswith(name) for problem in caught.value.problems)
