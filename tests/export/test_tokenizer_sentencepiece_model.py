"""SentencePiece models are read as they are, or refused by name."""

import pytest

from export.tokenizer.sentencepiece_model import ModelType, PieceKind, read_sentencepiece_model
from service.errors import ExportError
from tests.export.tiny_tokenizers import pieces_of, train


def read(tmp_path, content):
    path = tmp_path / "misleading.bpe.model"
    path.write_bytes(content)
    return read_sentencepiece_model(path)


def test_the_type_comes_from_the_content_and_not_from_the_file_name(tmp_path):
    assert read(tmp_path, train()).model_type is ModelType.UNIGRAM
    assert read(tmp_path, train(model_type="bpe")).model_type is ModelType.BPE


def test_pieces_keep_order_and_kind(tmp_path):
    content = train(vocab_size=400, byte_fallback=True, user_defined_symbols="@@")
    model = read(tmp_path, content)
    assert [piece.text for piece in model.pieces] == pieces_of(content)
    assert [piece.text for piece in model.of_kind(PieceKind.UNKNOWN)] == ["<unk>"]
    assert [piece.text for piece in model.of_kind(PieceKind.CONTROL)] == ["<s>", "</s>"]
    assert [piece.text for piece in model.of_kind(PieceKind.USER_DEFINED)] == ["@@"]
    assert [piece.text for piece in model.of_kind(PieceKind.BYTE)] == [f"<0x{byte:02X}>" for byte in range(256)]
    assert all(piece.score < 0 for piece in model.of_kind(PieceKind.NORMAL))


def test_normalisation_is_read(tmp_path):
    usual = read(tmp_path, train())
    assert usual.normalization.name == "nmt_nfkc"
    assert usual.normalization.charsmap
    assert usual.normalization.add_dummy_prefix
    assert usual.normalization.remove_extra_whitespaces
    assert not usual.byte_fallback
    other = read(
        tmp_path, train(normalization_rule_name="identity", add_dummy_prefix=False, remove_extra_whitespaces=False)
    )
    assert other.normalization.name == "identity"
    assert not other.normalization.charsmap
    assert not other.normalization.add_dummy_prefix
    assert not other.normalization.remove_extra_whitespaces


@pytest.mark.parametrize("content", [b"", b"no model", b"\xff" * 64, b"{}"])
def test_other_content_is_refused(tmp_path, content):
    with pytest.raises(ExportError, match=r"misleading\.bpe\.model is not a SentencePiece model"):
        read(tmp_path, content)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(ExportError, match=r"absent\.spm cannot be read"):
        read_sentencepiece_model(tmp_path / "absent.spm")
