"""Languages come from the caller, from language tokens, or from the tokenizer configuration."""

import json

import pytest

from export.reading import read_checkpoint
from service.errors import ExportError
from tests.export.tiny_networks import TinyNetwork
from tests.export.tiny_tokenizers import TinyCheckpoint

MANY_TARGETS = TinyCheckpoint(extra=(">>deu<<", ">>zho_Hans<<"))


def languages_of(folder, network, sources=(), targets=()):
    return read_checkpoint(network.write(folder), sources, targets).languages


def test_one_pair_comes_from_the_tokenizer_configuration(tmp_path):
    languages = languages_of(tmp_path, TinyNetwork())
    assert languages.pairs == (("en", "de"),)
    assert languages.targets["de"].source_prefix_ids == ()


def test_language_tokens_become_targets_with_their_ids_in_front_of_the_source(tmp_path):
    languages = languages_of(tmp_path, TinyNetwork(MANY_TARGETS))
    ids = json.loads((tmp_path / "vocab.json").read_text())
    assert languages.pairs == (("en", "deu"), ("en", "zho_Hans"))
    assert languages.targets["zho_Hans"].source_prefix_ids == (ids[">>zho_Hans<<"],)
    assert languages.sources["en"].suffix_ids == (ids["</s>"],)


def test_the_caller_may_name_sources_and_choose_targets(tmp_path):
    languages = languages_of(tmp_path, TinyNetwork(MANY_TARGETS), ("fi", "et"), ("deu",))
    assert languages.pairs == (("et", "deu"), ("fi", "deu"))


@pytest.mark.parametrize(
    ("network", "sources", "targets", "part"),
    [
        (TinyNetwork(TinyCheckpoint(options={"source_lang": None})), (), (), "source language"),
        (TinyNetwork(TinyCheckpoint(options={"target_lang": ""})), (), (), "target language"),
        (TinyNetwork(), ("en",), ("de", "fr"), "no language tokens"),
        (TinyNetwork(MANY_TARGETS), (), ("fra",), "no token for the language fra"),
        (TinyNetwork(), ("en us",), (), "'en us' is not a language code"),
        (TinyNetwork(), ("de",), ("de",), "the same"),
    ],
)
def test_languages_that_are_not_clear_are_refused(tmp_path, network, sources, targets, part):
    with pytest.raises(ExportError) as caught:
        languages_of(tmp_path, network, sources, targets)
    assert any(part in problem for problem in caught.value.problems)
