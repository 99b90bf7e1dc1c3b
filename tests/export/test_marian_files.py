"""Reading Marian's own files: weights, vocabularies, and which file of a folder is which."""

import shutil

import numpy as np
import pytest

from export.checkpoint import Checkpoint
from export.marian.binary_file import MarianBinaryFile
from export.marian.folder import find_marian_folder
from export.marian.npz_file import MarianNpzFile
from export.marian.yaml_text import read_vocabulary
from service.errors import ExportError
from tests.export.marian_models import (
    BYTES,
    FIREFOX_INTGEMM8,
    FLOAT32,
    GOLDEN,
    INTGEMM8,
    INTGEMM16,
    OPTIONS,
    binary_file,
    changed,
)

MATRIX = np.array([[1, -2, 3], [4, 5, -6]])
SCALE = 31.5


def quantised(matrix, dtype, scale=SCALE):
    return matrix.astype(dtype).tobytes() + np.float32(scale).tobytes()


@pytest.mark.parametrize(("kind", "dtype"), [(INTGEMM8, np.int8), (FIREFOX_INTGEMM8, np.int8), (INTGEMM16, np.int16)])
def test_integer_matrices_are_divided_by_their_multiplier_and_lie_transposed_unless_they_are_token_tables(
    tmp_path, kind, dtype
):
    items = [
        ("encoder_l1_ffn_W1", kind, (2, 3), quantised(MATRIX.T, dtype)),
        ("encoder_Wemb", kind, (2, 3), quantised(MATRIX, dtype)),
        ("encoder_l1_ffn_b1", FLOAT32, (1, 3), np.array([1, 2, 3], np.float32).tobytes()),
    ]
    file = MarianBinaryFile(binary_file(tmp_path / "model.bin", items))
    assert file.names == {name for name, *_ in items}
    for name in ("encoder_l1_ffn_W1", "encoder_Wemb"):
        assert file.shape(name) == (2, 3)
        np.testing.assert_array_equal(file.read(name), (MATRIX / SCALE).astype(np.float32))
    np.testing.assert_array_equal(file.read("encoder_l1_ffn_b1"), [[1, 2, 3]])


def test_a_text_in_a_binary_file_ends_at_its_zero_byte(tmp_path):
    items = [(OPTIONS, BYTES, (9,), "größe\0x".encode())]
    assert MarianBinaryFile(binary_file(tmp_path / "model.bin", items)).text(OPTIONS) == "größe"


def test_an_index_of_the_output_layer_does_not_keep_a_file_from_being_read(tmp_path):
    items = [("lsh_output_codes", 0x201, (2, 2), bytes([1, 2, 3, 255]))]
    file = MarianBinaryFile(binary_file(tmp_path / "model.bin", items))
    np.testing.assert_array_equal(file.read("lsh_output_codes"), [[1, 2], [3, 255]])


def test_matrices_packed_for_one_processor_are_refused_by_their_types(tmp_path):
    items = [("a_W", 0x11001, (1, 1), b"x"), ("b_W", 0x11001, (1, 1), b"x"), ("c_W", 0x802, (1, 1), b"x")]
    with pytest.raises(ExportError) as caught:
        MarianBinaryFile(binary_file(tmp_path / "model.bin", items))
    assert [problem.split(",")[0] for problem in caught.value.problems] == [
        "1 tensors of type 0x802",
        "2 tensors of type 0x11001",
    ]


def test_a_tensor_without_room_for_its_multiplier_is_noticed(tmp_path):
    items = [("a_W", INTGEMM8, (16, 16), bytes(256))]
    with pytest.raises(ExportError) as caught:
        MarianBinaryFile(binary_file(tmp_path / "model.bin", items))
    assert caught.value.problems == ("tensor a_W of shape [16, 16] has 256 bytes",)


@pytest.mark.parametrize("length", [0, 3, 40, 1000, -1])
def test_a_truncated_binary_file_is_noticed(tmp_path, length):
    content = (GOLDEN / "separate" / "model.bin").read_bytes()[:length]
    (tmp_path / "model.bin").write_bytes(content)
    with pytest.raises(ExportError, match="not one of Marian's binary weight files"):
        MarianBinaryFile(tmp_path / "model.bin")


def test_another_version_of_the_binary_layout_is_refused(tmp_path):
    (tmp_path / "model.bin").write_bytes((2).to_bytes(8, "little") + bytes(64))
    with pytest.raises(ExportError, match="version is 2"):
        MarianBinaryFile(tmp_path / "model.bin")


def test_arrays_of_an_npz_file_are_widened_and_texts_read(tmp_path):
    np.savez(tmp_path / "model.npz", a=np.array([[1.5, 2.5]], np.float16), b=np.frombuffer(b"x: 1\0", np.int8))
    file = MarianNpzFile(tmp_path / "model.npz")
    assert (file.names, file.shape("a"), file.read("a").dtype, file.text("b")) == (
        {"a", "b"},
        (1, 2),
        np.float32,
        "x: 1",
    )


def test_an_npz_file_that_is_damaged_or_holds_objects_is_refused(tmp_path):
    path = tmp_path / "model.npz"
    np.savez(path, a=np.array([{}], object), b=np.array(["x"]), c=np.ones(3))
    with pytest.raises(ExportError) as caught:
        MarianNpzFile(path)
    assert [problem.split()[1] for problem in caught.value.problems] == ["a", "b"]
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(ExportError, match=r"not an \.npz file"):
        MarianNpzFile(path)


def test_a_flipped_bit_in_an_npz_file_is_noticed_when_the_tensor_is_read(tmp_path):
    path = tmp_path / "model.npz"
    np.savez(path, a=np.zeros(1000, np.float32))
    content = bytearray(path.read_bytes())
    content[2000] ^= 1
    path.write_bytes(content)
    with pytest.raises(ExportError, match="damaged at tensor a"):
        MarianNpzFile(path).read("a")


def test_keys_of_a_yaml_vocabulary_are_texts_whatever_yaml_would_make_of_them(tmp_path):
    lines = ['"\\"": 0', "no: 1", '"\\x85": 2', "1: 3", "=: 4", "<<: 5", '"\\U0001F642": 6', "? '#'", ": 7", "'''': 8"]
    (tmp_path / "vocab.yml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    expected = ['"', "no", "\x85", "1", "=", "<<", "\N{SLIGHTLY SMILING FACE}", "#", "'"]
    assert read_vocabulary(tmp_path / "vocab.yml") == {piece: token_id for token_id, piece in enumerate(expected)}


def test_every_fault_of_a_vocabulary_is_named(tmp_path):
    (tmp_path / "vocab.yml").write_text("a: 0\nb: 0\nc: x\na: 2\n")
    with pytest.raises(ExportError) as caught:
        read_vocabulary(tmp_path / "vocab.yml")
    assert caught.value.problems == (
        "vocab.yml: pieces without a whole number as their id: 'c'",
        "vocab.yml: pieces that occur twice: 'a'",
        "vocab.yml: ids that occur twice: '0'",
    )


@pytest.mark.parametrize("text", ["- a\n- b\n", "a: [1]\n", "a: 'b\n", ""])
def test_what_is_no_vocabulary_is_refused(tmp_path, text):
    (tmp_path / "vocab.yml").write_text(text)
    with pytest.raises(ExportError, match=r"vocab\.yml is not a vocabulary"):
        read_vocabulary(tmp_path / "vocab.yml")


def test_a_json_vocabulary_is_read_as_json(tmp_path):
    (tmp_path / "vocab.json").write_text('{"\\ud83d\\ude42": 0, "a": 1}')
    assert read_vocabulary(tmp_path / "vocab.json") == {"\N{SLIGHTLY SMILING FACE}": 0, "a": 1}


def test_names_of_a_released_folder_say_what_is_what():
    opus = find_marian_folder(GOLDEN / "opus")
    assert [path.name for path in opus.vocabularies] == ["opus.spm-spm.vocab.yml"] * 2
    assert [path.name for path in opus.pieces] == ["source.spm", "target.spm"]
    assert (opus.decoding["beam-size"], opus.languages) == (4, None)
    separate = find_marian_folder(GOLDEN / "separate")
    assert [path.name for path in separate.vocabularies] == ["vocab.src.spm", "vocab.trg.spm"]
    student = find_marian_folder(GOLDEN / "student")
    assert (student.model.name, student.languages) == ("model.ende.intgemm8.bin", ("en", "de"))


def test_languages_are_not_read_off_names_that_could_mean_anything(tmp_path):
    names = {"model.tiny.bin": "vocab.tiny.spm", "model.ende.bin": "vocab.spm", "model.enfr.bin": "vocab.ende.spm"}
    for number, (model, vocabulary) in enumerate(names.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        shutil.copyfile(GOLDEN / "student" / "model.ende.intgemm8.bin", folder / model)
        shutil.copyfile(GOLDEN / "student" / "vocab.ende.spm", folder / vocabulary)
        assert find_marian_folder(folder).languages is None


def test_a_folder_that_leaves_files_open_says_all_that_is_open(tmp_path):
    folder = changed("odd", tmp_path / "folder")
    shutil.copyfile(folder / "model.npz", folder / "model.best.npz")
    shutil.copyfile(folder / "vocab.spm", folder / "0.spm")
    with pytest.raises(ExportError) as caught:
        Checkpoint.open(folder)
    assert caught.value.problems == (
        "several weight files and no decoder.yml that names one: model.best.npz, model.npz",
        "vocabularies cannot be told from the names of the files, and no decoder.yml names them: 0.spm, vocab.spm",
    )


def test_a_decoder_yml_names_the_files_wherever_they_were(tmp_path):
    folder = changed("odd", tmp_path / "folder")
    shutil.copyfile(folder / "model.npz", folder / "model.best.npz")
    (folder / "decoder.yml").write_text("models: [C:\\x\\model.best.npz]\nvocabs: [/y/vocab.spm, /y/vocab.spm]\n")
    files = Checkpoint.open(folder).native
    assert (files.model.name, files.vocabularies[1].name) == ("model.best.npz", "vocab.spm")


def test_a_decoder_yml_that_asks_for_other_files_is_refused(tmp_path):
    text = "models: [a.npz, b.npz]\nvocabs: [model.npz, gone.spm]\n"
    folder = changed("odd", tmp_path / "folder", files={"decoder.yml": text})
    with pytest.raises(ExportError) as caught:
        Checkpoint.open(folder)
    assert caught.value.problems == (
        "decoder.yml: models names 2 files; ensembles are not supported",
        "decoder.yml: vocabs names gone.spm, which is not in the folder",
    )


def test_a_table_of_pieces_without_sentencepiece_models_is_refused(tmp_path):
    folder = changed("opus", tmp_path / "folder", files={"source.spm": None, "target.spm": None})
    with pytest.raises(ExportError) as caught:
        Checkpoint.open(folder)
    assert [problem.split()[2] for problem in caught.value.problems] == ["source.spm:", "target.spm:"]


def test_packed_files_are_named(tmp_path):
    (tmp_path / "model.ende.intgemm.alphas.bin.gz").write_bytes(b"")
    with pytest.raises(ExportError) as caught:
        Checkpoint.open(tmp_path)
    assert caught.value.problems == ("model.ende.intgemm.alphas.bin.gz: unpack it first",)


def test_torch_weights_and_shortlists_are_not_taken_for_a_model(tmp_path):
    (tmp_path / "training_args.bin").write_bytes(b"PK\x03\x04" + bytes(60))
    (tmp_path / "lex.50.50.ende.s2t.bin").write_bytes((0xF11A48D5013417F5).to_bytes(8, "little") + bytes(60))
    assert find_marian_folder(tmp_path) is None
    with pytest.raises(ExportError, match="no model of Marian's"):
        Checkpoint.open(tmp_path)


def test_a_model_without_options_is_refused(tmp_path):
    np.savez(tmp_path / "model.npz", Wemb=np.zeros((3, 4), np.float32))
    shutil.copyfile(GOLDEN / "odd" / "vocab.spm", tmp_path / "vocab.spm")
    with pytest.raises(ExportError, match=r"has no special:model\.yml"):
        Checkpoint.open(tmp_path)
