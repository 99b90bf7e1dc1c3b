"""Safetensors files and their shards: read to the bit, or refused with every fault at once."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from export.checkpoint import Checkpoint
from export.safetensors_file import SafetensorsFile, write_safetensors
from export.weight_files import open_weight_files
from service.errors import ExportError
from tests.export.tiny_networks import TinyNetwork

INDEX = "model.safetensors.index.json"


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def write_raw(path, header, data):
    """A file with any header, a dict or bytes."""
    content = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(len(content).to_bytes(8, "little") + content + data)
    return path


def entry(start, end, shape, dtype="F32"):
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}


def fault_of(path):
    with pytest.raises(ExportError) as caught:
        SafetensorsFile(path)
    return "\n".join([caught.value.message, *caught.value.problems])


@pytest.mark.parametrize("count", [1, 7, (1 << 20) + 3])
@pytest.mark.parametrize("kind", ["F16", "BF16", "F64"])
def test_other_floats_are_widened_exactly_however_long_the_tensor(tmp_path, kind, count):
    values = numbers(count, seed=count)
    if kind == "BF16":
        words = (values.view(np.uint32) >> 16).astype(np.uint16)
        stored, expected = words, (words.astype(np.uint32) << 16).view(np.float32)
    else:
        stored = values.astype({"F16": np.float16, "F64": np.float64}[kind])
        expected = stored.astype(np.float32)
    first = numbers(5).tobytes()
    header = {"a": entry(0, 20, [5]), "b": entry(20, 20 + stored.nbytes, [1, count], kind)}
    read = SafetensorsFile(write_raw(tmp_path / "x", header, first + stored.tobytes())).read("b")
    assert read.dtype == np.float32
    np.testing.assert_array_equal(read, expected.reshape(1, count))


def test_tensors_without_numbers_or_dimensions_are_read_and_written(tmp_path):
    tensors = {"nothing": np.zeros((0, 4), np.float32), "one": np.float32(3).reshape(()), "two": numbers(2)}
    write_safetensors(tmp_path / "x", tensors)
    file = SafetensorsFile(tmp_path / "x")
    for name, expected in load_file(tmp_path / "x").items():
        assert file.shape(name) == expected.shape
        np.testing.assert_array_equal(file.read(name), expected)


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"", "not a safetensors file"),
        (b"\x05\0\0", "not a safetensors file"),
        ((1 << 40).to_bytes(8, "little") + b"{}", "should have 1099511627776 bytes, and 2 are there"),
        ((2).to_bytes(8, "little") + b"[]", "not a JSON object"),
        ((2).to_bytes(8, "little") + b"{]", "not a safetensors file"),
    ],
)
def test_a_file_that_is_none_says_why(tmp_path, content, part):
    (tmp_path / "x").write_bytes(content)
    assert part in fault_of(tmp_path / "x")


def test_a_header_that_names_a_tensor_twice_is_refused(tmp_path):
    one = json.dumps(entry(0, 4, [1]))
    header = f'{{"a": {one}, "b": {json.dumps(entry(4, 8, [1]))}, "a": {one}}}'.encode()
    assert "names twice: a" in fault_of(write_raw(tmp_path / "x", header, b"\0" * 8))


def test_all_faults_of_a_header_are_listed(tmp_path):
    header = {
        "eighth": entry(0, 4, [4], "F8_E4M3"),
        "short": entry(4, 10, [2]),
        "negative": entry(-4, 4, [2]),
        "shapeless": {"dtype": "F32", "data_offsets": [0, 4]},
        "inside": entry(6, 10, [1]),
        "later": entry(30, 34, [1]),
    }
    found = fault_of(write_raw(tmp_path / "x", header, b"\0" * 40))
    for part in (
        "eighth has element type F8_E4M3",
        "short has 6 bytes of data for its 8 (F32 [2])",
        "negative has no proper dtype, shape and data_offsets",
        "shapeless has no proper",
        "short and inside share bytes",
        "20 bytes before tensor later belong to no tensor",
        "6 bytes after the last tensor",
    ):
        assert part in found


def test_every_tensor_that_is_cut_off_is_named(tmp_path):
    path = tmp_path / "x"
    save_file({name: numbers(100) for name in "abcd"}, path)
    path.write_bytes(path.read_bytes()[:-500])
    assert "cut off: c, d" in fault_of(path)


@pytest.fixture
def shards(tmp_path):
    """Two shards with their index, and the index to change."""
    save_file({"a": numbers(3), "b": numbers(2, 2)}, tmp_path / "one.safetensors")
    save_file({"c": numbers(4)}, tmp_path / "two.safetensors")
    index = {"metadata": {"total_size": 44}, "weight_map": {"a": "one.safetensors", "b": "one.safetensors"}}
    index["weight_map"]["c"] = "two.safetensors"
    (tmp_path / INDEX).write_text(json.dumps(index))
    return tmp_path, index


def problems_of(folder):
    with pytest.raises(ExportError) as caught:
        open_weight_files(folder)
    return caught.value.problems or (caught.value.message,)


def test_every_shard_owns_its_tensors(shards):
    folder, _ = shards
    weights = open_weight_files(folder)
    assert [path.name for path in weights.paths] == ["one.safetensors", "two.safetensors"]
    assert {name: owner.shape(name) for name, owner in weights.owners.items()} == {"a": (3,), "b": (2, 2), "c": (4,)}


def test_an_index_and_shards_that_disagree_are_refused_with_every_tensor(shards):
    folder, index = shards
    save_file({"c": numbers(4), "a": numbers(3), "d": numbers(1)}, folder / "two.safetensors")
    index["weight_map"]["e"] = "one.safetensors"
    (folder / INDEX).write_text(json.dumps(index))
    assert problems_of(folder) == (
        "tensor a is in several files: one.safetensors, two.safetensors",
        f"tensor d is in two.safetensors, but not in {INDEX}",
        f"tensor e is not in one.safetensors, where {INDEX} says it is",
    )


def test_missing_and_damaged_shards_are_named_together(shards):
    folder, index = shards
    index["weight_map"]["f"] = "three.safetensors"
    (folder / INDEX).write_text(json.dumps(index))
    (folder / "two.safetensors").write_bytes(b"\0")
    missing, damaged = problems_of(folder)
    assert missing == f"three.safetensors is named in {INDEX}"
    assert damaged.startswith("two.safetensors is not a safetensors file")


@pytest.mark.parametrize(
    ("content", "part"),
    [
        ("{", "is not JSON"),
        ("[]", "has no weight_map"),
        ('{"weight_map": {}}', "has no weight_map"),
        ('{"weight_map": {"a": "../one.safetensors"}}', "'../one.safetensors', which is no name of a file"),
        ('{"weight_map": {"a": 3}}', "3, which is no name of a file"),
    ],
)
def test_an_index_that_cannot_be_followed_says_why(shards, content, part):
    folder, _ = shards
    (folder / INDEX).write_text(content)
    assert any(part in problem for problem in problems_of(folder))


def test_tables_are_compared_to_the_bit(tmp_path):
    head = numbers(100, 20)
    tensors = {"lm_head.weight": head, "a": head.copy(), "b": head + np.float32(1e-7), "c": head.reshape(20, 100)}
    checkpoint = Checkpoint.open(TinyNetwork(tensors=tensors).write(tmp_path))
    assert [checkpoint.equal("lm_head.weight", name) for name in "abc"] == [True, False, False]
