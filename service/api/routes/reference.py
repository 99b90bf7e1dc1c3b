"""GET /openapi.json and /docs: the description of this API, for programs and people."""

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse

from service.api.reference_page import CONTENT_SECURITY_POLICY, render_reference

router = APIRouter(include_in_schema=False)


@router.get("/openapi.json")
async def openapi(request: Request) -> Response:
    """Gives the OpenAPI document."""
    return JSONResponse(_app(request).openapi())


@router.get("/docs")
async def docs(request: Request) -> Response:
    """Gives the reference as one page that needs no script and no other host."""
    page = render_reference(_app(request).openapi())
    return HTMLResponse(page, headers={"Content-Security-Policy": CONTENT_SECURITY_POLICY})


def _app(request: Request) -> FastAPI:
    app = request.app
    assert isinstance(app, FastAPI), "routes are served by the app of create_app"
    return app
