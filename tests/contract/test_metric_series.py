"""Metrics that HTTP requests move, and a number of series that no caller can change."""

import random
import string

import pytest
from prometheus_client.parser import text_string_to_metric_families

from service import errors
from service.translation.registry import QueueGauges

REQUEST = {"q": "the house", "source": "en", "target": "de"}


def samples(client) -> dict[tuple[str, frozenset], float]:
    families = text_string_to_metric_families(client.get("/metrics").text)
    return {(s.name, frozenset(s.labels.items())): s.value for family in families for s in family.samples}


def value(client, name, **labels) -> float:
    return samples(client)[name, frozenset(labels.items())]


def test_strange_requests_leave_the_number_of_series_unchanged(client, translator):
    before = set(samples(client))
    rng = random.Random(7)
    for _ in range(500):
        word = "".join(rng.choices(string.ascii_letters, k=8))
        client.request(rng.choice(["GET", "POST", "PUT", "BREW", word]), f"/{word}/{word}")
        client.post("/translate", json=REQUEST | {"source": word, "target": word})
    for path in ("/translate", "/metrics", "/docs", "/healthz"):
        for method in ("GET", "HEAD", "POST", "DELETE", "OPTIONS", "TRACE", "BREW"):
            client.request(method, path)
    for failure in (
        errors.UnsupportedPairError("no"),
        errors.QueueFullError("no", 1),
        errors.DeadlineExceededError("no"),
        errors.EngineError("no"),
        errors.TooLargeError("no"),
        KeyError("no"),
    ):
        translator.failure = failure
        client.post("/translate", json=REQUEST)
    assert set(samples(client)) == before


OUTCOMES = {
    "ok": (None, None),
    "unsupported_pair": (errors.UnsupportedPairError("no"), None),
    "invalid": (errors.InvalidOptionError("no"), None),
    "overloaded": (errors.QueueFullError("no", 1), "queue_full"),
    "deadline": (errors.DeadlineExceededError("no"), None),
    "not_ready": (errors.NotReadyError("no"), "not_ready"),
    "draining": (errors.ShuttingDownError("no"), "draining"),
    "too_large": (errors.TooLargeError("no"), "too_large"),
    "error": (errors.EngineError("no"), None),
}


@pytest.mark.parametrize(("outcome", "failure", "reason"), [(name, *case) for name, case in OUTCOMES.items()])
def test_each_outcome_is_counted_under_its_pair(client, translator, outcome, failure, reason):
    translator.failure = failure
    client.post("/translate", json=REQUEST)
    assert value(client, "verso_translations_total", pair="en-de", outcome=outcome) == 1
    if reason is not None:
        assert value(client, "verso_rejections_total", reason=reason) == 1


def test_a_pair_that_is_not_loaded_counts_as_other(client, translator):
    client.post("/translate", json=REQUEST | {"source": "xx"})
    client.post("/translate", content="{")
    assert value(client, "verso_translations_total", pair="other", outcome="ok") == 1
    assert value(client, "verso_translations_total", pair="other", outcome="invalid") == 1


def test_tokens_are_counted_by_pair(client):
    client.post("/translate", json=REQUEST | {"q": ["the house", "a"]})
    assert value(client, "verso_source_tokens_total", pair="en-de") == 3
    assert value(client, "verso_target_tokens_total", pair="en-de") == 5


def test_segments_are_counted_by_how_they_were_treated(client):
    client.post("/translate", json=REQUEST | {"q": ["the house", "a"]})
    assert value(client, "verso_placeholder_segments_total", pair="en-de", way="aligned") == 2
    assert value(client, "verso_placeholder_segments_total", pair="en-de", way="copied") == 0
    assert value(client, "verso_retries_total", pair="en-de", reason="repetition") == 2
    assert value(client, "verso_retries_total", pair="en-de", reason="digits") == 0


def test_requests_are_counted_by_route_template_method_and_code(client):
    client.post("/translate", json=REQUEST)
    client.post("/translate", content="{")
    client.get("/translate")
    assert value(client, "verso_http_requests_total", route="/translate", method="POST", code="200") == 1
    assert value(client, "verso_http_requests_total", route="/translate", method="POST", code="400") == 1
    assert value(client, "verso_http_requests_total", route="unmatched", method="GET", code="405") == 1
    assert value(client, "verso_http_request_duration_seconds_count", route="/translate") == 2


def test_queue_gauges_are_read_when_scraped(client, registry):
    registry.load = QueueGauges(1, 20, 3, 12)
    assert value(client, "verso_waiting_sequences") == 1
    assert value(client, "verso_waiting_tokens") == 20
    assert value(client, "verso_running_sequences") == 3
    assert value(client, "verso_running_rows") == 12


def test_the_loaded_models_are_shown_as_they_really_run(client):
    labels = {"model": "scripted", "revision": "0123456789ab", "precision": "int8", "provider": "CPUExecutionProvider"}
    assert value(client, "verso_model_info", threads="2", **labels) == 1


def test_metrics_answer_on_their_bare_path_in_both_formats(client):
    plain = client.get("/metrics", follow_redirects=False)
    assert plain.status_code == 200
    assert plain.headers["Content-Type"].startswith("text/plain; version=")
    openmetrics = client.get("/metrics", headers={"Accept": "application/openmetrics-text; version=1.0.0"})
    assert openmetrics.headers["Content-Type"].startswith("application/openmetrics-text")
    assert openmetrics.text.endswith("# EOF\n")


def test_the_series_of_a_pair_stay_within_their_budget(client):
    names = [dict(labels) for _, labels in samples(client)]
    assert len([labels for labels in names if labels.get("pair") == "en-de"]) <= 40
    assert len([labels for labels in names if "pair" not in labels]) <= 500
