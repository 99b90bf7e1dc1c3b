"""Liveness and readiness over the life of the process."""

import threading

import pytest
from starlette.testclient import TestClient

from service import errors
from service.api.backend import Backend
from service.app import create_app
from service.observability.logs import create_logger
from tests.contract.scripted_backend import ScriptedRegistry, ScriptedTranslator
from tests.contract.serving import wait_until

REQUEST = {"q": "a", "source": "en", "target": "de"}


@pytest.fixture
def gate() -> threading.Event:
    return threading.Event()


@pytest.fixture
def loading_client(settings, registry, translator, log, gate):
    def opener(settings, sink):
        gate.wait(20)
        return Backend(translator, registry)

    with TestClient(create_app(settings, create_logger(log, "debug", "json"), opener)) as client:
        yield client
        gate.set()


def test_while_models_load_the_process_lives_but_is_not_ready(loading_client, gate):
    assert loading_client.get("/healthz").json() == {"status": "ok"}
    for answer in (
        loading_client.get("/readyz"),
        loading_client.get("/languages"),
        loading_client.post("/translate", json=REQUEST),
    ):
        assert answer.status_code == 503
        assert answer.json()["error"]["code"] == "not_ready"
        assert answer.json()["error"]["retryable"]
        assert int(answer.headers["Retry-After"]) >= 1
    assert "verso_ready 0.0" in loading_client.get("/metrics").text
    gate.set()
    wait_until(lambda: loading_client.get("/readyz").status_code == 200)
    assert loading_client.post("/translate", json=REQUEST).status_code == 200
    assert "verso_ready 1.0" in loading_client.get("/metrics").text


def test_a_model_that_fails_later_makes_the_service_unready_but_leaves_it_alive(client, registry):
    registry.is_ready = False
    assert client.get("/readyz").status_code == 503
    assert client.get("/healthz").status_code == 200


def test_a_busy_service_stays_ready(client, translator):
    translator.holds = True
    thread = threading.Thread(target=client.post, args=("/translate",), kwargs={"json": REQUEST})
    thread.start()
    assert translator.started.wait(20)
    assert client.get("/readyz").status_code == 200
    assert client.get("/healthz").status_code == 200
    translator.release.set()
    thread.join(20)


def test_a_failed_load_is_kept_for_the_server_and_nothing_is_served(settings, log):
    def opener(settings, sink):
        raise errors.PackageInvalidError("models cannot be loaded", ["a: damaged", "b: damaged"])

    app = create_app(settings, create_logger(log, "debug", "json"), opener)
    lifecycle = app.state.services.lifecycle
    with TestClient(app) as client:
        wait_until(lambda: lifecycle.failure is not None)
        assert client.get("/readyz").status_code == 503
        assert client.post("/translate", json=REQUEST).status_code == 503
    assert lifecycle.failure.problems == ("a: damaged", "b: damaged")


def test_models_are_closed_when_the_app_ends(app, registry):
    with TestClient(app) as client:
        wait_until(lambda: client.get("/readyz").status_code == 200)
        assert not registry.is_closed
    assert registry.is_closed


def test_models_that_were_still_loading_at_the_end_are_closed_too(settings, log):
    registry = ScriptedRegistry()
    gate = threading.Event()

    def opener(settings, sink):
        gate.wait(20)
        return Backend(ScriptedTranslator(), registry)

    with TestClient(create_app(settings, create_logger(log, "debug", "json"), opener)):
        threading.Timer(0.05, gate.set).start()
    assert registry.is_closed
