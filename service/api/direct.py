"""The short way to routes that are asked for all the time: their functions, without the framework's layers in between.

Matching, dependencies and exit stacks cost more than all the rest of answering, and these routes use none of them. The
framework has the same routes: it describes them, refuses other methods, and serves them below a root path.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping

from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from service.api.problems import handle_expected
from service.errors import VersoError

Endpoint = Callable[[Request], Awaitable[Response]]


class DirectRoutes:
    """Calls the functions of some routes itself, and gives all other requests to `app`.

    routes: they take the request and nothing else, give a whole response, and have no parameters in their paths.
    """

    def __init__(self, app: ASGIApp, routes: Iterable[BaseRoute]) -> None:
        self._app = app
        self._routes: Mapping[tuple[str, str], APIRoute] = {
            (method, route.path): route
            for route in routes
            if isinstance(route, APIRoute)
            for method in route.methods or ()
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one ASGI connection."""
        is_plain = scope["type"] == "http" and not scope.get("root_path")
        route = self._routes.get((scope["method"], scope["path"])) if is_plain else None
        if route is None:
            await self._app(scope, receive, send)
            return
        scope["route"] = route
        request = Request(scope, receive, send)
        endpoint: Endpoint = route.endpoint
        try:
            response = await endpoint(request)
        except VersoError as error:
            response = await handle_expected(request, error)
        await response(scope, receive, send)
