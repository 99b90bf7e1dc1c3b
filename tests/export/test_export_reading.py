"""Whole checkpoints of every family are read: network, tokenizers, decoding defaults and languages fit together."""

import json

import numpy as np
import pytest

from export.reading import read_checkpoint
from export.sample import Framing, sample_pair
from service.errors import ExportError
from tests.export.tiny_families import TinyBart, TinyT5
from tests.export.tiny_multilingual import TinyFairseq, TinyM2M100, TinyT5Tokenizer, processor_of, tiny_madlad, trained
from tests.export.tiny_tokenizers import write_json

MBART = ("de_DE", "en_XX")


def write(folder, tokenizer, network, generation=None, **config):
    """Writes tokenizer files and a network with as many rows."""
    tokenizer.write(folder)
    written = json.loads((folder / "config.json").read_text())
    rows = written["vocab_size"]
    network.config = {**written, **config}
    is_bart = isinstance(network, TinyBart)
    network.tensors = {"model.shared.weight" if is_bart else "shared.weight": rows}
    if is_bart and network.family == "mbart":
        network.tensors["final_logits_bias"] = np.zeros((1, rows), np.float32)
    network.open(folder)
    if generation is not None:
        write_json(folder / "generation_config.json", generation)
    return folder


CHECKPOINTS = {
    "m2m100": lambda: (TinyM2M100(), TinyBart("m2m100"), {}),
    "nllb": lambda: (TinyFairseq(), TinyBart("m2m100"), {}),
    "mbart": lambda: (TinyFairseq(trained(), "mbart", MBART), TinyBart("mbart"), {}),
    "t5": lambda: (TinyT5Tokenizer(), TinyT5(), {"sources": ("en",), "targets": ("de",)}),
    "mt5": lambda: (
        TinyT5Tokenizer(config={"model_type": "mt5"}),
        TinyT5("mt5"),
        {"sources": ("en",), "targets": ("de",)},
    ),
    "madlad": lambda: (tiny_madlad("de", "en"), TinyT5(), {}),
}


@pytest.mark.parametrize("family", CHECKPOINTS)
def test_all_parts_of_a_checkpoint_fit_together(tmp_path, family):
    tokenizer, network, named = CHECKPOINTS[family]()
    folder = write(tmp_path, tokenizer, network, decoder_start_token_id=0 if family == "madlad" else 2)
    read = read_checkpoint(folder, named.get("sources", ()), named.get("targets", ()))
    assert read.spec.source_vocabulary_size == read.tokenizers.source_vocabulary_size
    assert read.spec.special_ids.eos == read.tokenizers.target_special.eos
    assert read.languages.pairs
    assert read.defaults.generation.max_new_tokens == read.spec.max_target_tokens - 1
    assert any(line.startswith("languages: ") for line in read.decisions)


@pytest.mark.parametrize("family", CHECKPOINTS)
def test_every_source_ends_at_its_own_end_whatever_its_length(tmp_path, family):
    tokenizer, network, named = CHECKPOINTS[family]()
    folder = write(tmp_path, tokenizer, network, decoder_start_token_id=0 if family == "madlad" else 2)
    read = read_checkpoint(folder, named.get("sources", ()), named.get("targets", ()))
    source, target = read.languages.pairs[0]
    framing = Framing(read.spec, read.tokenizers, read.languages.sources[source], read.languages.targets[target])
    short, long = framing.frame(["the bridge", "the harbour and the bridge " * 60])
    eos = read.tokenizers.source_special.eos
    assert (short[-1], long[-1]) == (eos, eos)
    assert (short.count(eos), long.count(eos)) == (1, 1)
    assert len(short) < len(long) == read.spec.max_source_tokens


def test_an_nllb_source_is_what_fairseq_makes_of_it(tmp_path):
    tiny = TinyFairseq()
    read = read_checkpoint(write(tmp_path, tiny, TinyBart("m2m100")), (), ())
    framing = Framing(
        read.spec, read.tokenizers, read.languages.sources["eng_Latn"], read.languages.targets["deu_Latn"]
    )
    pieces = [token_id + 1 for token_id in processor_of(tiny.model).encode("the bridge")]
    assert framing.frame(["the bridge"]) == [[tiny.first_language_id + 2, *pieces, 2]]
    assert read.languages.targets["deu_Latn"].forced_first_id == tiny.first_language_id + 1


def test_a_network_is_tried_on_a_pair_that_the_built_in_sentences_are_for(tmp_path):
    read = read_checkpoint(write(tmp_path, TinyFairseq(), TinyBart("m2m100")), (), ())
    assert read.languages.pairs[0] == ("ace_Arab", "deu_Latn")
    assert sample_pair(read.languages) == ("eng_Latn", "ace_Arab")


def test_a_fine_tuned_nllb_network_has_a_new_language_beside_the_others(tmp_path):
    tiny = TinyFairseq()
    first = tiny.first_language_id
    tiny.added, tiny.num_rows = {"<mask>": first + 4, "tyv_Cyrl": first + 5}, first + 8
    read = read_checkpoint(write(tmp_path, tiny, TinyBart("m2m100")), (), ())
    assert read.languages.targets["tyv_Cyrl"].forced_first_id == first + 5
    assert len(read.languages.targets) == 5


def test_rows_the_tokenizer_knows_nothing_of_are_no_obstacle(tmp_path):
    tiny = TinyFairseq()
    tiny.num_rows = tiny.first_language_id + 40
    read = read_checkpoint(write(tmp_path, tiny, TinyBart("m2m100")), (), ())
    assert read.tokenizers.target_vocabulary_size == tiny.num_rows


def test_an_end_token_that_files_disagree_about_is_refused(tmp_path):
    folder = write(tmp_path, TinyFairseq(), TinyBart("m2m100"), eos_token_id=5)
    with pytest.raises(ExportError) as caught:
        read_checkpoint(folder, (), ())
    assert any("target end token: 5 in the network, 2" in problem for problem in caught.value.problems)


@pytest.mark.parametrize(
    ("generation", "beam", "limit", "part"),
    [
        ({"max_length": 20, "num_beams": 1}, 1, 39, "max_length 20 is not taken"),
        ({"max_length": 30, "num_beams": 2}, 2, 29, "beam 2"),
        ({"forced_bos_token_id": None, "max_length": None}, 1, 39, "no max_length"),
    ],
)
def test_a_length_limit_nobody_meant_is_not_taken(tmp_path, generation, beam, limit, part):
    read = read_checkpoint(write(tmp_path, TinyFairseq(), TinyBart("m2m100"), generation), (), ())
    assert read.defaults.generation.beam_size == beam
    assert read.defaults.generation.max_new_tokens == limit
    assert any(part in line for line in read.decisions)


def test_a_forced_first_language_becomes_the_target(tmp_path):
    tiny = TinyFairseq()
    generation = {"forced_bos_token_id": tiny.first_language_id + 1, "forced_eos_token_id": 2}
    read = read_checkpoint(write(tmp_path, tiny, TinyBart("m2m100"), generation), (), ())
    assert list(read.languages.targets) == ["deu_Latn"]
    assert read.defaults.generation.forced_eos_id == 2


def task(language, **settings):
    return {"prefix": f"translate English to {language}: ", "num_beams": 4, "early_stopping": True, **settings}


def test_what_the_translation_tasks_of_t5_agree_on_are_its_defaults(tmp_path):
    tasks = {
        "summarization": {"prefix": "summarize: ", "num_beams": 9, "length_penalty": 2.0},
        "translation_en_to_de": task("German", max_length=300),
        "translation_en_to_fr": task("French", max_length=200),
    }
    folder = write(tmp_path, TinyT5Tokenizer(), TinyT5(), {"num_beams": None}, task_specific_params=tasks)
    read = read_checkpoint(folder, (), ())
    generation = read.defaults.generation
    assert (generation.beam_size, generation.early_stopping, generation.length_penalty) == (4, True, 1.0)
    assert generation.max_new_tokens == read.spec.max_target_tokens - 1
    assert read.languages.pairs == (("en", "de"), ("en", "fr"))
    assert any("early_stopping, num_beams from task_specific_params" in line for line in read.decisions)


def test_decoding_settings_of_the_checkpoint_come_before_those_of_its_tasks(tmp_path):
    tasks = {"translation_en_to_de": task("German", max_length=100)}
    generation = {"num_beams": 2, "max_length": 20}
    folder = write(tmp_path, TinyT5Tokenizer(), TinyT5(), generation, task_specific_params=tasks)
    found = read_checkpoint(folder, (), ()).defaults.generation
    assert (found.beam_size, found.max_new_tokens) == (2, 99)
