"""Nothing a caller sends and nothing about a caller reaches a log line or a metric."""

import json
import logging

import pytest

from service import errors
from service.observability.logs import FIELDS, adopt_library_logs, create_logger, describe_exception

CANARY = "canary7f3a"
REQUEST = {"q": CANARY, "source": "en", "target": "de"}


def send_everything(client, translator):
    """Puts the canary wherever a caller can put anything, through good and bad requests."""
    headers = {
        "User-Agent": CANARY,
        "X-Forwarded-For": CANARY,
        "Authorization": CANARY,
        "Cookie": f"a={CANARY}",
        "X-Request-ID": f"{CANARY} with a space",
        "traceparent": CANARY,
    }
    for failure in (
        None,
        errors.EngineError("a graph failed"),
        KeyError(CANARY),
        ValueError(f"bad text {CANARY}"),
        errors.InvalidOptionError("no", ["seed: no"]),
    ):
        translator.failure = failure
        client.post(f"/translate?q={CANARY}", json=REQUEST, headers=headers)
    client.post("/translate", json={CANARY: CANARY, "source": CANARY, "decoding": {CANARY: 1}}, headers=headers)
    client.post("/translate", content=CANARY, headers=headers)
    client.get(f"/{CANARY}", headers=headers)
    client.request(CANARY.upper(), "/translate", headers=headers)


def test_no_log_line_and_no_metric_holds_anything_a_caller_sent(client, translator, log, capfd):
    send_everything(client, translator)
    output = capfd.readouterr()
    assert CANARY not in log.getvalue().lower()
    assert CANARY not in client.get("/metrics").text.lower()
    assert CANARY not in (output.out + output.err).lower()
    assert "testclient" not in log.getvalue()


def test_a_log_line_says_what_happened(client, log):
    client.post("/translate", json=REQUEST, headers={"X-Request-ID": "job-1"})
    (line,) = [
        entry
        for line in log.getvalue().splitlines()
        if (entry := json.loads(line))["event"] == "request" and entry["route"] == "/translate"
    ]
    assert line.pop("seconds") >= 0
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "event": "request",
        "level": "info",
        "request_id": "job-1",
        "route": "/translate",
        "status": 200,
        "outcome": "ok",
        "pair": "en-de",
        "num_texts": 1,
        "num_characters": len(CANARY),
        "num_source_tokens": 1,
        "num_target_tokens": 2,
    }


def test_an_unforeseen_failure_is_logged_with_its_place_and_id(client, translator, log):
    translator.failure = KeyError(CANARY)
    client.post("/translate", json=REQUEST, headers={"X-Request-ID": "job-1"})
    (line,) = [json.loads(line) for line in log.getvalue().splitlines() if "request failed" in line]
    assert line["request_id"] == "job-1"
    assert line["exception"][0] == "KeyError"
    assert any("scripted_backend.py" in place for place in line["exception"])


def test_probes_are_logged_at_debug_only(client, log):
    client.get("/healthz")
    client.get("/metrics")
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    assert {line["level"] for line in lines if line.get("route") in ("/healthz", "/metrics", "/readyz")} == {"debug"}


@pytest.mark.parametrize("form", ["json", "console"])
def test_a_field_that_is_not_listed_never_leaves(log, form):
    logger = create_logger(log, "info", form)
    logger.info("event", text=CANARY, q=CANARY, client=CANARY, route="/translate")
    assert CANARY not in log.getvalue()
    assert "/translate" in log.getvalue()
    assert not FIELDS & {"text", "texts", "q", "body", "client", "path", "query", "headers", "key"}


def test_an_exception_is_written_without_its_message_causes_included():
    try:
        try:
            raise ValueError(CANARY)
        except ValueError as error:
            raise KeyError(CANARY) from error
    except KeyError as error:
        lines = describe_exception(error)
    assert CANARY not in "".join(lines)
    assert [line for line in lines if not line.startswith(" ")] == ["KeyError", "ValueError"]


@pytest.fixture
def root_logger():
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    yield root
    root.handlers = handlers
    root.setLevel(level)
    logging.getLogger("uvicorn").setLevel(logging.NOTSET)


def test_messages_of_libraries_are_withheld_but_for_the_server(log, root_logger):
    adopt_library_logs(create_logger(log, "info", "json"), "info")
    logging.getLogger("asyncio").error("task failed: %s", CANARY)
    logging.getLogger("asyncio").error(CANARY, exc_info=ValueError(CANARY))
    logging.getLogger("uvicorn.error").warning("Invalid HTTP request received.")
    logging.getLogger("uvicorn.error").info("Started")
    logging.getLogger("other").debug(CANARY)
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    assert CANARY not in log.getvalue()
    assert [(line["logger"], line["event"]) for line in lines] == [
        ("asyncio", "library message withheld"),
        ("asyncio", "library message withheld"),
        ("uvicorn.error", "Invalid HTTP request received."),
    ]
    assert lines[1]["exception"] == ["ValueError"]
