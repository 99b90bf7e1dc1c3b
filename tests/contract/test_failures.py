"""Every failure has one shape, the right status, and nothing of what the caller sent."""

import json

import pytest

from service import errors

REQUEST = {"q": "the house", "source": "en", "target": "de"}
# Stands for anything a caller sends.
CANARY = "canary7f3a"


def failure_of(answer, status):
    assert answer.status_code == status, answer.text
    assert answer.headers["Content-Type"] == "application/json"
    body = answer.json()
    assert list(body) == ["error"]
    error = body["error"]
    assert list(error) == ["code", "message", "request_id", "retryable", "details"]
    assert error["request_id"] == answer.headers["X-Request-ID"]
    assert all(list(detail) == ["field", "problem"] for detail in error["details"])
    assert CANARY not in answer.text
    assert len(answer.content) < 4_000
    return error


def post(client, body, **headers):
    content = body if isinstance(body, (bytes, str)) else json.dumps(body)
    return client.post("/translate", content=content, headers={"Content-Type": "application/json"} | headers)


MALFORMED = {
    "nothing": b"",
    "a brace": b"{",
    "words": b"canary7f3a",
    "invalid utf-8": b'{"q": "canary7f3a\xff"}',
    "cut utf-8": b'{"q": "canary7f3a\xc3',
    "utf-16": json.dumps(REQUEST).encode("utf-16"),
    "utf-16 without mark": json.dumps(REQUEST).encode("utf-16-le"),
    "deep lists": b"[" * 100_000,
    "deep objects": b'{"q":' * 100_000,
    "deep and closed": b'{"q":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "a number of 5000 digits": b'{"q": ' + b"7" * 5000 + b"}",
    "a raw line break in a string": b'{"q": "canary7f3a\n"}',
    "two values": b"{} {}",
    "a NUL after the object": b"{}\x00",
}


@pytest.mark.parametrize("body", MALFORMED.values(), ids=MALFORMED.keys())
def test_a_body_that_is_not_json_in_utf_8_is_400(client, body):
    error = failure_of(post(client, body), 400)
    assert error["code"] == "malformed_body"
    assert not error["retryable"]


def fields(**changes):
    return json.dumps(REQUEST | changes)


def raw(field, value):
    """A request whose field holds a piece of JSON that Python would not write."""
    return json.dumps(REQUEST | {field: "@"}).replace('"@"', value)


INVALID = {
    "no object": ("[]", "body"),
    "null": ("null", "body"),
    "q is a number": (fields(q=3), "q"),
    "q is null": (fields(q=None), "q"),
    "q is an object": (fields(q={CANARY: CANARY}), "q"),
    "q is NaN": (raw("q", "NaN"), "q"),
    "q is a lone surrogate": (raw("q", '"canary7f3a\\ud800"'), "q"),
    "q holds a lone surrogate": (raw("q", '["a", "\\udc00canary7f3a"]'), "q[1]"),
    "q holds a number": (fields(q=["a", "b", 7]), "q[2]"),
    "q holds many wrong things": (fields(q=[{CANARY: n} for n in range(20_000)]), "q[0]"),
    "q is empty": (fields(q=[]), "q"),
    "source is a surrogate": (raw("source", '"\\ud800"'), "source"),
    "source is long": (fields(source="canary7f3a" * 9), "source"),
    "source has a space": (fields(source="canary7f3a en"), "source"),
    "source is empty": (fields(source=""), "source"),
    "target is a list": (fields(target=["de"]), "target"),
    "a false number": (fields(alternatives=False), "alternatives"),
    "a number as text": (fields(alternatives="1"), "alternatives"),
    "a fraction for a count": (fields(alternatives=1.5), "alternatives"),
    "too many alternatives": (fields(alternatives=9), "alternatives"),
    "a huge count": (raw("alternatives", "1e999"), "alternatives"),
    "a negative count": (fields(alternatives=-1), "alternatives"),
    "another format": (fields(format=CANARY), "format"),
    "xml": (fields(format="xml"), "format"),
    "an unknown way to split": (fields(split_sentences="0"), "split_sentences"),
    "split_sentences is a boolean": (fields(split_sentences=True), "split_sentences"),
    "protect is a string": (fields(protect=CANARY), "protect"),
    "protect is blank": (fields(protect=["a", " \n"]), "protect[1]"),
    "protect is empty": (fields(protect=[""]), "protect[0]"),
    "protect is a number": (fields(protect=[7]), "protect[0]"),
    "protect is a surrogate": (raw("protect", '["\\ud800canary7f3a"]'), "protect[0]"),
    "protect is long": (fields(protect=["canary7f3a" * 21]), "protect[0]"),
    "protect has too many": (fields(protect=[f"canary7f3a{n}" for n in range(101)]), "protect"),
    "an unknown field": (fields(**{CANARY: CANARY}), "body"),
    "a surrogate for a name": (json.dumps(REQUEST)[:-1] + ', "\\ud800": 1}', "body"),
    "an unknown option": (fields(decoding={CANARY: CANARY}), "decoding"),
    "a surrogate for an option": (raw("decoding", '{"\\ud800canary7f3a": 1}'), "decoding"),
    "an option NaN": (raw("decoding", '{"length_penalty": NaN}'), "decoding.length_penalty"),
    "an option infinite": (raw("decoding", '{"length_penalty": 1e999}'), "decoding.length_penalty"),
    "an option minus infinite": (raw("decoding", '{"length_penalty": -1e999}'), "decoding.length_penalty"),
    "an option Infinity": (raw("decoding", '{"temperature": Infinity}'), "decoding.temperature"),
    "an integer of 4000 digits": (raw("decoding", '{"seed": ' + "7" * 4000 + "}"), "decoding.seed"),
    "a float of 4000 digits": (raw("decoding", '{"top_p": ' + "7" * 4000 + "}"), "decoding.top_p"),
    "early_stopping is text": (fields(decoding={"early_stopping": CANARY}), "decoding.early_stopping"),
    "early_stopping is a number": (fields(decoding={"early_stopping": 1}), "decoding.early_stopping"),
    "decoding is a list": (fields(decoding=[CANARY]), "decoding"),
    "include is unknown": (fields(include=[CANARY]), "include[0]"),
    "include is long": (fields(include=["scores"] * 20_000), "include"),
    "a timeout of nothing": (fields(timeout_seconds=0), "timeout_seconds"),
    "a timeout over the bound": (fields(timeout_seconds=91), "timeout_seconds"),
    "a timeout NaN": (raw("timeout_seconds", "NaN"), "timeout_seconds"),
}


@pytest.mark.parametrize(("body", "field"), INVALID.values(), ids=INVALID.keys())
def test_a_field_that_is_not_valid_is_422_and_named(client, translator, body, field):
    error = failure_of(post(client, body), 422)
    assert error["code"] == "invalid_request"
    assert field in [detail["field"] for detail in error["details"]]
    assert translator.requests == []


def test_every_problem_is_listed_at_once(client):
    error = failure_of(post(client, {"q": 1, "decoding": {"beam_size": 0}, "alternatives": 99}), 422)
    assert {detail["field"] for detail in error["details"]} == {
        "q",
        "source",
        "target",
        "decoding.beam_size",
        "alternatives",
    }


def test_unknown_fields_are_answered_with_the_known_ones(client):
    error = failure_of(post(client, REQUEST | {"beem": 1, "texts": 2}), 422)
    (detail,) = error["details"]
    assert "alternatives" in detail["problem"]


def test_deep_nesting_that_json_allows_is_refused_politely(client):
    failure_of(post(client, b'{"q":' + b"[" * 500 + b"]" * 500 + b"}"), 422)


FAILURES = {
    "pair": (errors.UnsupportedPairError("no such pair"), 404, "unsupported_language_pair"),
    "option": (errors.InvalidOptionError("no", ["top_k, seed: only with sampling"]), 422, "invalid_option"),
    "untranslatable": (errors.UntranslatableError("too long a stretch"), 422, "untranslatable"),
    "size": (errors.TooLargeError("too large"), 413, "too_large"),
    "queue": (errors.QueueFullError("full", 2.2), 429, "queue_full"),
    "not ready": (errors.NotReadyError("loading"), 503, "not_ready"),
    "decoding lost": (errors.DecodingLostError("lost"), 503, "decoding_lost"),
    "stopping": (errors.ShuttingDownError("stopping"), 503, "shutting_down"),
    "deadline": (errors.DeadlineExceededError("too late"), 504, "deadline_exceeded"),
    "engine": (errors.EngineError("graph canary7f3a failed", ["canary7f3a"]), 500, "engine_failed"),
    "a mistake": (KeyError("canary7f3a"), 500, "internal_error"),
    "memory": (MemoryError(), 500, "internal_error"),
}


@pytest.mark.parametrize(("failure", "status", "code"), FAILURES.values(), ids=FAILURES.keys())
def test_what_the_translator_raises_has_its_status(client, translator, failure, status, code):
    translator.failure = failure
    answer = post(client, REQUEST)
    error = failure_of(answer, status)
    assert error["code"] == code
    assert error["retryable"] == isinstance(failure, errors.MomentError)
    assert ("Retry-After" in answer.headers) == (status in (429, 503))


def test_options_are_named_below_decoding(client, translator):
    translator.failure = errors.InvalidOptionError("no", ["top_k, seed: only with sampling"])
    details = failure_of(post(client, REQUEST), 422)["details"]
    assert details == [
        {"field": "decoding.top_k", "problem": "only with sampling"},
        {"field": "decoding.seed", "problem": "only with sampling"},
    ]


@pytest.mark.parametrize(("seconds", "header"), [(0.0, "1"), (2.2, "3"), (1e9, "60"), (float("inf"), "60")])
def test_retry_after_is_whole_seconds_within_bounds(client, translator, seconds, header):
    translator.failure = errors.QueueFullError("full", seconds)
    assert post(client, REQUEST).headers["Retry-After"] == header


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "multipart/form-data; boundary=x"},
        {"Content-Type": "application/json; charset=utf-16"},
        {"Content-Type": "application/json; charset*=%ff''x"},
        {"Content-Type": "canary7f3a"},
        {"Content-Encoding": "gzip"},
    ],
)
def test_a_body_of_another_kind_is_415(client, headers):
    assert failure_of(post(client, REQUEST, **headers), 415)["code"] == "unsupported_media_type"


def test_sizes_over_a_limit_are_413(client, translator, settings):
    too_long = "x" * (settings.max_text_characters + 1)
    for body in (REQUEST | {"q": too_long}, REQUEST | {"q": ["a", too_long]}, REQUEST | {"q": ["a"] * 30_001}):
        assert failure_of(post(client, body), 413)["details"][0]["field"] == "q"
    assert translator.requests == []


def test_a_body_over_the_limit_is_413_whether_declared_or_not(client, settings):
    part = b" " * 100_000

    def parts():
        for _ in range(settings.max_body_bytes // len(part) + 1):
            yield part

    for answer in (post(client, b"".join(parts())), client.post("/translate", content=parts())):
        assert failure_of(answer, 413)["code"] == "too_large"
        assert answer.headers["Connection"] == "close"


def test_a_body_at_the_limit_is_read(client, settings):
    body = json.dumps(REQUEST).encode()
    assert post(client, body + b" " * (settings.max_body_bytes - len(body))).status_code == 200


@pytest.mark.parametrize("path", ["/", "/translate/", "/canary7f3a", "/docs/../canary7f3a", "/%ff%00", "/metrics/x"])
def test_an_unknown_path_is_404(client, path):
    assert failure_of(client.get(path), 404)["code"] == "not_found"


def test_a_wrong_method_is_405_and_says_which_are_right(client):
    answer = client.get("/translate")
    assert failure_of(answer, 405)["code"] == "method_not_allowed"
    assert answer.headers["Allow"] == "POST"
    assert failure_of(client.request("BREW", "/metrics"), 405)
