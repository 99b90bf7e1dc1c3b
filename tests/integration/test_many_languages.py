"""A package of many languages behind real HTTP: requests of all its languages share steps and change nothing.

The package is the bundled one with a manifest that asks for languages in every way there is. Its "languages" are tokens
that push its German about, which is all that is needed to tell them apart.
"""

import itertools
import json
import shutil
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from service.scheduler.batch import RunningBatch
from service.scheduler.sequence import Sequence, Submission
from service.search.group import SearchTask
from service.search.options import DecodingOptions
from tests.integration.running import PACKAGE, engine, held_out_sources, package, rules
from tests.integration.served import served, translate

EOS = 0
SOURCES = {"eng_Latn": {"suffix_ids": [EOS]}, "spa_Latn": {"prefix_ids": [7], "suffix_ids": [EOS, 239]}}
TARGETS = {
    "deu_Latn": {"forced_first_id": 24},
    "zho_Hans": {"forced_first_id": 26},
    "zho_Hant": {"source_prefix_ids": [1295], "forced_first_id": 39},
    "pob": {"source_prefix_ids": [7]},
    "fr_XX": {"start_id": 12},
    "swh_Latn": {"start_id": 24, "source_prefix_ids": [239, 91]},
    "nob_Latn": {},
}
OPTIONS = [{"beam_size": 1}, {"beam_size": 4, "length_penalty": 0.6}, {"beam_size": 3, "no_repeat_ngram_size": 3}]


@pytest.fixture(scope="module")
def service(tmp_path_factory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("many") / "package"
    shutil.copytree(PACKAGE, folder)
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    manifest |= {"name": "many", "languages": {"sources": SOURCES, "targets": TARGETS}}
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with served(folder) as url:
        yield url


def said(url, body) -> tuple:
    """Everything of an answer that must not depend on its neighbours."""
    answer = translate(url, include=["scores", "tokens"], **body)
    return answer["translatedText"], answer["scores"], answer["segments"]


def test_mixed_languages_at_once_give_what_each_gives_alone(service):
    work = itertools.product(held_out_sources(8), SOURCES, TARGETS)
    bodies = [
        {"q": text, "source": source, "target": target, "decoding": OPTIONS[number % 3]}
        for number, (text, source, target) in enumerate(work)
    ]
    with ThreadPoolExecutor(24) as clients:
        together = list(clients.map(lambda body: said(service, body), bodies))
    assert together == [said(service, body) for body in bodies]
    # The languages do differ, or the test would say nothing.
    assert len({text for text, *_ in together}) > len(bodies) / 2


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("source", SOURCES)
def test_each_language_is_asked_for_as_its_manifest_says(service, source, target):
    text = "The cat is black and the dog is white."
    answer = translate(service, q=text, source=source, target=target, decoding={"beam_size": 4}, include=["tokens"])
    (segment,) = answer["segments"]
    asked = TARGETS[target]
    ids = [
        *asked.get("source_prefix_ids", []),
        *SOURCES[source].get("prefix_ids", []),
        *package().source_tokenizer.encode(text),
        *SOURCES[source]["suffix_ids"],
    ]
    assert segment["source_tokens"]["ids"] == ids
    options = DecodingOptions(beam_size=4, max_new_tokens=package().manifest.generation.max_new_tokens)
    forced_first_id, start_id = asked.get("forced_first_id"), asked.get("start_id")
    task = SearchTask(options, forced_first_id, len(ids), with_alignment=False, start_id=start_id)
    assert segment["hypotheses"][0]["tokens"]["ids"] == decoded(np.array(ids, np.int64), task)


def decoded(source, task) -> list[int]:
    batch = RunningBatch(engine("int8"), rules())
    one = Sequence(source, task)
    Submission([one])
    batch.admit([one])
    while True:
        for ended in batch.step():
            return list(ended.hypotheses[0].token_ids)


def test_a_forced_token_counts_but_is_no_part_of_the_text(service):
    answer = translate(
        service,
        q="The cat is black and the dog is white.",
        source="en",
        target="zh-TW",
        decoding={"beam_size": 1, "max_new_tokens": 4},
        include=["tokens", "usage", "scores"],
    )
    (hypothesis,) = answer["segments"][0]["hypotheses"]
    tokens = hypothesis["tokens"]
    assert (len(tokens["ids"]), tokens["ids"][0], tokens["log_probs"][0]) == (4, 39, 0.0)
    assert hypothesis["stop_reason"] == "length"
    assert answer["translatedText"] == package().target_tokenizer.decode(tokens["ids"][1:-1]).strip()
    assert hypothesis["score"] == pytest.approx(sum(tokens["log_probs"]), rel=1e-5)
    used = answer["usage"]
    assert (used["source"], used["target"], used["num_target_tokens"]) == ("eng_Latn", "zho_Hant", 4)


def test_sentences_in_a_script_without_spaces_are_joined_without(service):
    for target, between in (("de", " "), ("pt", " "), ("zh", ""), ("zh-TW", "")):
        answer = translate(
            service, q="The cat is black。The dog is white。", source="en", target=target, include=["segments"]
        )
        texts = [segment["hypotheses"][0]["text"] for segment in answer["segments"]]
        assert len(texts) == 2
        assert answer["translatedText"] == between.join(texts)


@pytest.mark.parametrize(
    ("source", "target", "used"),
    [
        ("EN-us", "DE", ("eng_Latn", "deu_Latn")),
        ("es", "de-AT", ("spa_Latn", "deu_Latn")),
        ("spa", "zh", ("spa_Latn", "zho_Hans")),
        ("en_XX", "cmn-hant", ("eng_Latn", "zho_Hant")),
        ("en", "pt_BR", ("eng_Latn", "pob")),
        ("en", "fra", ("eng_Latn", "fr_XX")),
        ("en", "sw", ("eng_Latn", "swh_Latn")),
        ("en", "no", ("eng_Latn", "nob_Latn")),
    ],
)
def test_codes_may_be_written_as_usual(service, source, target, used):
    usage = translate(service, q="Hello.", source=source, target=target, include=["usage"])["usage"]
    assert (usage["source"], usage["target"]) == used


@pytest.mark.parametrize(
    ("source", "target", "details"),
    [
        ("xx", "de", [("source", "not supported; supported are eng_Latn, spa_Latn")]),
        ("en", "zh-Latn", [("target", "not supported in this script or region; supported are zho_Hans, zho_Hant")]),
        ("en", "nn", [("target", f"not supported; supported are {', '.join(sorted(TARGETS))}")]),
    ],
)
def test_what_is_not_there_is_refused_with_what_is(service, source, target, details):
    error = translate(service, q="Hello.", source=source, target=target)["error"]
    assert error["code"] == "unsupported_language_pair"
    assert [(detail["field"], detail["problem"]) for detail in error["details"]] == details


def test_languages_are_listed_by_name(service):
    with urllib.request.urlopen(f"{service}/languages", timeout=10) as answer:  # noqa: S310 (our own loopback service)
        listed = json.load(answer)
    assert listed == [
        {"code": "eng_Latn", "name": "English", "targets": sorted(TARGETS)},
        {"code": "spa_Latn", "name": "Spanish", "targets": sorted(TARGETS)},
    ]
