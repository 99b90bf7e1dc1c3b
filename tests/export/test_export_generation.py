"""Decoding defaults follow the checkpoint's own settings; what cannot be followed is refused."""

import pytest

from export.checkpoint import Checkpoint
from export.families.registry import find_family
from export.generation import read_generation
from service.errors import ExportError
from tests.export.tiny_networks import TinyNetwork

NO_GENERATION_FILE = {"bad_words_ids": None, "num_beams": None, "max_length": None, "renormalize_logits": None}


def defaults_of(folder, generation, config=None):
    checkpoint = Checkpoint.open(TinyNetwork(generation=generation, config=config or {}).write(folder))
    return read_generation(checkpoint, find_family(checkpoint).describe(checkpoint))


def problems_of(folder, generation):
    with pytest.raises(ExportError) as caught:
        defaults_of(folder, generation)
    return caught.value.problems


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"max_length": 40}, 39),
        ({"max_length": 64}, 63),
        ({"max_length": 512}, 63),
        ({"max_length": None}, 63),
        ({"max_length": 1}, 1),
        ({"max_new_tokens": 10}, 10),
        ({"max_new_tokens": 900}, 63),
    ],
)
def test_the_length_limit_does_not_count_the_start_token_and_fits_the_positions(tmp_path, settings, expected):
    assert defaults_of(tmp_path, settings).generation.max_new_tokens == expected


@pytest.mark.parametrize(
    ("settings", "expected"), [({}, 0), ({"min_length": 5}, 4), ({"min_length": 5, "min_new_tokens": 7}, 7)]
)
def test_the_least_length_does_not_count_the_start_token(tmp_path, settings, expected):
    assert defaults_of(tmp_path, settings).generation.min_new_tokens == expected


def test_all_supported_settings_are_taken_over(tmp_path):
    found = defaults_of(
        tmp_path,
        {
            "num_beams": 6,
            "length_penalty": 0.0,
            "early_stopping": "never",
            "repetition_penalty": 1.3,
            "no_repeat_ngram_size": 3,
            "forced_eos_token_id": 0,
            "forced_bos_token_id": 9,
            "renormalize_logits": True,
        },
    )
    generation = found.generation
    assert (generation.beam_size, generation.length_penalty, generation.early_stopping) == (6, 0.0, "never")
    assert (generation.repetition_penalty, generation.no_repeat_ngram_size) == (1.3, 3)
    assert (generation.forced_eos_id, generation.renormalize) == (0, True)
    assert found.forced_first_id == 9


def test_single_banned_tokens_join_the_pad_token(tmp_path):
    checkpoint = Checkpoint.open(TinyNetwork().write(tmp_path / "plain"))
    pad = checkpoint.config["pad_token_id"]
    found = defaults_of(tmp_path / "banned", {"bad_words_ids": [[pad], [4]], "suppress_tokens": [11]})
    assert found.banned_ids == (4, 11, pad)


def test_old_checkpoints_keep_their_settings_in_the_configuration(tmp_path):
    folder = TinyNetwork(config={"num_beams": 4, "max_length": 30, "bad_words_ids": [[7]]}).write(tmp_path)
    (folder / "generation_config.json").unlink()
    checkpoint = Checkpoint.open(folder)
    found = read_generation(checkpoint, find_family(checkpoint).describe(checkpoint))
    assert (found.generation.beam_size, found.generation.max_new_tokens) == (4, 29)
    assert 7 in found.banned_ids
    assert any("from config.json" in line for line in found.decisions)


def test_every_setting_that_would_change_translations_unseen_is_refused_at_once(tmp_path):
    unsupported = {
        "sequence_bias": [[[1, 2], -3.0]],
        "constraints": [1],
        "force_words_ids": [[3]],
        "encoder_no_repeat_ngram_size": 2,
        "encoder_repetition_penalty": 1.2,
        "exponential_decay_length_penalty": [5, 1.1],
        "begin_suppress_tokens": [3],
        "num_beam_groups": 2,
        "diversity_penalty": 0.5,
        "bad_words_ids": [[1, 2], [100000]],
        "forced_eos_token_id": [0, 3],
        "eos_token_id": [0, 3],
    }
    problems = "\n".join(problems_of(tmp_path, unsupported))
    assert [name for name in unsupported if name not in problems] == []


def test_neutral_values_of_unsupported_settings_are_accepted(tmp_path):
    neutral = {"num_beam_groups": 1, "diversity_penalty": 0.0, "encoder_repetition_penalty": 1.0, "sequence_bias": None}
    assert defaults_of(tmp_path, neutral).generation.beam_size == 3


def test_banning_the_end_token_is_refused(tmp_path):
    eos = Checkpoint.open(TinyNetwork().write(tmp_path / "plain")).config["eos_token_id"]
    assert problems_of(tmp_path / "banned", {"bad_words_ids": [[eos]]}) == ("the end token is among the banned tokens",)


def test_what_is_done_differently_is_said(tmp_path):
    lines = "\n".join(defaults_of(tmp_path, {"renormalize_logits": False, "do_sample": True}).decisions)
    assert "renormalize_logits is not set" in lines
    assert "do_sample is ignored" in lines
