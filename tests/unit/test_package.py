"""Opening a package finds every missing or changed file, and says where things are otherwise."""

import copy
import hashlib
import json

import pytest
from tokenizers import Tokenizer
from tokenizers.models import Unigram, WordLevel

from service.errors import PackageInvalidError
from service.package.package import ModelPackage, file_record, read_manifest
from tests.unit.manifest_content import CONTENT

SOURCE = Tokenizer(Unigram([("</s>", 0.0), ("<unk>", 0.0), *((f"p{i}", -1.0) for i in range(48))], 1)).to_str()
TARGET = Tokenizer(WordLevel({f"w{i}": i for i in range(40)}, "w1")).to_str()
FILES = {"e.onnx": b"encoder", "d.onnx": b"decoder" * 400_000, "s.json": SOURCE.encode(), "t.json": TARGET.encode()}


@pytest.fixture
def folder(tmp_path):
    content = copy.deepcopy(CONTENT)
    for name, data in FILES.items():
        (tmp_path / name).write_bytes(data)
        content["files"][name] = {"size_bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    (tmp_path / "manifest.json").write_text(json.dumps(content))
    return tmp_path


def problems_of(folder):
    with pytest.raises(PackageInvalidError) as caught:
        ModelPackage.open(folder)
    return caught.value.problems


def test_a_whole_package_opens(folder):
    package = ModelPackage.open(folder)
    assert package.folder == folder
    assert package.manifest.name == "en-de"
    assert package.graph("encoder", "fp32") == folder / "e.onnx"
    assert package.graph("decoder", "fp32") == folder / "d.onnx"


def test_a_precision_that_is_not_there_is_refused_with_those_that_are(folder):
    with pytest.raises(PackageInvalidError, match=r"no precision int8 \(it has: fp32\)"):
        ModelPackage.open(folder).graph("encoder", "int8")


def test_missing_longer_and_changed_files_are_all_named(folder):
    (folder / "e.onnx").unlink()
    (folder / "d.onnx").write_bytes(FILES["d.onnx"] + b"x")
    (folder / "t.json").write_bytes(FILES["t.json"][:-1] + b" ")
    assert problems_of(folder) == (
        f"d.onnx has {len(FILES['d.onnx']) + 1} bytes, not {len(FILES['d.onnx'])}",
        "e.onnx is missing",
        "t.json is not the file that was exported: its SHA-256 differs",
    )


def test_a_folder_in_place_of_a_file_is_missing(folder):
    (folder / "e.onnx").unlink()
    (folder / "e.onnx").mkdir()
    assert problems_of(folder) == ("e.onnx is missing",)


def test_files_the_manifest_does_not_name_do_not_matter(folder):
    (folder / "notes.txt").write_text("mine")
    assert ModelPackage.open(folder).manifest.name == "en-de"


def test_a_folder_without_manifest_is_no_package(tmp_path):
    with pytest.raises(PackageInvalidError, match="not a model package"):
        ModelPackage.open(tmp_path)
    with pytest.raises(PackageInvalidError, match="not a model package"):
        ModelPackage.open(tmp_path / "nowhere")


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b'{"format_version": 1}'])
def test_a_manifest_that_is_none_is_refused(folder, content):
    (folder / "manifest.json").write_bytes(content)
    assert problems_of(folder)


def test_every_fault_of_a_manifest_is_named(folder):
    content = json.loads((folder / "manifest.json").read_text())
    del content["name"]
    content["format_version"] = 7
    content["extra"] = True
    (folder / "manifest.json").write_text(json.dumps(content))
    assert {problem.split(":")[0] for problem in problems_of(folder)} == {"name", "format_version", "extra"}


def test_the_manifest_can_be_read_without_its_files(folder):
    for name in FILES:
        (folder / name).unlink()
    assert read_manifest(folder).name == "en-de"


def test_tokenizers_are_loaded_once_and_when_asked_for(folder):
    package = ModelPackage.open(folder)
    assert package.source_tokenizer is package.source_tokenizer
    assert package.target_tokenizer is package.target_tokenizer
    assert package.target_tokenizer.pieces([2, 5]) == ["w2", "w5"]


def test_a_record_is_the_size_and_hash_of_a_file(folder):
    record = file_record(folder / "d.onnx")
    assert record.size_bytes == len(FILES["d.onnx"])
    assert record.sha256 == hashlib.sha256(FILES["d.onnx"]).hexdigest()
