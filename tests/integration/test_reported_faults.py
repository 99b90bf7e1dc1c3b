"""What users of other engines have reported, tried on the bundled model over HTTP; each test is a kind of report."""

from collections.abc import Iterator

import pytest

from tests.integration.faithful_checks import loops
from tests.integration.running import PACKAGE
from tests.integration.served import served, translate

SEARCHES = [{"beam_size": 1}, {"beam_size": 4}]


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    with served(PACKAGE) as url:
        yield url


def target(service, text, **fields):
    return translate(service, q=text, **fields)["translatedText"]


@pytest.mark.parametrize("decoding", SEARCHES)
def test_blank_and_lone_punctuation_is_not_made_into_sentences(service, decoding):
    texts = ["", " ", "-", "\n", "...", "\u3000", "!", "–", "{ }"]
    answer = translate(service, q=texts, decoding=decoding, include=["usage"])
    assert answer["translatedText"] == texts
    assert answer["usage"]["num_source_tokens"] == 0


@pytest.mark.parametrize("decoding", SEARCHES)
def test_there_is_one_output_for_each_input_in_its_place(service, decoding):
    texts = ["", "The cat is black.", "\n", "", "The dog is white.", "   ", "42"]
    answer = translate(service, q=texts, decoding=decoding)["translatedText"]
    assert [text if index in (1, 4) else texts[index] for index, text in enumerate(answer)] == answer
    assert [answer[1], answer[4]] == [target(service, texts[index], decoding=decoding) for index in (1, 4)]


@pytest.mark.parametrize("decoding", SEARCHES)
@pytest.mark.parametrize("text", ["nǐ hǎo ma", "ʃəˈwɑː", "zxcvb qwrtp", "lorem ipsum dolor", "ŋ", "x y z", "0x1f"])
def test_odd_text_gives_neither_padding_nor_nothing(service, decoding, text):
    answer = translate(service, q=text, decoding=decoding, include=["tokens"])
    assert answer["translatedText"].strip()
    for segment in answer["segments"]:
        for hypothesis in segment["hypotheses"]:
            assert not {"<pad>", "<unk>"} & set(hypothesis["tokens"]["pieces"])


@pytest.mark.parametrize("decoding", SEARCHES)
@pytest.mark.parametrize("text", ["J", "J-10", "increasingly", "never", "anti", "and", "Mmmmmmmmmmmmmm", "NO NO NO"])
def test_one_word_does_not_run_to_the_end_of_the_positions(service, decoding, text):
    answer = translate(service, q=text, decoding=decoding | {"max_new_tokens": 511}, include=["usage", "tokens"])
    assert answer["usage"]["num_target_tokens"] <= 64
    assert len(answer["translatedText"]) <= 100
    assert not loops(answer["translatedText"])


@pytest.mark.parametrize("decoding", SEARCHES)
def test_text_behind_a_symbol_is_not_dropped(service, decoding):
    for text in ("The test { } passed and we went home.", "Done ✓ and now we go home.", "Hello 😀 we go home."):
        answer = target(service, text, decoding=decoding)
        assert "Hause" in answer, answer
        assert all(symbol in answer for symbol in text if symbol in "{}✓😀")


@pytest.mark.parametrize("decoding", SEARCHES)
@pytest.mark.parametrize("end", [".", ""])
def test_a_sentence_is_not_echoed_for_its_heading_or_its_full_stop(service, decoding, end):
    for text in ("CC Committee: the members met on Monday", "The committee has adopted the report"):
        answer = translate(service, q=text + end, decoding=decoding, alternatives=0)["translatedText"]
        assert answer != text + end
        assert "the" not in answer.split()


def test_a_request_that_is_cut_tells_so(service):
    answer = translate(
        service, q="The cat is black and the dog is white.", decoding={"max_new_tokens": 4}, include=["usage", "tokens"]
    )
    assert answer["usage"]["num_length_stops"] == 1
    (hypothesis,) = answer["segments"][0]["hypotheses"]
    assert hypothesis["stop_reason"] == "length"
    assert len(hypothesis["tokens"]["ids"]) == 4


def test_many_results_exist_even_where_a_limit_comes_first(service):
    for beam_size in (2, 8, 16):
        answer = translate(
            service,
            q="The cat is black and the dog is white.",
            decoding={"beam_size": beam_size, "num_hypotheses": beam_size, "max_new_tokens": 2},
            include=["segments"],
        )
        assert answer["translatedText"].strip()
        assert answer["segments"][0]["hypotheses"]


def test_lengths_count_the_end_token_exactly_and_scores_use_them(service):
    for penalty in (0.0, 0.6, 1.0):
        answer = translate(
            service,
            q="The cat is black.",
            decoding={"beam_size": 4, "num_hypotheses": 4, "length_penalty": penalty},
            include=["tokens", "scores", "usage"],
        )
        hypotheses = answer["segments"][0]["hypotheses"]
        for hypothesis in hypotheses:
            tokens = hypothesis["tokens"]
            assert len(tokens["ids"]) == len(tokens["pieces"]) == len(tokens["log_probs"])
            assert tokens["pieces"].index("</s>") == len(tokens["ids"]) - 1
            expected = sum(tokens["log_probs"]) / len(tokens["ids"]) ** penalty
            assert hypothesis["score"] == pytest.approx(expected, rel=1e-4)
        assert answer["usage"]["num_target_tokens"] == len(hypotheses[0]["tokens"]["ids"])
