"""GET /healthz and /readyz: whether the process lives, and whether it wants requests.

Liveness touches nothing but the event loop. Readiness looks at what loading showed and never runs a model, so that it
does not fail when the service is merely busy.
"""

from fastapi import APIRouter, Request

from service.api.openapi import failures
from service.api.schemas import StatusAnswer
from service.api.services import services_of

router = APIRouter()


@router.get("/healthz", summary="Liveness")
async def healthz() -> StatusAnswer:
    """Answers as long as the process serves at all."""
    return StatusAnswer(status="ok")


@router.get("/readyz", responses=failures(503), summary="Readiness")
async def readyz(request: Request) -> StatusAnswer:
    """Answers 200 once every model has translated something, and 503 before that and from SIGTERM on."""
    services_of(request).lifecycle.check_ready()
    return StatusAnswer(status="ready")
