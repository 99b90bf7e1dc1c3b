"""Weight files: what is read, what is written, and that nothing is stored or read wrongly."""

import json
import sys

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from export.checkpoint import Checkpoint
from export.graph.weight_store import LARGE_ALIGNMENT, SMALL_ALIGNMENT, WeightStore
from export.half import copy_in_half, main
from export.position_tables import sinusoid_halves
from export.safetensors_file import SafetensorsFile, write_safetensors
from service.errors import ExportError
from tests.export.marian_models import GOLDEN
from tests.export.tiny_networks import TinyNetwork


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def test_tensors_are_read_as_the_library_wrote_them(tmp_path):
    tensors = {"a": numbers(3, 5), "b": numbers(7), "half": numbers(4, 2).astype(np.float16), "n": np.arange(4)}
    save_file(tensors, tmp_path / "x.safetensors", metadata={"format": "pt"})
    file = SafetensorsFile(tmp_path / "x.safetensors")
    assert file.names == set(tensors)
    for name, expected in tensors.items():
        assert file.shape(name) == expected.shape
        assert file.read(name).dtype == np.float32
        np.testing.assert_array_equal(file.read(name), expected.astype(np.float32))


def test_bfloat16_is_widened_exactly(tmp_path):
    words = np.array([0x3F80, 0xC000, 0x0000, 0x7F80, 0x3EAA], np.uint16)
    header = json.dumps({"x": {"dtype": "BF16", "shape": [5], "data_offsets": [0, 10]}}).encode()
    (tmp_path / "x.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + words.tobytes())
    expected = [1.0, -2.0, 0.0, np.inf, 0.33203125]
    assert SafetensorsFile(tmp_path / "x.safetensors").read("x").tolist() == expected


def test_what_is_written_is_read_by_the_library_and_depends_on_content_only(tmp_path):
    tensors = {"b": numbers(3, 2), "a": numbers(5).astype(np.float16)}
    write_safetensors(tmp_path / "one", tensors)
    write_safetensors(tmp_path / "two", dict(reversed(tensors.items())))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    for name, read in load_file(tmp_path / "one").items():
        np.testing.assert_array_equal(read, tensors[name])


@pytest.mark.parametrize("cut", [3, 12, 400, -1])
def test_a_truncated_file_is_refused(tmp_path, cut):
    path = tmp_path / "x.safetensors"
    save_file({f"t{i}": numbers(30) for i in range(8)}, path)
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(ExportError, match=r"x\.safetensors"):
        SafetensorsFile(path)


def test_sharded_weights_are_read_through_their_index(tmp_path):
    folder = TinyNetwork().write(tmp_path)
    whole = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = sorted(whole)
    shards = {"one.safetensors": names[::2], "two.safetensors": names[1::2]}
    for shard, chosen in shards.items():
        save_file({name: whole[name] for name in chosen}, folder / shard)
    index = {"weight_map": {name: shard for shard, chosen in shards.items() for name in chosen}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    checkpoint = Checkpoint.open(folder)
    assert checkpoint.names == set(names)
    np.testing.assert_array_equal(checkpoint.tensor(names[3]), whole[names[3]])
    (folder / "two.safetensors").unlink()
    with pytest.raises(ExportError) as caught:
        Checkpoint.open(folder)
    assert caught.value.problems == ("two.safetensors is named in model.safetensors.index.json",)


def test_equal_bytes_are_stored_once_and_large_tensors_start_on_pages(tmp_path):
    small, large = numbers(5), numbers(40, 40, seed=1)
    with WeightStore(tmp_path / "weights.bin") as store:
        extents = [store.add(array) for array in (small, large, numbers(7, seed=2), large.copy(), small.reshape(5, 1))]
        integers = store.add(small.view(np.int32))
    assert extents[0] == extents[4]
    assert extents[1] == extents[3]
    assert integers != extents[0]
    assert extents[1].offset % LARGE_ALIGNMENT == 0
    assert all(extent.offset % SMALL_ALIGNMENT == 0 for extent in [*extents, integers])
    content = (tmp_path / "weights.bin").read_bytes()
    assert content[extents[1].offset :][: extents[1].length] == large.tobytes()


@pytest.mark.parametrize("width", [2, 7, 20])
def test_positions_are_sines_then_cosines_of_the_published_angles(width):
    table = sinusoid_halves(50, width)
    for row in (0, 1, 49):
        angles = [row / 10000 ** (2 * (column // 2) / width) for column in range(width)]
        sines = [np.sin(angles[column]) for column in range(0, width, 2)]
        cosines = [np.cos(angles[column]) for column in range(1, width, 2)]
        np.testing.assert_allclose(table[row], [*sines, *cosines], atol=1e-7)


def test_a_copy_in_half_has_the_same_tensors_rounded(tmp_path):
    folder = TinyNetwork().write(tmp_path / "whole")
    copy_in_half(folder, tmp_path / "half")
    whole, half = load_file(folder / "model.safetensors"), load_file(tmp_path / "half" / "model.safetensors")
    assert half.keys() == whole.keys()
    for name, tensor in whole.items():
        assert half[name].dtype == np.float16
        np.testing.assert_array_equal(half[name], tensor.astype(np.float16))
    assert (tmp_path / "half" / "config.json").read_text() == (folder / "config.json").read_text() + "\n"
    assert {path.name for path in (tmp_path / "half").iterdir()} == {path.name for path in folder.iterdir()}


def test_weights_that_do_not_fit_into_half_are_all_named_and_nothing_is_written(tmp_path):
    large = {"model.encoder.layers.0.fc1.bias": np.full(33, 7e4), "final_logits_bias": np.full((1, 3), -1e5)}
    folder = TinyNetwork(tensors=large).write(tmp_path / "whole")
    with pytest.raises(ExportError) as caught:
        copy_in_half(folder, tmp_path / "half")
    assert [problem.split()[1] for problem in caught.value.problems] == sorted(large)
    assert not (tmp_path / "half").exists()


def test_a_folder_of_marians_own_files_is_not_copied_in_half(tmp_path):
    """Its tensors are put together from others when they are read: a copy of them would be no checkpoint."""
    with pytest.raises(ExportError, match="Marian's own files"):
        copy_in_half(GOLDEN / "opus", tmp_path / "half")
    assert not (tmp_path / "half").exists()


def test_the_command_copies_refuses_and_explains_itself(tmp_path, monkeypatch, capsys):
    folder = TinyNetwork().write(tmp_path / "whole")
    for arguments, status, message in (
        ([], 2, "usage"),
        ([str(folder), str(tmp_path / "half")], 0, ""),
        ([str(folder), str(tmp_path / "half")], 1, "exists already"),
    ):
        monkeypatch.setattr(sys, "argv", ["half", *arguments])
        assert main() == status
        assert message in capsys.readouterr().err
