"""Every multilingual family from checkpoint to HTTP: requests of mixed target languages answer as each does alone.

The checkpoints are tiny, with random weights and tokenizers trained in the test, so their words mean nothing.
"""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product

import pytest

from export.options import ExportOptions
from export.run import export_checkpoint
from tests.export.tiny_families import TinyBart, TinyT5, write_network
from tests.export.tiny_multilingual import TinyFairseq, TinyM2M100, TinyT5Tokenizer, tiny_madlad, trained
from tests.export.tiny_networks import NO_LIMITS
from tests.integration.served import served, translate

TEXTS = ("The bridge is old.", "A house", "Where is the station, please?", "the the house")
TASKS = {
    "translation_en_to_de": {"prefix": "translate English to German: "},
    "translation_en_to_fr": {"prefix": "translate English to French: "},
}
MBART_LANGUAGES = ("de_DE", "en_XX", "fr_XX", "zh_CN")
FAMILIES = {
    "m2m100": (TinyM2M100(), TinyBart("m2m100", seed=3), {}),
    "nllb": (TinyFairseq(), TinyBart("m2m100", seed=4, width=24), {}),
    "mbart50": (
        TinyFairseq(trained(), "mbart", MBART_LANGUAGES, options={"tokenizer_class": "MBart50Tokenizer"}),
        TinyBart("mbart", seed=5, activation="gelu"),
        {},
    ),
    "mbart25": (
        TinyFairseq(trained(), "mbart", MBART_LANGUAGES, options={"tokenizer_class": "MBartTokenizer"}),
        TinyBart("mbart", seed=6),
        {},
    ),
    "t5": (TinyT5Tokenizer(), TinyT5(seed=7), {"task_specific_params": TASKS}),
    "madlad": (
        tiny_madlad("de", "fr", "en"),
        TinyT5(seed=8, feed_forward="gated-gelu", config={"tie_word_embeddings": False}),
        {"decoder_start_token_id": 0},
    ),
}
TARGETS = {
    "m2m100": ("de", "fr", "zh"),
    "nllb": ("de", "zh-Hans", "ace_Arab"),
    "mbart50": ("de", "fr-FR", "zh-Hans"),
    "mbart25": ("de_DE", "fr_XX", "zh"),
    "t5": ("de", "fr"),
    "madlad": ("de", "fr"),
}


@pytest.fixture(scope="module", params=FAMILIES)
def service(request, tmp_path_factory) -> Iterator[tuple[str, str]]:
    tokenizer, network, settings = FAMILIES[request.param]
    folder = tokenizer.write(tmp_path_factory.mktemp(request.param) / "checkpoint")
    own = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    network.vocabulary = own["vocab_size"]
    write_network(folder, network, {**own, "max_length": 24, **settings})
    package = folder.with_name("package")
    sources = ("en",) if request.param == "madlad" else ()
    export_checkpoint(ExportOptions(folder, package, sources=sources, limits=NO_LIMITS))
    with served(package) as url:
        yield request.param, url


def test_mixed_target_languages_answer_as_each_does_alone(service):
    family, url = service
    bodies = [
        {"q": text, "source": "en", "target": target, "decoding": {"beam_size": beams}, "include": ["scores", "tokens"]}
        for text, target, beams in product(TEXTS, TARGETS[family], (1, 3))
    ]
    alone = [translate(url, **body) for body in bodies]
    assert all("translatedText" in answer for answer in alone), alone[0]
    with ThreadPoolExecutor(12) as pool:
        together = list(pool.map(lambda body: translate(url, **body), bodies))
    assert together == alone
    first_ids = {}
    for body, answer in zip(bodies, alone, strict=True):
        first_ids.setdefault(body["target"], set()).add(answer["segments"][0]["hypotheses"][0]["tokens"]["ids"][0])
    if family in ("m2m100", "nllb", "mbart50"):
        # The first token asks for the language, so it is one for each target and differs between them.
        assert all(len(ids) == 1 for ids in first_ids.values())
        assert len(set().union(*first_ids.values())) == len(first_ids)


def test_unknown_languages_are_refused_with_what_there_is(service):
    _, url = service
    answer = translate(url, q=TEXTS[0], source="en", target="xx")
    assert answer["error"]["code"] == "unsupported_language_pair", answer
