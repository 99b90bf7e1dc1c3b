"""Building the app from settings, and loading the models while it already answers.

Joins the rooms below with the routes. Running a server and stopping it is `server`'s.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware

from service import VERSION
from service.api.backend import Backend
from service.api.body import BodyLimits
from service.api.direct import DirectRoutes
from service.api.lifecycle import Lifecycle
from service.api.limits import RequestLimits
from service.api.middleware import RequestMiddleware
from service.api.openapi import describe
from service.api.problems import handle_expected, handle_routing
from service.api.routes import ROUTERS, translate
from service.api.services import Services
from service.errors import VersoError
from service.loading import open_models
from service.observability.logs import Logger
from service.observability.metrics import Metrics
from service.scheduler.stats import StatsSink
from service.settings import Settings
from service.translation.translator import Translator

BackendOpener = Callable[[Settings, StatsSink], Backend]


def open_backend(settings: Settings, sink: StatsSink) -> Backend:
    """Opens all models and a translator over them; raises as `open_models` does."""
    registry = open_models(settings, sink)
    return Backend(Translator(registry), registry)


def create_app(settings: Settings, logger: Logger, opener: BackendOpener = open_backend) -> FastAPI:
    """Makes the app; its models load once it starts, and it is ready when they have translated something.

    opener: makes the backend, called in a worker thread. When it fails, `app.state.services.lifecycle.failure` says why
    and nothing is served any more.
    """
    lifecycle = Lifecycle()
    services = Services(
        lifecycle=lifecycle,
        metrics=Metrics(_served_routes(), lambda: lifecycle.loaded.registry if lifecycle.loaded else None),
        logger=logger,
        body_limits=BodyLimits(settings.max_body_bytes, settings.body_timeout_seconds),
        request_limits=RequestLimits(
            max_texts=settings.max_texts,
            max_text_characters=settings.max_text_characters,
            default_timeout_seconds=settings.default_timeout_seconds,
            max_timeout_seconds=settings.max_timeout_seconds,
        ),
    )

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        loading = asyncio.create_task(_load(settings, services, opener))
        try:
            yield
        finally:
            await _unload(loading, lifecycle)

    app = FastAPI(
        title="Verso",
        version=VERSION,
        lifespan=lifespan,
        middleware=[
            Middleware(RequestMiddleware, services=services),
            Middleware(DirectRoutes, routes=translate.router.routes),
        ],
        exception_handlers={VersoError: handle_expected, HTTPException: handle_routing},
        openapi_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
        # Spans would carry paths and query strings, which may hold texts.
        telemetry={"tracing": False, "metrics": False, "logs": False, "operation_spans": False},
    )
    app.state.services = services
    for router in ROUTERS:
        app.include_router(router)
    app.openapi = describe(app)  # type: ignore[method-assign]  # FastAPI's documented way to extend the document
    return app


async def _load(settings: Settings, services: Services, opener: BackendOpener) -> None:
    try:
        backend = await asyncio.to_thread(opener, settings, services.metrics.steps)
    except Exception as error:
        services.lifecycle.fail(error)
        return
    services.metrics.models_loaded(backend.registry.languages())
    services.lifecycle.load(backend)
    services.logger.info("ready", models=[model.name for model in backend.registry.models()])


async def _unload(loading: asyncio.Task[None], lifecycle: Lifecycle) -> None:
    # Loading cannot be interrupted; what it opens must still be closed.
    await loading
    if lifecycle.loaded is not None:
        # Requests have been waited for already; what is left has nobody to answer to.
        await asyncio.to_thread(lifecycle.loaded.registry.close, 0.0)


def _served_routes() -> list[tuple[str, str]]:
    routes = [route for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)]
    return [(route.path, method) for route in routes for method in sorted(route.methods or ())]
