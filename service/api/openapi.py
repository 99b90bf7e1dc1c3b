"""The OpenAPI document: bodies that routes read themselves, failures in our shape, and nothing else by hand."""

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel

from service.api.schemas import ErrorAnswer, TranslateBody, any_schema

_BODIES: tuple[type[BaseModel], ...] = (TranslateBody,)
_FAILURES = {
    400: "The body is not JSON in UTF-8.",
    404: "No loaded model translates between the two languages.",
    408: "The body did not arrive in time.",
    413: "The body, a text or the number of texts is too large.",
    415: "The body is not JSON, is compressed, or is in another encoding.",
    422: "A field is missing, unknown or out of range, or options contradict each other.",
    429: "Too much is waiting already; try again after Retry-After seconds.",
    500: "The service failed.",
    503: "Models are loading or the service is stopping; try again after Retry-After seconds.",
    504: "The time of the request ran out.",
}
_DESCRIPTION = """\
Translates texts with neural models on your own machine. Every failure has one shape: an `error` with a stable `code`,
whether the same request may succeed later, and which fields are wrong. Texts are never logged."""


def failures(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Documents that a route answers these statuses with an ErrorAnswer."""
    return {status: {"model": ErrorAnswer, "description": _FAILURES[status]} for status in statuses}


def json_body(model: type[BaseModel]) -> dict[str, Any]:
    """Documents the JSON body of a route that reads it with `read_model`."""
    schema = {"$ref": f"#/components/schemas/{model.__name__}"}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def describe(app: FastAPI) -> Callable[[], dict[str, Any]]:
    """Makes the function that builds the document of an app once and repeats it after that."""
    documents: list[dict[str, Any]] = []

    def document() -> dict[str, Any]:
        if not documents:
            documents.append(_build(app))
        return documents[0]

    return document


def _build(app: FastAPI) -> dict[str, Any]:
    document = get_openapi(title=app.title, version=app.version, description=_DESCRIPTION, routes=app.routes)
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    for model in _BODIES:
        schema = any_schema(model)
        schemas.update(schema.pop("$defs", {}))
        schemas[model.__name__] = schema
    document["components"]["schemas"] = dict(sorted(schemas.items()))
    return document
