"""GET /metrics: the metrics of this app in a Prometheus text format."""

from fastapi import APIRouter, Request, Response

from service.api.services import services_of

router = APIRouter()


@router.get(
    "/metrics",
    summary="Metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def metrics(request: Request) -> Response:
    """Writes all metrics, as OpenMetrics when the Accept header asks for it."""
    body, content_type = services_of(request).metrics.expose(request.headers.get("accept", ""))
    return Response(body, headers={"Content-Type": content_type})
