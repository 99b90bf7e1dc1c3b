"""Which model translates what a caller asks for, and what a caller is told where none does."""

import types

import pytest

from service.errors import UnsupportedPairError
from service.package.manifest import Languages
from service.translation.codes import DeclaredCodes
from service.translation.registry import LanguagePairInfo, Registry


def model(name, sources, targets):
    languages = Languages(
        sources={code: {"suffix_ids": [0]} for code in sources.split()}, targets={code: {} for code in targets.split()}
    )
    return types.SimpleNamespace(
        name=name,
        pairs=languages.pairs,
        sources=DeclaredCodes(languages.sources),
        targets=DeclaredCodes(languages.targets),
    )


MARIAN = model("marian", "en", "de")
MANY = model("many", "eng_Latn deu_Latn zho_Hans", "eng_Latn deu_Latn zho_Hans zho_Hant")


def routed(registry, source, target):
    route = registry.route(source, target)
    return route.model.name, route.source, route.target


def refused(registry, source, target):
    with pytest.raises(UnsupportedPairError) as caught:
        registry.route(source, target)
    return list(caught.value.problems)


def test_a_route_has_the_codes_of_its_package():
    registry = Registry([MARIAN, MANY])
    assert routed(registry, "EN-us", "de_AT") == ("marian", "en", "de")
    assert routed(registry, "deu", "zh-TW") == ("many", "deu_Latn", "zho_Hant")
    assert routed(registry, "en", "zh") == ("many", "eng_Latn", "zho_Hans")
    assert routed(registry, "zh-CN", "zh-Hant") == ("many", "zho_Hans", "zho_Hant")


def test_of_several_models_that_translate_a_pair_the_one_given_first_does():
    assert routed(Registry([MARIAN, MANY]), "eng_Latn", "deu_Latn") == ("marian", "en", "de")
    assert routed(Registry([MANY, MARIAN]), "en", "de") == ("many", "eng_Latn", "deu_Latn")


def test_all_pairs_are_listed_once_with_the_model_behind_them():
    pairs = Registry([model("a", "en", "de fr"), model("b", "en de", "de en")]).languages()
    assert pairs == (
        LanguagePairInfo("de", "en", "b"),
        LanguagePairInfo("en", "de", "a"),
        LanguagePairInfo("en", "fr", "a"),
    )


def test_an_unknown_language_is_refused_with_those_there_are():
    assert refused(Registry([MARIAN, MANY]), "xx", "yy") == [
        "source: not supported; supported are deu_Latn, en, eng_Latn, zho_Hans",
        "target: not supported; supported are de, deu_Latn, eng_Latn, zho_Hans, zho_Hant",
    ]


def test_a_variant_that_is_not_there_is_refused_with_those_of_its_language():
    assert refused(Registry([MANY]), "zh-TW", "de") == [
        "source: not supported in this script or region; supported are zho_Hans"
    ]


@pytest.mark.parametrize(("source", "target"), [("de", "fr"), ("fr", "en")])
def test_a_pair_that_no_one_model_translates_is_refused_with_what_the_source_reaches(source, target):
    registry = Registry([model("a", "de", "en"), model("b", "fr", "fr it")])
    reached = {"de": "en", "fr": "it"}[source]
    assert refused(registry, source, target) == [
        f"target: not translated into from this source; supported are {reached}"
    ]


def test_a_language_is_not_translated_into_itself():
    assert refused(Registry([MANY]), "en", "eng-Latn") == [
        "target: not translated into from this source; supported are deu_Latn, zho_Hans, zho_Hant"
    ]
