"""What routes and middleware share in one app instance, and how a route gets at it."""

from dataclasses import dataclass

from starlette.requests import Request

from service.api.body import BodyLimits
from service.api.lifecycle import Lifecycle
from service.api.limits import RequestLimits
from service.observability.logs import Logger
from service.observability.metrics import Metrics


@dataclass(frozen=True, slots=True)
class Services:
    """The collaborators of the HTTP rooms, made once by `app`."""

    lifecycle: Lifecycle
    metrics: Metrics
    logger: Logger
    body_limits: BodyLimits
    request_limits: RequestLimits


def services_of(request: Request) -> Services:
    """Finds the services of the app that serves a request."""
    services = request.app.state.services
    assert isinstance(services, Services), "create_app sets the services before the first request"
    return services
