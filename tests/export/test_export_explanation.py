"""`verso export --check`: what a checkpoint is, and everything that is wrong with it, without a file being written."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from export.explanation import explain
from export.options import ExportOptions
from service.cli.main import main
from tests.export.marian_models import GOLDEN
from tests.export.test_export_reading import CHECKPOINTS, write
from tests.export.tiny_networks import TinyNetwork
from tests.export.tiny_tokenizers import write_json


def check(folder, *arguments):
    return CliRunner().invoke(main, ["export", "--check", str(folder), *arguments])


def explanation_of(folder, tmp_path, **options):
    return explain(ExportOptions(folder, tmp_path / "never", **options))


def test_a_checkpoint_is_explained_and_nothing_is_written(tmp_path):
    folder = TinyNetwork(decoder_layers=1, activation="swish").write(tmp_path / "en-de")
    before = sorted(path.name for path in tmp_path.rglob("*"))
    result = check(folder)
    assert result.exit_code == 0
    for line in (
        "en-de: can be exported (family: marian)",
        "  files: model.safetensors",
        "  layers: encoder 2, decoder 1",
        "  heads: 2 of width 10",
        "  feed forward: encoder 33, decoder 35, gated no",
        "  activation: swish",
        "  norms: layer norm after each sub-layer, epsilon 1e-05",
        "  positions: sinusoids, as Marian orders them, from row 0 on, 64 of them",
        "  sources: en",
        "  targets: de",
        "  beam size: 3",
        "  max new tokens: 39",
        "  - head and target embedding: one table in the file (config.json: tie_word_embeddings = True)",
    ):
        assert line in result.stdout.splitlines()
    assert "problems" not in result.stdout
    assert sorted(path.name for path in tmp_path.rglob("*")) == before


@pytest.mark.parametrize("family", CHECKPOINTS)
def test_every_family_is_explained_to_programs(tmp_path, family):
    tokenizer, network, named = CHECKPOINTS[family]()
    folder = write(tmp_path, tokenizer, network, decoder_start_token_id=0 if family == "madlad" else 2)
    languages = [f"--{side.removesuffix('s')}={code}" for side, codes in named.items() for code in codes]
    result = check(folder, "--json", *languages)
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert found["can_be_exported"] is True
    assert found["family"] == json.loads((folder / "config.json").read_text())["model_type"].replace("m2m_", "m2m")
    assert found["network"]["layers"] == {"encoder": 2, "decoder": 1}
    assert found["network"]["feed_forward"]["gated"] is False
    assert found["languages"]["pairs"] > 0
    assert found["decoding"]["beam_size"] == 1
    assert found["decisions"]
    assert found["problems"] == []


def test_parameters_of_a_tied_table_count_once(tmp_path):
    network = TinyNetwork()
    folder = network.write(tmp_path / "tied")
    stored = sum(tensor.size for tensor in network.weights(*table_sizes(folder)).values())
    assert explanation_of(folder, tmp_path).facts["network"]["parameters"] == stored


def table_sizes(folder):
    config = json.loads((folder / "config.json").read_text())
    return config["vocab_size"], config["decoder_vocab_size"]


def test_a_folder_of_marians_own_files_is_explained_too(tmp_path):
    found = explanation_of(GOLDEN / "student", tmp_path, sources=("en",), targets=("de",))
    assert (found.family, found.problems) == ("marian-native", ())
    assert found.facts["network"]["decoder_looks_back_by"] == "a recurrent unit (SSRU)"
    assert found.facts["weights"]["made_by"] == "Marian"


def test_everything_that_is_wrong_is_said_at_once_beside_what_is_known(tmp_path):
    folder = TinyNetwork(generation={"num_beam_groups": 4, "penalty_alpha": 0.6}).write(tmp_path / "en-de")
    (folder / "target.spm").unlink()
    result = check(folder)
    assert result.exit_code == 1
    assert "en-de: cannot be exported (family: marian)" in result.stdout
    assert "  layers: encoder 2, decoder 1" in result.stdout
    for part in ("target.spm", "num_beam_groups is 4", "penalty_alpha is 0.6"):
        assert any(part in line for line in result.stdout.splitlines() if line.startswith("  - "))
    found = json.loads(check(folder, "--json").stdout)
    assert found["can_be_exported"] is False
    assert len(found["problems"]) == 3


def test_a_network_that_cannot_be_read_is_explained_as_far_as_its_files(tmp_path):
    found = explanation_of(TinyNetwork(without=("model.shared.weight",)).write(tmp_path / "x"), tmp_path)
    assert set(found.facts) == {"weights"}
    assert any("embedding is missing" in problem for problem in found.problems)


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (lambda folder: (folder / "config.json").write_text("{"), "is not JSON"),
        (lambda folder: write_json(folder / "config.json", {"model_type": "bert"}), "'bert' cannot be exported"),
        (lambda folder: (folder / "model.safetensors").unlink(), "no model.safetensors"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b"\0" * 9), "not a safetensors file"),
    ],
)
def test_a_folder_that_is_no_checkpoint_is_one_problem(tmp_path, change, part):
    folder = TinyNetwork().write(tmp_path / "x")
    change(folder)
    found = explanation_of(folder, tmp_path)
    assert [part in problem for problem in found.problems] == [True]
    assert check(folder).exit_code == 1


def test_what_only_16_bit_graphs_cannot_hold_is_a_problem_of_those(tmp_path):
    network = TinyNetwork(tensors={"model.encoder.layers.0.fc1.bias": np.full(33, 1e5)})
    folder = network.write(tmp_path / "x")
    assert check(folder).exit_code == 0
    result = check(folder, "--precision", "fp16")
    assert result.exit_code == 1
    assert "  - tensor model.encoder.layers.0.fc1.bias has values beyond 65504" in result.stdout


def test_words_in_front_of_a_source_are_given_on_the_command_line(tmp_path):
    tokenizer, network, _ = CHECKPOINTS["t5"]()
    folder = write(tmp_path, tokenizer, network, decoder_start_token_id=2)
    pair = ("--source", "en", "--target", "de")
    result = check(folder, *pair, "--text-prefix", "de=translate to German: ")
    assert result.exit_code == 0
    assert "a target is asked for by 0 ids" not in result.stdout
    wrong = check(folder, *pair, "--text-prefix", "German")
    assert wrong.exit_code == 2
    assert "'German' is not CODE=TEXT" in wrong.stderr


@pytest.mark.parametrize(
    ("arguments", "part"),
    [(["export", "."], "Missing argument 'OUTPUT'"), (["export", ".", "out", "--json"], "--json goes with --check")],
)
def test_a_call_that_makes_no_sense_is_refused(arguments, part):
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert part in result.stderr
