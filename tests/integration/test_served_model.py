"""The bundled model behind real HTTP: a process started as a user starts it, and many clients at once."""

import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.integration.running import PACKAGE, held_out_sources
from tests.integration.served import served, translate


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    with served(PACKAGE) as url:
        yield url


def test_an_english_sentence_comes_back_in_german(service):
    assert translate(service, q="The cat is black.")["translatedText"] == "Die Katze ist schwarz."


def test_lines_blanks_and_numbers_keep_their_places(service):
    text = "The cat is black.\r\n\r\n\t- 12:30\r\n- The cat is black.  \n"
    assert translate(service, q=text)["translatedText"] == (
        "Die Katze ist schwarz.\r\n\r\n\t- 12:30\r\n- Die Katze ist schwarz.  \n"
    )


def test_a_sentence_far_over_the_model_s_length_is_translated_in_pieces(service):
    text = "The cat is black and the dog is white, " * 120
    answer = translate(service, q=text, include=["segments"], decoding={"beam_size": 1})
    assert len(answer["segments"]) >= 9
    assert answer["translatedText"].count("Katze") >= len(answer["segments"])
    assert answer["translatedText"].endswith(" ")


def test_many_clients_with_mixed_options_each_get_what_they_get_alone(service):
    options = [{"beam_size": 1}, {"beam_size": 4}, {"beam_size": 5, "length_penalty": 0.6}, {"no_repeat_ngram_size": 3}]
    bodies = [{"q": text, "decoding": options[i % 4]} for i, text in enumerate(held_out_sources(40))]
    alone = [translate(service, **body)["translatedText"] for body in bodies]
    with ThreadPoolExecutor(16) as clients:
        together = list(clients.map(lambda body: translate(service, **body)["translatedText"], bodies))
    assert together == alone


def test_metrics_have_counted_it(service):
    translate(service, q="Hello.")
    with urllib.request.urlopen(f"{service}/metrics", timeout=10) as answer:  # noqa: S310 (as above)
        lines = answer.read().decode().splitlines()
    values = {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if not line.startswith("#")}
    assert values['verso_translations_total{outcome="ok",pair="en-de"}'] > 0
    assert values["verso_decode_steps_total"] > 0
    assert all(value == 0 for name, value in values.items() if name.startswith("verso_waiting_"))
