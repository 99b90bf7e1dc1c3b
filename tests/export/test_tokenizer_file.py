"""A checkpoint with nothing but a tokenizer.json: its own pipeline, with special tokens out of reach of texts."""

import json

import pytest
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from export.tokenizer.corpus import NATURAL_LINES, stress_lines
from export.tokenizer.fairseq import convert_mbart, convert_nllb
from export.tokenizer.parity import check_parity
from export.tokenizer.sentencepiece_model import read_sentencepiece_model
from export.tokenizer.t5 import convert_t5
from service.errors import ExportError
from tests.export.tiny_multilingual import LINES, SPELLED, source_of, target_of, trained, trained_t5
from tests.export.tiny_tokenizers import write_json

T5_SPECIAL = ("<pad>", "</s>", "<unk>")
NLLB_SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")


def pieces_with_scores(folder, content, special):
    path = folder / "read.model"
    path.write_bytes(content)
    model = read_sentencepiece_model(path)
    path.unlink()
    pieces = [(piece.text, piece.score) for piece in model.pieces if piece.text not in {*NLLB_SPECIAL, *special}]
    return [*((name, 0.0) for name in special), *pieces], model.normalization.charsmap


def unigram_of(folder, content, special):
    entries, charsmap = pieces_with_scores(folder, content, special)
    return Tokenizer(models.Unigram(entries, special.index("<unk>"), byte_fallback=False)), charsmap


def bpe_of(folder, content, special):
    entries, charsmap = pieces_with_scores(folder, content, special)
    ids = {name: token_id for token_id, (name, _) in enumerate(entries)}
    ranked = [name for name, _ in sorted(entries, key=lambda entry: -entry[1]) if name not in special]
    merges = [(name[:cut], name[cut:]) for name in ranked for cut in range(1, len(name))]
    known = [(left, right) for left, right in merges if left in ids and right in ids]
    return Tokenizer(models.BPE(vocab=ids, merges=known, unk_token="<unk>", fuse_unk=True)), charsmap


def write(folder, build, content, special=T5_SPECIAL, more=(), **parts):
    """A folder with the tokenizer.json that transformers would write, and a config.json."""
    tokenizer, charsmap = build(folder, content, special)
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Precompiled(charsmap), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    eos = tokenizer.token_to_id("</s>")
    tokenizer.post_processor = processors.TemplateProcessing("$A </s>", special_tokens=[("</s>", eos)])
    for part, value in parts.items():
        setattr(tokenizer, part, value)
    tokenizer.add_special_tokens([AddedToken(name, special=True) for name in (*special, *more)])
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {"model_type": "t5", "vocab_size": tokenizer.get_vocab_size() + 4, "eos_token_id": eos}
    write_json(folder / "config.json", {**config, "pad_token_id": tokenizer.token_to_id("<pad>")})
    return tokenizer


KINDS = pytest.mark.parametrize(
    ("build", "content"),
    [(unigram_of, trained_t5()), (bpe_of, trained_t5(model_type="bpe"))],
    ids=["unigram", "bpe"],
)


@KINDS
def test_ids_are_those_of_the_file(tmp_path, build, content):
    original = write(tmp_path, build, content)
    source = source_of(convert_t5(tmp_path))
    lines = [line for line in (*LINES, *NATURAL_LINES, *stress_lines()) if not any(name in line for name in T5_SPECIAL)]
    assert source.encode_batch(lines) == [one.ids for one in original.encode_batch(lines, add_special_tokens=False)]


@KINDS
def test_parity_has_no_problems(tmp_path, build, content):
    write(tmp_path, build, content, more=("<extra_id_0>",))
    report = check_parity(convert_t5(tmp_path))
    assert report.problems == ()
    assert report.natural.num_mismatches == report.stress.num_mismatches == 0


@KINDS
@pytest.mark.parametrize("text", SPELLED)
def test_special_tokens_in_a_text_are_ordinary_text(tmp_path, build, content, text):
    original = write(tmp_path, build, content, more=("<extra_id_0>",))
    special = {original.token_to_id(name) for name in ("</s>", "<pad>", "<extra_id_0>")}
    assert not special & set(source_of(convert_t5(tmp_path)).encode(text))


@KINDS
def test_special_tokens_and_rows_without_a_token_leave_no_trace(tmp_path, build, content):
    original = write(tmp_path, build, content, more=("<extra_id_0>",))
    converted = convert_t5(tmp_path)
    ids = original.encode("the bridge", add_special_tokens=False).ids
    front = [original.token_to_id("<pad>"), original.token_to_id("<extra_id_0>")]
    assert target_of(converted).decode([*front, *ids, 1, converted.target_vocabulary_size - 1]) == "the bridge"


def test_the_report_says_what_it_was_compared_with(tmp_path):
    write(tmp_path, bpe_of, trained_t5(model_type="bpe"))
    assert any("compared with itself only" in line for line in convert_t5(tmp_path).decisions)


@pytest.mark.parametrize("convert", [convert_nllb, convert_mbart])
def test_languages_are_added_tokens_of_the_file(tmp_path, convert):
    languages = ("deu_Latn", "eng_Latn") if convert is convert_nllb else ("de_DE", "en_XX")
    original = write(tmp_path, bpe_of, trained(model_type="bpe"), NLLB_SPECIAL, (*languages, "<mask>"))
    converted = convert(tmp_path)
    assert converted.language_ids == {code: original.token_to_id(code) for code in languages}
    assert original.token_to_id(languages[0]) not in source_of(converted).encode(f"{languages[0]} the bridge")


@pytest.mark.parametrize("build", [unigram_of])
def test_language_pieces_of_a_file_have_a_lead_too(tmp_path, build):
    original = write(tmp_path, build, trained_t5(), (*T5_SPECIAL, "<2de>"))
    converted = convert_t5(tmp_path)
    front = [*converted.language_lead_ids, converted.language_ids["de"]]
    together = original.encode("<2de> the bridge", add_special_tokens=False).ids
    assert [*front, *source_of(converted).encode("the bridge")] == together


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"pre_tokenizer": pre_tokenizers.ByteLevel()}, "its pre_tokenizer has ByteLevel"),
        ({"pre_tokenizer": pre_tokenizers.WhitespaceSplit()}, "does not turn spaces into"),
        ({"decoder": decoders.WordPiece()}, "its decoder has WordPiece"),
        ({"normalizer": normalizers.BertNormalizer()}, "its normalizer has BertNormalizer"),
        ({"model": models.WordLevel({"</s>": 0, "<pad>": 1, "<unk>": 2}, "<unk>")}, "its model is WordLevel"),
        ({"model": models.BPE({"</s>": 0, "<pad>": 1, "a": 2}, [], dropout=0.1)}, "its model sets dropout"),
        ({"model": models.BPE({"</s>": 0, "<pad>": 1, "a": 2}, [])}, "it has no unknown token"),
        ({"model": models.Unigram([("</s>", 0.0), ("<unk>", 0.0)], 1, byte_fallback=True)}, "in bytes"),
    ],
)
def test_other_pipelines_are_refused(tmp_path, parts, reason):
    write(tmp_path, unigram_of, trained_t5(), **parts)
    with pytest.raises(ExportError) as caught:
        convert_t5(tmp_path)
    assert any(reason in problem for problem in caught.value.problems)


@pytest.mark.parametrize("content", ["", "{", "[]", "{}"])
def test_other_content_is_refused(tmp_path, content):
    write_json(tmp_path / "config.json", {"model_type": "t5", "vocab_size": 9})
    (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(ExportError) as caught:
        convert_t5(tmp_path)
    assert any(problem.startswith("tokenizer.json") for problem in caught.value.problems)


def test_special_tokens_that_are_not_there_are_named(tmp_path):
    write(tmp_path, unigram_of, trained_t5())
    write_json(tmp_path / "tokenizer_config.json", {"eos_token": "<eos>"})
    with pytest.raises(ExportError) as caught:
        convert_t5(tmp_path)
    assert any("special pieces missing: <eos>" in problem for problem in caught.value.problems)


def test_files_of_older_versions_of_the_library_are_understood(tmp_path):
    original = write(tmp_path, bpe_of, trained_t5(model_type="bpe"))
    content = json.loads((tmp_path / "tokenizer.json").read_text())
    content["pre_tokenizer"] = {"type": "Metaspace", "replacement": "▁", "str_rep": "▁", "add_prefix_space": True}
    content["model"]["merges"] = [" ".join(pair) for pair in content["model"]["merges"]]
    del content["model"]["type"]
    write_json(tmp_path / "tokenizer.json", content)
    source = source_of(convert_t5(tmp_path))
    assert source.encode(LINES[0]) == original.encode(LINES[0], add_special_tokens=False).ids
