"""A checkpoint that cannot be exported is refused with every reason at once, and leaves nothing behind."""

import json

import numpy as np
import pytest

from export.checkpoint import Checkpoint
from export.options import ExportOptions
from export.reading import read_checkpoint
from export.run import export_checkpoint
from export.verify.agreement import AgreementLimits
from service.errors import ExportError
from service.package.package import ModelPackage
from tests.export.tiny_networks import NO_LIMITS, TinyNetwork
from tests.export.tiny_tokenizers import TinyCheckpoint


def problems_of(network, folder):
    with pytest.raises(ExportError) as caught:
        read_checkpoint(network.write(folder), (), ())
    return caught.value.problems or (caught.value.message,)


def test_all_missing_tensors_are_listed(tmp_path):
    missing = (
        "model.shared.weight",
        "model.encoder.layers.1.fc1.bias",
        "model.decoder.layers.0.encoder_attn.q_proj.weight",
    )
    problems = "\n".join(problems_of(TinyNetwork(without=missing), tmp_path))
    assert all(name in problems for name in missing)


def test_all_wrong_shapes_are_listed(tmp_path):
    wrong = {
        "model.encoder.layers.0.fc2.weight": np.zeros((20, 20)),
        "model.decoder.layers.0.final_layer_norm.bias": np.zeros(33),
        "final_logits_bias": np.zeros((1, 3)),
        "lm_head.weight": np.zeros((7, 20)),
    }
    problems = "\n".join(problems_of(TinyNetwork(tensors=wrong), tmp_path))
    assert all(name in problems for name in ("fc2.weight", "final_layer_norm.bias", "final_logits_bias", "7 outputs"))


def test_all_faults_of_the_configuration_are_listed(tmp_path):
    config = {"activation_function": "mish", "d_model": "20", "pad_token_id": None, "encoder_ffn_dim": -1}
    problems = "\n".join(problems_of(TinyNetwork(config=config), tmp_path))
    assert all(name in problems for name in ("'mish'", "d_model", "pad_token_id", "encoder_ffn_dim"))


@pytest.mark.parametrize(
    ("config", "part"),
    [
        ({"model_type": "bert"}, "'bert'"),
        ({"model_type": None}, "None"),
        ({"decoder_attention_heads": 4}, "same number of attention heads"),
        ({"encoder_attention_heads": 3, "decoder_attention_heads": 3}, "multiple"),
        ({"encoder_layers": 0}, "encoder_layers must be a whole number of at least 1"),
        ({"decoder_start_token_id": 5000}, "beyond the target vocabulary"),
        ({"eos_token_id": 3, "pad_token_id": 3}, "are the same"),
        ({"eos_token_id": 3}, "target end token: 3 in the network"),
        ({"vocab_size": 2000}, "source embedding rows"),
    ],
)
def test_one_fault_of_the_configuration_is_named(tmp_path, config, part):
    assert any(part in problem for problem in problems_of(TinyNetwork(config=config), tmp_path))


def test_faults_of_network_tokenizers_and_generation_are_joined(tmp_path):
    folder = TinyNetwork(without=("model.encoder.layers.0.fc1.bias",)).write(tmp_path)
    (folder / "target.spm").unlink()
    with pytest.raises(ExportError) as caught:
        read_checkpoint(folder, (), ())
    problems = "\n".join(caught.value.problems)
    assert "fc1.bias" in problems
    assert "target.spm" in problems


def test_a_checkpoint_without_weights_is_refused(tmp_path):
    folder = TinyNetwork().write(tmp_path)
    (folder / "model.safetensors").unlink()
    with pytest.raises(ExportError, match=r"no model\.safetensors"):
        Checkpoint.open(folder)


def test_a_missing_or_malformed_configuration_is_refused(tmp_path):
    folder = TinyNetwork().write(tmp_path)
    (folder / "config.json").write_text("[1]")
    with pytest.raises(ExportError, match="not a JSON object"):
        Checkpoint.open(folder)
    (folder / "config.json").write_text("{")
    with pytest.raises(ExportError, match="not JSON"):
        Checkpoint.open(folder)
    (folder / "config.json").unlink()
    with pytest.raises(ExportError, match=r"config\.json is missing"):
        Checkpoint.open(folder)
    with pytest.raises(ExportError, match="not a folder"):
        Checkpoint.open(folder / "nowhere")


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"precisions": ()}, "no precision"),
        ({"precisions": ("fp32", "fp8")}, "fp8"),
        ({"precisions": ("fp32",), "default_precision": "int8"}, "default precision int8"),
        ({"weight_bits": 4}, "weight_bits"),
    ],
)
def test_options_that_contradict_themselves_are_refused(tmp_path, changes, part):
    with pytest.raises(ExportError) as caught:
        ExportOptions(tmp_path, tmp_path / "out", **changes)
    assert any(part in problem for problem in caught.value.problems)


def test_a_failed_export_leaves_nothing_and_keeps_the_package_it_was_to_replace(tmp_path):
    checkpoint = TinyNetwork().write(tmp_path / "checkpoint")
    output = tmp_path / "packages" / "en-de"
    export_checkpoint(ExportOptions(checkpoint, output, limits=NO_LIMITS))
    before = (output / "manifest.json").read_bytes()
    impossible = AgreementLimits(min_top1=1.1, max_mean_divergence=-1.0)
    with pytest.raises(ExportError) as caught:
        export_checkpoint(ExportOptions(checkpoint, output, limits=impossible, replace_output=True))
    assert len(caught.value.problems) == 2
    assert [path.name for path in output.parent.iterdir()] == ["en-de"]
    assert (output / "manifest.json").read_bytes() == before
    assert ModelPackage.open(output).manifest.name == "en-de"


def test_an_existing_folder_is_only_replaced_on_request(tmp_path):
    checkpoint = TinyNetwork(TinyCheckpoint(options={"source_lang": "fi"})).write(tmp_path / "checkpoint")
    output = tmp_path / "package"
    output.mkdir()
    (output / "something").write_text("old")
    with pytest.raises(ExportError, match="exists already"):
        export_checkpoint(ExportOptions(checkpoint, output, limits=NO_LIMITS))
    assert (output / "something").read_text() == "old"
    export_checkpoint(ExportOptions(checkpoint, output, limits=NO_LIMITS, replace_output=True))
    assert not (output / "something").exists()
    assert list(json.loads((output / "manifest.json").read_text())["languages"]["sources"]) == ["fi"]
