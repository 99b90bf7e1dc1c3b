"""The short way to a route answers as the framework's own way does, which a root path still takes."""

import asyncio
import json

import pytest
from fastapi import APIRouter
from starlette.testclient import TestClient

from service import errors
from service.api.direct import DirectRoutes
from tests.contract.serving import wait_until

REQUEST = {"q": "the house", "source": "en", "target": "de"}


@pytest.fixture
def both_ways(app):
    """The same app twice: below a root path every request goes through the framework."""
    with TestClient(app, raise_server_exceptions=False) as direct:
        wait_until(lambda: direct.get("/readyz").status_code == 200)
        yield direct, TestClient(app, raise_server_exceptions=False, root_path="/below")


@pytest.mark.parametrize(
    ("body", "failure", "status"),
    [
        (REQUEST, None, 200),
        (REQUEST | {"q": 3}, None, 422),
        (REQUEST, errors.QueueFullError("too much is waiting", 7.0), 429),
        (REQUEST, errors.EngineError("a graph failed"), 500),
        (REQUEST, RuntimeError("unforeseen"), 500),
    ],
)
def test_answers_headers_and_failures_are_the_same_both_ways(both_ways, translator, log, body, failure, status):
    translator.failure = failure
    told = []
    for client, path in zip(both_ways, ("/translate", "/below/translate"), strict=True):
        log.truncate(log.seek(0))
        answer = client.post(path, content=json.dumps(body), headers={"X-Request-ID": "mine"})
        line = json.loads(log.getvalue().splitlines()[-1])
        told.append((answer.status_code, dict(answer.headers), answer.content, line["route"], line["status"]))
    assert told[0][0] == status
    assert told[0] == told[1]


def test_only_the_routes_that_were_given_go_the_short_way():
    framework, asked = [], []

    async def other(scope, receive, send):
        framework.append((scope["type"], scope.get("path")))

    async def endpoint(request):
        asked.append(request.url.path)
        raise errors.NotReadyError("models are still loading")

    router = APIRouter()
    router.add_api_route("/short", endpoint, methods=["POST"], response_model=None)
    sent = []

    async def send(message):
        sent.append(message)

    async def serve():
        direct = DirectRoutes(other, router.routes)
        for kind, method, path in (
            ("http", "POST", "/short"),
            ("http", "GET", "/short"),
            ("http", "POST", "/shorter"),
            ("lifespan", "", ""),
        ):
            scope = {"type": kind, "method": method, "path": path, "headers": [], "state": {"request_id": "mine"}}
            await direct(scope | {"server": ("x", 80), "query_string": b""}, None, send)

    asyncio.run(serve())
    assert asked == ["/short"]
    assert sent[0]["status"] == 503
    assert framework == [("http", "/short"), ("http", "/shorter"), ("lifespan", "")]
