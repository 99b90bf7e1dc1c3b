"""What happens around every request: an id, a last resort for unforeseen failures, metrics, and a log line.

Pure ASGI, because wrapping requests in another way hides from the routes that a caller has gone. Log lines carry the
route's template, never the path, query or address.
"""

import asyncio
import re
import time
from secrets import token_hex

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.api.problems import problem_response, unexpected_response
from service.api.services import Services
from service.errors import ShuttingDownError

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
QUIET_ROUTES = frozenset({"/healthz", "/readyz", "/metrics"})


class RequestMiddleware:
    """Goes round the whole app; sets `state.request_id`, answered in X-Request-ID, and `state.started` (monotonic)."""

    def __init__(self, app: ASGIApp, services: Services) -> None:
        self._app = app
        self._services = services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one ASGI connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.monotonic()
        answer = _Answer(send, _request_id(scope))
        scope.setdefault("state", {}).update(request_id=answer.request_id, started=started)
        try:
            await self._app(scope, receive, answer.send)
        except asyncio.CancelledError:
            if answer.status is not None or not self._services.lifecycle.aborted.is_set():
                raise
            # The server gives up on a request that the stop could not end, such as a body still arriving.
            stopping = ShuttingDownError("the service is stopping")
            await problem_response(stopping, answer.request_id)(scope, receive, answer.send)
        except Exception as error:
            self._services.logger.error("request failed", request_id=answer.request_id, exc_info=error)
            if answer.status is not None:
                # Half an answer is out; raising cuts the connection, which the caller can notice.
                raise
            await unexpected_response(answer.request_id)(scope, receive, answer.send)
        finally:
            self._report(scope, answer, time.monotonic() - started)

    def _report(self, scope: Scope, answer: "_Answer", seconds: float) -> None:
        route = getattr(scope.get("route"), "path", None)
        # Without a status nothing was sent: the task was cancelled by the server.
        status = answer.status or 500
        self._services.metrics.observe_request(route, scope["method"], status, seconds)
        log = self._services.logger.debug if route in QUIET_ROUTES else self._services.logger.info
        log(
            "request",
            request_id=answer.request_id,
            route=route or "unmatched",
            status=status,
            seconds=round(seconds, 6),
            **scope["state"].get("summary", {}),
        )


class _Answer:
    """Passes an answer on, adds the request id to it, and remembers its status."""

    def __init__(self, send: Send, request_id: str) -> None:
        self.request_id = request_id
        self.status: int | None = None
        self._send = send

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = [*message.get("headers", ()), (b"x-request-id", self.request_id.encode("ascii"))]
            message = {**message, "headers": headers}
        await self._send(message)


def _request_id(scope: Scope) -> str:
    """Takes the caller's id when it is short and plain, else makes one."""
    for name, value in scope["headers"]:
        if name == b"x-request-id":
            given: str = value.decode("latin-1")
            if _REQUEST_ID.fullmatch(given):
                return given
    return token_hex(16)
