"""A finished export: the same bytes each time, complete, with each tensor once, and made without torch."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

from export.checkpoint import Checkpoint
from export.graphs import PRECISIONS
from export.options import ExportOptions
from export.run import export_checkpoint
from service.errors import ExportError, PackageInvalidError
from service.package.package import ModelPackage
from tests.export.test_export_reading import CHECKPOINTS, write
from tests.export.tiny_networks import NO_LIMITS, TinyNetwork
from tests.export.tiny_tokenizers import TinyCheckpoint

ROOT = Path(__file__).resolve().parents[2]


def hashes(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


@pytest.mark.parametrize("precisions", [PRECISIONS, ("int8",)])
def test_two_exports_of_one_checkpoint_are_the_same_bytes(tmp_path, precisions):
    checkpoint = TinyNetwork().write(tmp_path / "checkpoint")
    for name in ("first", "second"):
        options = ExportOptions(checkpoint, tmp_path / name, name="tiny", precisions=precisions, limits=NO_LIMITS)
        export_checkpoint(options)
    assert hashes(tmp_path / "first") == hashes(tmp_path / "second")


def test_the_package_opens_and_says_what_the_checkpoint_says(tmp_path):
    checkpoint = TinyNetwork(TinyCheckpoint(separate=True), decoder_layers=2).write(tmp_path / "checkpoint")
    (checkpoint / "NOTICE").write_text("Sentences by\n  many people.\n")
    (checkpoint / "README.md").write_text("---\nlicense: cc-by-4.0\n---\n# Tiny\n")
    export_checkpoint(ExportOptions(checkpoint, tmp_path / "tiny-en-de", limits=NO_LIMITS))
    manifest = ModelPackage.open(tmp_path / "tiny-en-de").manifest
    config = json.loads((checkpoint / "config.json").read_text())
    sizes = manifest.dimensions
    assert (sizes.encoder_layers, sizes.decoder_layers) == (2, 2)
    assert (sizes.model_width, sizes.num_heads, sizes.head_width, sizes.cache_head_width) == (20, 2, 10, 16)
    assert (sizes.source_vocabulary_size, sizes.target_vocabulary_size) == (
        config["vocab_size"],
        config["decoder_vocab_size"],
    )
    assert (sizes.max_source_tokens, sizes.max_target_tokens) == (64, 64)
    assert manifest.special_ids.eos == config["eos_token_id"]
    assert manifest.banned_ids == (config["pad_token_id"],)
    assert manifest.languages.pairs == (("en", "de"),)
    source_eos = json.loads((checkpoint / "vocab.json").read_text())["</s>"]
    assert manifest.languages.sources["en"].suffix_ids == (source_eos,)
    assert manifest.generation.max_new_tokens == 39
    assert manifest.alignment_layer == 1
    assert manifest.licence == "cc-by-4.0"
    assert manifest.attribution == "Sentences by many people."
    assert manifest.name == "tiny-en-de"
    assert set(manifest.files) == {path.name for path in (tmp_path / "tiny-en-de").iterdir()} - {"manifest.json"}


def test_an_export_of_one_precision_makes_it_the_default(tmp_path):
    checkpoint = TinyNetwork().write(tmp_path / "checkpoint")
    export_checkpoint(ExportOptions(checkpoint, tmp_path / "package", precisions=("fp32",), limits=NO_LIMITS))
    manifest = ModelPackage.open(tmp_path / "package").manifest
    assert (list(manifest.precisions), manifest.default_precision) == (["fp32"], "fp32")


def test_without_fp32_a_precision_is_compared_with_the_plain_computation(tmp_path):
    checkpoint = TinyNetwork().write(tmp_path / "checkpoint")
    report = export_checkpoint(ExportOptions(checkpoint, tmp_path / "p", precisions=("int8",), limits=NO_LIMITS))
    assert any(line.startswith("int8: an activation scale per row in every layer") for line in report.decisions)
    found = json.loads((tmp_path / "p" / "report.json").read_text())["agreement"]["int8"]
    assert found["against"] == "plain computation"
    assert found["num_sentences"] > 5
    assert found["mean_divergence"] < 0.05
    assert found["same_translations"] is None


def test_a_truncated_weight_file_and_a_missing_graph_are_both_noticed(tmp_path):
    checkpoint = TinyNetwork().write(tmp_path / "checkpoint")
    folder = tmp_path / "package"
    export_checkpoint(ExportOptions(checkpoint, folder, limits=NO_LIMITS))
    weights = (folder / "weights.bin").read_bytes()
    (folder / "weights.bin").write_bytes(weights[:-1])
    (folder / "decoder.int8.onnx").unlink()
    with pytest.raises(PackageInvalidError) as caught:
        ModelPackage.open(folder)
    assert [problem.split()[0] for problem in caught.value.problems] == ["decoder.int8.onnx", "weights.bin"]


def test_a_tied_table_is_stored_once_for_all_graphs(tiny_export):
    _, folder = tiny_export
    initializers = [
        tensor
        for path in sorted(folder.glob("*.onnx"))
        for tensor in onnx.load(path, load_external_data=False).graph.initializer
    ]
    # Float matrices of the network's width with more rows than there are positions.
    tables = [
        {entry.key: entry.value for entry in tensor.external_data}["offset"]
        for tensor in initializers
        if tensor.data_type == onnx.TensorProto.FLOAT and tuple(tensor.dims[1:]) == (20,) and tensor.dims[0] > 64
    ]
    assert len(tables) == 4
    assert len(set(tables)) == 1


def test_no_bytes_are_in_the_weight_file_twice(tiny_export):
    _, folder = tiny_export
    seen = {}
    for path in sorted(folder.glob("*.onnx")):
        for tensor in onnx.load(path).graph.initializer:
            place = {entry.key: entry.value for entry in tensor.external_data}
            key = (tensor.data_type, tensor.raw_data)
            assert seen.setdefault(key, place.get("offset")) == place.get("offset")


@pytest.mark.parametrize("flag", [True, False])
def test_an_untied_head_is_used_as_stored_whatever_the_flag_says(tmp_path, flag):
    plain = TinyNetwork().write(tmp_path / "plain")
    head = np.random.default_rng(3).standard_normal(Checkpoint.open(plain).shape("model.shared.weight"))
    network = TinyNetwork(
        tensors={"lm_head.weight": head}, config={"tie_word_embeddings": flag, "share_encoder_decoder_embeddings": flag}
    )
    options = ExportOptions(network.write(tmp_path / "checkpoint"), tmp_path / "package", limits=NO_LIMITS)
    report = export_checkpoint(options)
    assert f"head and target embedding: two tables in the file (config.json: tie_word_embeddings = {flag})" in (
        report.decisions
    )
    assert report.verification.parities["fp32"].max_difference < 1e-4


def test_stored_position_tables_are_left_out(tmp_path):
    plain = TinyNetwork().write(tmp_path / "plain")
    nonsense = {f"model.{side}.embed_positions.weight": np.full((64, 20), 9.0) for side in ("encoder", "decoder")}
    odd = TinyNetwork(tensors=nonsense).write(tmp_path / "odd")
    for name, checkpoint in (("a", plain), ("b", odd)):
        export_checkpoint(ExportOptions(checkpoint, tmp_path / name, limits=NO_LIMITS))
    assert (tmp_path / "a" / "weights.bin").read_bytes() == (tmp_path / "b" / "weights.bin").read_bytes()


def written(family, folder):
    """A checkpoint of a family, and the languages that have to be named."""
    if family == "marian":
        return TinyNetwork().write(folder), []
    tokenizer, network, named = CHECKPOINTS[family]()
    start = 0 if family == "madlad" else 2
    checkpoint = write(folder, tokenizer, network, decoder_start_token_id=start)
    return checkpoint, [code for codes in named.values() for code in codes]


@pytest.mark.parametrize("family", ["marian", *CHECKPOINTS])
def test_an_export_needs_neither_torch_nor_transformers(tmp_path, family):
    checkpoint, languages = written(family, tmp_path / "checkpoint")
    program = (
        "import sys\n"
        "for name in ('torch', 'transformers', 'safetensors'): sys.modules[name] = None\n"
        "from pathlib import Path\n"
        "from export.options import ExportOptions\n"
        "from export.run import export_checkpoint\n"
        "from export.verify.agreement import AgreementLimits\n"
        "options = {'sources': sys.argv[3:4], 'targets': sys.argv[4:], 'limits': AgreementLimits(0.0, float('inf'))}\n"
        "export_checkpoint(ExportOptions(Path(sys.argv[1]), Path(sys.argv[2]), **options))\n"
    )
    arguments = [sys.executable, "-c", program, str(checkpoint), str(tmp_path / "package"), *languages]
    subprocess.run(arguments, cwd=ROOT, check=True, timeout=100)
    known = json.loads((checkpoint / "config.json").read_text())["model_type"].replace("m2m_", "m2m")
    assert ModelPackage.open(tmp_path / "package").manifest.family == known


def test_a_bin_checkpoint_without_torch_says_what_to_install(tmp_path, monkeypatch):
    folder = TinyNetwork().write(tmp_path)
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(b"\x80\x02.")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ExportError, match=r"verso\[parity\]"):
        Checkpoint.open(folder)


def test_a_bin_checkpoint_is_read_through_torch_without_running_its_code(tmp_path, monkeypatch):
    """torch itself is no test dependency; what is asked of it is checked with a stand-in."""

    class Tensor:
        shape = (2, 3)

        def detach(self):
            return self

        def float(self):
            return self

        def numpy(self):
            return np.ones((2, 3), np.float32)

    class Torch:
        calls = None

        @classmethod
        def load(cls, path, **options):
            cls.calls = (path.name, options)
            return {"weight": Tensor()}

    folder = TinyNetwork().write(tmp_path)
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "torch", Torch)
    checkpoint = Checkpoint.open(folder)
    assert Torch.calls == ("pytorch_model.bin", {"map_location": "cpu", "weights_only": True, "mmap": False})
    assert checkpoint.names == {"weight"}
    assert checkpoint.shape("weight") == (2, 3)
    assert checkpoint.tensor("weight").dtype == np.float32
