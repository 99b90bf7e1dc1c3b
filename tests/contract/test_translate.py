"""What POST /translate answers when all is well."""

import pytest

from service.search.options import PartialOptions
from service.translation.translation import Details

REQUEST = {"q": "the house", "source": "en", "target": "de"}


def post(client, **fields):
    answer = client.post("/translate", json=REQUEST | fields)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_string_is_answered_with_a_string(client):
    assert post(client) == {"translatedText": "de:the house"}


def test_a_list_is_answered_with_a_list_in_its_order(client):
    assert post(client, q=["b", "a", "b"]) == {"translatedText": ["de:b", "de:a", "de:b"]}


@pytest.mark.parametrize("text", ["", " \n", "\x00", "ä😀\u0301", '"\\', "x" * 200])
def test_any_text_reaches_the_translator_unchanged(client, translator, text):
    assert post(client, q=text)["translatedText"] == f"de:{text}"
    assert translator.requests[-1].texts == (text,)


def test_alternatives_have_the_shape_of_the_texts(client):
    assert post(client, alternatives=2)["alternatives"] == ["de0:the house", "de1:the house"]
    assert post(client, q=["a", "b"], alternatives=1)["alternatives"] == [["de0:a"], ["de0:b"]]


def test_scores_tokens_and_alignments_come_on_request(client):
    answer = post(client, include=["scores", "tokens", "alignments"])
    assert answer["scores"] == -0.5
    (segment,) = answer["segments"]
    assert segment["source"] == "the house"
    assert segment["span"] == {"start": 0, "end": 9}
    assert segment["source_tokens"] == {"ids": [0, 1], "pieces": ["the", "house"]}
    assert segment["hypotheses"] == [
        {
            "text": "de:the house",
            "stop_reason": "end_token",
            "score": -0.5,
            # JSON has no infinity.
            "tokens": {"ids": [0, 1, 2], "pieces": ["the", "house", "</s>"], "log_probs": [-0.25, -0.25, None]},
            "alignment": [[1.0, 1.0]] * 3,
            "words": [{"source": {"start": 0, "end": 3}, "target": {"start": 3, "end": 6}, "weight": 0.5}],
        }
    ]


def test_segments_alone_hold_texts_and_how_they_were_treated(client):
    answer = post(client, q=["the house"], include=["segments"])
    hypotheses = [{"text": "de:the house", "stop_reason": "end_token"}]
    treatment = {"placeholders": "aligned", "retried": ["length", "repetition"], "case": "upper"}
    assert answer["segments"] == [
        [{"source": "the house", "span": {"start": 0, "end": 9}, "hypotheses": hypotheses, **treatment}]
    ]
    assert "scores" not in answer


def test_nothing_is_computed_that_is_not_asked_for(client, translator):
    for include, details in (
        ([], Details()),
        (["timings", "usage"], Details()),
        (["scores"], Details(segments=True)),
        (["tokens"], Details(tokens=True)),
        (["alignments", "segments"], Details(segments=True, alignments=True)),
    ):
        post(client, include=include)
        assert translator.requests[-1].details == details


def test_what_texts_are_and_what_must_not_change_reaches_the_translator(client, translator):
    post(client, format="html", split_sentences="nonewlines", protect=["ACME GmbH", "x"])
    request = translator.requests[-1]
    assert (request.format, request.split_sentences, request.protect) == ("html", "nonewlines", ("ACME GmbH", "x"))
    post(client)
    request = translator.requests[-1]
    assert (request.format, request.split_sentences, request.protect) == ("text", "on", ())


def test_timings_and_usage_come_on_request(client):
    answer = post(client, include=["timings", "usage"])
    assert answer["timings"]["queue_seconds"] == 0.002
    assert answer["usage"] == {
        "model": "scripted",
        "source": "en",
        "target": "de",
        "num_source_tokens": 2,
        "num_target_tokens": 3,
        "num_length_stops": 0,
    }


def test_decoding_options_reach_the_translator(client, translator):
    decoding = {"beam_size": 4, "length_penalty": 1, "early_stopping": "never", "sampling": False, "top_p": 0.5}
    post(client, decoding=decoding, alternatives=3, include=["alignments"])
    request = translator.requests[-1]
    assert request.options == PartialOptions(
        beam_size=4, length_penalty=1.0, early_stopping="never", sampling=False, top_p=0.5
    )
    assert request.num_alternatives == 3
    assert request.details.alignments


def test_the_deadline_is_the_callers_or_the_default(client, translator):
    post(client, timeout_seconds=7)
    post(client)
    assert 6 < translator.requests[0].deadline_seconds <= 7
    assert 59 < translator.requests[1].deadline_seconds <= 60


@pytest.mark.parametrize(
    "media_type",
    [
        None,
        "application/json",
        "APPLICATION/JSON; charset=UTF-8",
        "application/vnd.api+json",
        "application/json;charset=utf8",
    ],
)
def test_json_is_taken_under_any_of_its_names(client, media_type):
    headers = {} if media_type is None else {"Content-Type": media_type}
    answer = client.post("/translate", content='{"q": "ä", "source": "en", "target": "de"}'.encode(), headers=headers)
    assert answer.json() == {"translatedText": "de:ä"}


def test_a_byte_order_mark_before_the_body_is_ignored(client):
    body = b'\xef\xbb\xbf{"q": "a", "source": "en", "target": "de"}'
    assert client.post("/translate", content=body).status_code == 200


def test_languages_list_sources_with_their_targets(client):
    assert client.get("/languages").json() == [
        {"code": "de", "name": "German", "targets": ["en"]},
        {"code": "en", "name": "English", "targets": ["de", "fr"]},
    ]


def test_a_plain_request_id_is_kept_and_any_other_replaced(client):
    assert client.get("/healthz", headers={"X-Request-ID": "job-7.a_b"}).headers["X-Request-ID"] == "job-7.a_b"
    for given in ("", "a b", "x" * 65, "<script>", "a\n"):
        answer = client.get("/healthz", headers={"X-Request-ID": given})
        assert answer.headers["X-Request-ID"] != given
        assert len(answer.headers["X-Request-ID"]) == 32
    assert client.get("/healthz").headers["X-Request-ID"] != client.get("/healthz").headers["X-Request-ID"]


def test_no_origin_is_allowed_by_default(client):
    answer = client.get("/languages", headers={"Origin": "https://example.org"})
    assert not [name for name in answer.headers if name.startswith("access-control")]
