"""An app over a scripted backend, with its log at hand."""

import io
from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from service.api.backend import Backend
from service.app import create_app
from service.observability.logs import create_logger
from service.settings import Settings
from tests.contract.scripted_backend import ScriptedRegistry, ScriptedTranslator
from tests.contract.serving import serving, wait_until


@pytest.fixture
def settings() -> Settings:
    return Settings(max_body_bytes=4_000_000, max_texts=30_000, max_text_characters=200, max_timeout_seconds=90, port=0)


@pytest.fixture
def translator() -> ScriptedTranslator:
    return ScriptedTranslator()


@pytest.fixture
def registry() -> ScriptedRegistry:
    return ScriptedRegistry()


@pytest.fixture
def log() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def app(settings: Settings, translator: ScriptedTranslator, registry: ScriptedRegistry, log: io.StringIO) -> FastAPI:
    logger = create_logger(log, "debug", "json")
    return create_app(settings, logger, lambda settings, sink: Backend(translator, registry))


@pytest.fixture
def client(app: FastAPI) -> Iterator[TestClient]:
    with TestClient(app, raise_server_exceptions=False) as client:
        wait_until(lambda: client.get("/readyz").status_code == 200)
        yield client


@pytest.fixture
def served(app: FastAPI, settings: Settings) -> Iterator[int]:
    """The app on a real socket; gives its port."""
    with serving(app, settings) as port:
        yield port
