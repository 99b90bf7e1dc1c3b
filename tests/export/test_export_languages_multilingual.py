"""What asks for a language in each multilingual family: tokens before or behind a source, a first token, words."""

from types import MappingProxyType

import pytest

from export.checkpoint import Checkpoint
from export.families.registry import find_family
from export.languages import (
    LanguageFacts,
    describe_languages,
    read_m2m100_languages,
    read_mbart_languages,
    read_t5_languages,
)
from export.tokenizer.fairseq import convert_mbart, convert_nllb
from export.tokenizer.m2m100 import convert_m2m100
from export.tokenizer.t5 import convert_t5
from service.errors import ExportError
from service.package.manifest import SourceLanguage, TargetLanguage
from tests.export.tiny_multilingual import (
    TinyFairseq,
    TinyM2M100,
    TinyT5Tokenizer,
    processor_of,
    source_of,
    tiny_madlad,
    trained,
)

MBART = ("de_DE", "en_XX", "zh_CN")
TASKS = {
    "summarization": {"prefix": "summarize: ", "num_beams": 4},
    "translation_en_to_de": {"prefix": "translate English to German: ", "num_beams": 4},
    "translation_en_to_fr": {"prefix": "translate English to French: ", "num_beams": 4},
}


def checkpoint_of(folder, config=MappingProxyType({}), generation=MappingProxyType({}), tokenizer=MappingProxyType({})):
    return Checkpoint(folder, config, generation, tokenizer, (), {})


def facts_of(tokenizers, sources=(), targets=(), forced=None, prefixes=MappingProxyType({})):
    return LanguageFacts(sources, targets, tokenizers, forced, prefixes)


def problems_of(read, checkpoint, facts):
    with pytest.raises(ExportError) as caught:
        read(checkpoint, facts)
    return "\n".join(caught.value.problems)


@pytest.fixture
def nllb(tmp_path):
    return convert_nllb(TinyFairseq().write(tmp_path / "nllb"))


@pytest.fixture
def mbart(tmp_path):
    return convert_mbart(TinyFairseq(trained(), "mbart", MBART).write(tmp_path / "mbart"))


@pytest.fixture
def t5(tmp_path):
    return convert_t5(TinyT5Tokenizer().write(tmp_path / "t5"))


def test_an_nllb_source_begins_with_its_language_and_ends_with_the_end_token(tmp_path, nllb):
    languages = read_m2m100_languages(checkpoint_of(tmp_path), facts_of(nllb))
    ids = nllb.language_ids
    assert languages.sources["eng_Latn"] == SourceLanguage(prefix_ids=(ids["eng_Latn"],), suffix_ids=(2,))
    assert languages.targets["zho_Hans"] == TargetLanguage(forced_first_id=ids["zho_Hans"])
    assert len(languages.pairs) == 12


def test_old_nllb_checkpoints_have_the_language_behind_the_end_token(tmp_path, nllb):
    old = checkpoint_of(tmp_path, tokenizer={"legacy_behaviour": True})
    languages = read_m2m100_languages(old, facts_of(nllb))
    ids = nllb.language_ids
    assert languages.sources["eng_Latn"] == SourceLanguage(suffix_ids=(2, ids["eng_Latn"]))
    assert languages.targets["deu_Latn"] == TargetLanguage(forced_first_id=ids["deu_Latn"])


def test_m2m100_codes_are_without_the_marks_of_their_tokens(tmp_path):
    tokenizers = convert_m2m100(TinyM2M100().write(tmp_path))
    languages = read_m2m100_languages(checkpoint_of(tmp_path), facts_of(tokenizers, ("en",), ("de", "ilo")))
    german = tokenizers.language_ids["de"]
    assert languages.pairs == (("en", "de"), ("en", "ilo"))
    assert languages.targets["de"].forced_first_id == german
    assert languages.sources["en"].suffix_ids == (tokenizers.source_special.eos,)


def test_a_forced_language_is_the_only_target_unless_others_are_named(tmp_path, nllb):
    forced = nllb.language_ids["deu_Latn"]
    assert set(read_m2m100_languages(checkpoint_of(tmp_path), facts_of(nllb, forced=forced)).targets) == {"deu_Latn"}
    named = facts_of(nllb, targets=("ace_Arab", "deu_Latn"), forced=forced)
    targets = read_m2m100_languages(checkpoint_of(tmp_path), named).targets
    assert [targets[code].forced_first_id for code in targets] == [nllb.language_ids[code] for code in targets]


def test_a_forced_token_that_is_no_language_is_refused(tmp_path, nllb):
    assert "token of no language" in problems_of(
        read_m2m100_languages, checkpoint_of(tmp_path), facts_of(nllb, forced=7)
    )


def test_languages_the_checkpoint_lacks_are_refused(tmp_path, nllb):
    problems = problems_of(read_m2m100_languages, checkpoint_of(tmp_path), facts_of(nllb, ("en",), ("de", "fr")))
    assert problems.count("no token for the language") == 3


@pytest.mark.parametrize(
    ("config", "tokenizer"),
    [({}, {"tokenizer_class": "MBart50TokenizerFast"}), ({"decoder_start_token_id": 2}, {})],
    ids=["by the tokenizer class", "by the start token"],
)
def test_mbart_50_is_laid_out_like_m2m100(tmp_path, mbart, config, tokenizer):
    languages = read_mbart_languages(checkpoint_of(tmp_path, config, tokenizer=tokenizer), facts_of(mbart))
    ids = mbart.language_ids
    assert languages.sources["en_XX"] == SourceLanguage(prefix_ids=(ids["en_XX"],), suffix_ids=(2,))
    assert languages.targets["de_DE"] == TargetLanguage(forced_first_id=ids["de_DE"])


@pytest.mark.parametrize("tokenizer", [{"tokenizer_class": "MBartTokenizer"}, {}], ids=["class", "start token"])
def test_mbart_25_ends_a_source_with_its_language_and_starts_from_the_target(tmp_path, mbart, tokenizer):
    ids = mbart.language_ids
    config = {} if tokenizer else {"decoder_start_token_id": ids["de_DE"]}
    languages = read_mbart_languages(checkpoint_of(tmp_path, config, tokenizer=tokenizer), facts_of(mbart))
    assert languages.sources["en_XX"] == SourceLanguage(suffix_ids=(2, ids["en_XX"]))
    assert languages.targets["zh_CN"] == TargetLanguage(start_id=ids["zh_CN"])


@pytest.mark.parametrize(
    ("start", "tokenizer", "part"),
    [
        (None, {}, "neither tokenizer_class nor decoder_start_token_id"),
        ("de_DE", {"tokenizer_class": "MBart50Tokenizer"}, "decoding starts from a language"),
    ],
)
def test_an_mbart_network_of_neither_kind_is_refused(tmp_path, mbart, start, tokenizer, part):
    config = {"decoder_start_token_id": mbart.language_ids.get(start)}
    checkpoint = checkpoint_of(tmp_path, config, tokenizer=tokenizer)
    assert part in problems_of(read_mbart_languages, checkpoint, facts_of(mbart))


def test_an_mbart_network_without_languages_has_one_pair_and_the_template_of_bart(tmp_path):
    tokenizers = convert_mbart(TinyFairseq(trained(), "mbart", languages=None).write(tmp_path))
    checkpoint = checkpoint_of(tmp_path, {"bos_token_id": 0})
    languages = read_mbart_languages(checkpoint, facts_of(tokenizers, ("fr",), ("en",)))
    assert languages.sources["fr"] == SourceLanguage(prefix_ids=(0,), suffix_ids=(2,))
    assert languages.targets["en"] == TargetLanguage()
    assert "name it when exporting" in problems_of(read_mbart_languages, checkpoint, facts_of(tokenizers))


def test_a_madlad_target_is_asked_for_in_front_of_the_source(tmp_path):
    tokenizers = convert_t5(tiny_madlad("de", "zh_Hant").write(tmp_path))
    languages = read_t5_languages(checkpoint_of(tmp_path), facts_of(tokenizers))
    front = (*tokenizers.language_lead_ids, tokenizers.language_ids["zh_Hant"])
    assert languages.targets["zh_Hant"] == TargetLanguage(source_prefix_ids=front)
    assert languages.sources["de"] == SourceLanguage(suffix_ids=(2,))


def test_t5_is_asked_in_the_words_of_its_configuration(tmp_path, t5):
    languages = read_t5_languages(checkpoint_of(tmp_path, {"task_specific_params": TASKS}), facts_of(t5))
    assert languages.pairs == (("en", "de"), ("en", "fr"))
    german = languages.targets["de"].source_prefix_ids
    text = "translate English to German: the harbour"
    assert (*german, *source_of(t5).encode("the harbour")) == tuple(
        processor_of(t5.original.source.model.content).encode(text)
    )
    assert languages.sources["en"] == SourceLanguage(suffix_ids=(1,))


def test_the_caller_may_say_which_words_ask_for_a_language(tmp_path, t5):
    facts = facts_of(t5, ("en",), ("de", "vi"), prefixes={"de": "to German: ", "vi": "vi: "})
    languages = read_t5_languages(checkpoint_of(tmp_path, {"task_specific_params": TASKS}), facts)
    assert languages.targets["vi"].source_prefix_ids == tuple(source_of(t5).encode("vi:"))
    assert languages.targets["de"].source_prefix_ids == tuple(source_of(t5).encode("to German:"))


def test_a_fine_tuned_t5_network_of_one_pair_needs_no_words(tmp_path, t5):
    languages = read_t5_languages(checkpoint_of(tmp_path), facts_of(t5, ("en",), ("de",)))
    assert languages.targets["de"] == TargetLanguage()


@pytest.mark.parametrize(
    ("config", "facts", "part"),
    [
        ({}, {}, "name it when exporting"),
        ({}, {"sources": ("en",), "targets": ("de", "fr")}, "nothing asks for fr"),
        ({"task_specific_params": TASKS}, {"targets": ("vi",)}, "no prefix for vi"),
        (
            {},
            {"sources": ("en",), "targets": ("de",), "prefixes": {"fr": "x: "}},
            "fr has a text prefix, but is no target",
        ),
        (
            {"task_specific_params": {**TASKS, "translation_fr_to_de": {"prefix": "translate French to German: "}}},
            {"targets": ("de",)},
            "depends on the source language",
        ),
    ],
)
def test_words_that_are_not_clear_are_refused(tmp_path, t5, config, facts, part):
    assert part in problems_of(read_t5_languages, checkpoint_of(tmp_path, config), facts_of(t5, **facts))


def test_words_that_change_the_text_behind_them_are_refused(tmp_path, t5):
    facts = facts_of(t5, ("en",), ("de",), prefixes={"de": "to German:"})
    assert "cut in another way" in problems_of(read_t5_languages, checkpoint_of(tmp_path), facts)


def test_the_report_says_how_languages_are_asked_for(tmp_path, nllb):
    lines = "\n".join(describe_languages(read_m2m100_languages(checkpoint_of(tmp_path), facts_of(nllb))))
    assert "4 sources and 4 targets" in lines
    assert "1 ids before and 1 behind" in lines
    assert "asked for by the forced first token" in lines


@pytest.mark.parametrize("model_type", ["marian", "m2m_100", "mbart", "t5", "mt5"])
def test_every_family_is_found_by_its_model_type(tmp_path, model_type):
    assert find_family(checkpoint_of(tmp_path, {"model_type": model_type}))


@pytest.mark.parametrize("model_type", ["bart", "pegasus", None, 7])
def test_a_model_type_no_family_knows_is_refused(tmp_path, model_type):
    with pytest.raises(ExportError, match="cannot be exported"):
        find_family(checkpoint_of(tmp_path, {"model_type": model_type}))
