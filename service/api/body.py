"""Reading a JSON request body: media type, size, time, encoding, syntax, then the fields of a model.

The only place bodies are read, so that every route has the same limits and no failure ever carries the input back.
"""

import asyncio
import json
from dataclasses import dataclass
from email.message import Message
from functools import lru_cache
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from service.api.field_problems import field_problems
from service.errors import (
    InvalidRequestError,
    MalformedBodyError,
    RequestCancelledError,
    SlowBodyError,
    TooLargeError,
    UnsupportedMediaTypeError,
)

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """Largest body in bytes, and seconds it may take to arrive."""

    max_bytes: int
    timeout_seconds: float


async def read_model(request: Request, model: type[M], limits: BodyLimits) -> M:
    """Reads the body as JSON and checks it against `model`.

    A missing Content-Type is taken for JSON: no cookie carries authority here, so no foreign page can abuse that.
    Raises UnsupportedMediaTypeError, TooLargeError, SlowBodyError, MalformedBodyError, InvalidRequestError, and
    RequestCancelledError when the caller leaves before the end of the body.
    """
    _check_media_type(request)
    try:
        async with asyncio.timeout(limits.timeout_seconds):
            body = await _read_bytes(request, limits.max_bytes)
    except TimeoutError:
        raise SlowBodyError("the body did not arrive in time") from None
    return _check_fields(model, _parse(body))


def _check_media_type(request: Request) -> None:
    if _header(request, b"content-encoding", "identity").lower() != "identity":
        raise UnsupportedMediaTypeError("the body must not be compressed")
    problem = _media_type_problem(_header(request, b"content-type"))
    if problem:
        raise UnsupportedMediaTypeError(problem)


def _header(request: Request, name: bytes, default: str = "") -> str:
    """Returns a header's first value."""
    return next((value.decode("latin-1") for key, value in request.scope["headers"] if key == name), default)


@lru_cache(maxsize=64)
def _media_type_problem(given: str) -> str:
    """Says what is wrong with a Content-Type; empty where nothing is."""
    if not given:
        return ""
    message = Message()
    message["content-type"] = given
    kind = message.get_content_type()
    charset = message.get_param("charset", "utf-8")
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        return "the body must be application/json"
    if not isinstance(charset, str) or charset.lower() not in ("utf-8", "utf8", "us-ascii"):
        return "the body must be in UTF-8"
    return ""


async def _read_bytes(request: Request, max_bytes: int) -> bytes:
    declared = _header(request, b"content-length")
    if declared.isascii() and declared.isdigit() and _exceeds(declared, max_bytes):
        raise TooLargeError("the body is too large", [f"body: at most {max_bytes} bytes"])
    parts: list[bytes] = []
    size = 0
    has_more = True
    while has_more:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise RequestCancelledError("the caller went away")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > max_bytes:
            raise TooLargeError("the body is too large", [f"body: at most {max_bytes} bytes"])
        has_more = message.get("more_body", False)
    return b"".join(parts)


def _exceeds(digits: str, limit: int) -> bool:
    # Compared by length first: Python refuses to read numbers of thousands of digits.
    digits = digits.lstrip("0")
    return len(digits) > 18 or int(digits or "0") > limit


def _parse(body: bytes) -> object:
    try:
        value: object = json.loads(body.decode().removeprefix("\ufeff"))
    except UnicodeDecodeError:
        raise MalformedBodyError("the body is not UTF-8") from None
    except RecursionError:
        raise MalformedBodyError("the body is nested too deeply") from None
    except ValueError:
        raise MalformedBodyError("the body is not JSON") from None
    return value


def _check_fields(model: type[M], value: object) -> M:
    if not isinstance(value, dict):
        raise InvalidRequestError("the request is not valid", ["body: must be an object"])
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise InvalidRequestError("the request is not valid", field_problems(error, model)) from None
