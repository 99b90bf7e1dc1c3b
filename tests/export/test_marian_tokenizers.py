"""Tokenizers of Marian's own files cut texts as SentencePiece does and give the ids that Marian gives."""

import numpy as np
import pytest

from export.checkpoint import Checkpoint
from export.marian.tokenizers import convert_marian_native, read_marian_native, unspeakable_ids
from export.tokenizer.parity import check_parity
from service.errors import ExportError
from service.package.tokenizer import SourceTokenizer, TargetTokenizer
from tests.export.marian_models import GOLDEN, cases, changed
from tests.export.tiny_tokenizers import train

NAMES = ("opus", "student", "separate", "odd")


def converted(folder):
    return convert_marian_native(Checkpoint.open(folder))


@pytest.mark.parametrize("name", NAMES)
def test_the_conversion_is_exact(name):
    report = check_parity(converted(GOLDEN / name))
    assert report.problems == ()
    assert report.natural.num_mismatches == 0


@pytest.mark.parametrize("name", NAMES)
def test_pieces_that_marian_wrote_become_the_text_they_spell(name):
    tokenizers = converted(GOLDEN / name)
    ids = tokenizers.original.target.vocabulary.ids
    target = TargetTokenizer.from_json(tokenizers.target_json)
    for case in cases(name):
        pieces = case["greedy"]["pieces"]
        assert target.decode([ids[piece] for piece in pieces]) == "".join(pieces).replace("▁", " ").strip()


def test_a_piece_that_the_table_lacks_is_unknown_though_sentencepiece_finds_it():
    tokenizers = converted(GOLDEN / "opus")
    source = SourceTokenizer.from_json(
        tokenizers.source_json, tokenizers.source_vocabulary_size, tokenizers.source_special.unk
    )
    ids = source.encode_batch(["the harbour"])[0]
    assert list(ids).count(tokenizers.source_special.unk) == 1


def test_padding_is_the_row_after_the_vocabulary_on_either_side():
    tokenizers = converted(GOLDEN / "separate")
    assert tokenizers.source_special.pad == tokenizers.source_vocabulary_size - 1
    assert tokenizers.target_special.pad == tokenizers.target_vocabulary_size - 1
    assert tokenizers.source_vocabulary_size != tokenizers.target_vocabulary_size
    assert (tokenizers.target_special.eos, tokenizers.target_special.unk) == (0, 1)


def test_language_tokens_of_a_table_are_languages_and_never_text(tmp_path):
    lines = (GOLDEN / "opus" / "opus.spm-spm.vocab.yml").read_text(encoding="utf-8")
    folder = changed("opus", tmp_path / "folder", files={"opus.spm-spm.vocab.yml": lines.replace('"#":', '">>deu<<":')})
    tokenizers = converted(folder)
    token_id = tokenizers.language_ids["deu"]
    source = SourceTokenizer.from_json(
        tokenizers.source_json, tokenizers.source_vocabulary_size, tokenizers.source_special.unk
    )
    assert token_id not in source.encode_batch([">>deu<< a"])[0]


def test_faults_of_both_vocabularies_are_told_at_once(tmp_path):
    folder = changed("opus", tmp_path / "folder", files={"opus.spm-spm.vocab.yml": "a: 999\n<unk>: 1\n"})
    (folder / "target.spm").write_bytes(b"x")
    with pytest.raises(ExportError) as caught:
        converted(folder)
    assert sorted({problem.split(":")[0] for problem in caught.value.problems}) == [
        "opus.spm-spm.vocab.yml",
        "target.spm is not a SentencePiece model",
    ]


def test_scripts_that_marian_does_not_know_of_are_not_run_and_that_is_said(tmp_path):
    folder = changed("opus", tmp_path / "folder", files={"preprocess.sh": "#!/bin/sh\n"})
    assert "preprocess.sh is not run: texts go to SentencePiece as they are" in converted(folder).decisions


def test_a_newline_in_bytes_is_never_written(tmp_path):
    pieces = train(
        vocab_size=400, byte_fallback=True, bos_id=-1, eos_id=0, unk_id=1, normalization_rule_name="identity"
    )
    tables = {name: np.zeros((500, 24), np.float32) for name in ("Wemb", "decoder_ff_logit_out_Wt")}
    folder = changed("odd", tmp_path / "folder", tensors=tables)
    (folder / "vocab.spm").write_bytes(pieces)
    original = read_marian_native(Checkpoint.open(folder))
    assert set(unspeakable_ids(original.target, {})) == {"<unk>", "<0x0A>"}
    assert unspeakable_ids(original.target, {"allow-unk": True, "allow-special": True}) == {}


def test_more_pieces_than_rows_are_refused(tmp_path):
    folder = changed("odd", tmp_path / "folder")
    (folder / "vocab.spm").write_bytes(train(vocab_size=400, byte_fallback=True))
    with pytest.raises(ExportError) as caught:
        read_marian_native(Checkpoint.open(folder))
    assert "ids beyond the" in caught.value.problems[0]
