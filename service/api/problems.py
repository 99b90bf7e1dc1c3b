"""How failures look over HTTP: one JSON shape, and the status code of each kind.

The only module that knows status codes. Messages come from the error tree and the field names of the schema; nothing a
caller sent is repeated.
"""

import math
from collections.abc import Mapping
from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from service import errors
from service.api.schemas import DetailAnswer, ErrorAnswer, FailureAnswer

CLIENT_GONE = 499
RETRY_SECONDS = 5
MAX_RETRY_SECONDS = 60

# The first class of an error's ancestry that is listed decides.
STATUSES: Mapping[type[errors.VersoError], int] = {
    errors.MalformedBodyError: 400,
    errors.CallerError: 422,
    errors.UnsupportedPairError: 404,
    errors.SlowBodyError: 408,
    errors.TooLargeError: 413,
    errors.UnsupportedMediaTypeError: 415,
    errors.QueueFullError: 429,
    errors.RequestCancelledError: CLIENT_GONE,
    errors.MomentError: 503,
    errors.DeadlineExceededError: 504,
    errors.VersoError: 500,
}
_ROUTING = {404: ("not_found", "nothing is served at this path"), 405: ("method_not_allowed", "wrong method")}
_CLOSING = (errors.ShuttingDownError, errors.TooLargeError, errors.SlowBodyError)


def status_of(error: errors.VersoError) -> int:
    """Finds the status code of an error by its nearest listed ancestor."""
    return next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)


def problem_response(error: errors.VersoError, request_id: str) -> Response:
    """Answers an expected failure."""
    status = status_of(error)
    details = [detail for problem in error.problems for detail in _details(error, problem)]
    # What an operator must fix is in the log; its words may name paths and parts of the installation.
    message = "the service failed" if isinstance(error, errors.OperatorError) else error.message
    failure = FailureAnswer(
        code=error.code,
        message=message,
        request_id=request_id,
        retryable=error.retryable,
        details=[] if isinstance(error, errors.OperatorError) else details,
    )
    headers = {}
    if status in (429, 503):
        headers["Retry-After"] = str(_retry_after(error))
    if isinstance(error, _CLOSING):
        headers["Connection"] = "close"
    return _response(failure, status, headers)


def unexpected_response(request_id: str) -> Response:
    """Answers a failure nobody foresaw."""
    failure = FailureAnswer(
        code=errors.OperatorError.code,
        message="the service failed",
        request_id=request_id,
        retryable=False,
        details=[],
    )
    return _response(failure, 500, {})


async def handle_expected(request: Request, error: Exception) -> Response:
    """Exception handler of VersoError."""
    assert isinstance(error, errors.VersoError), "registered for VersoError"
    return problem_response(error, request.state.request_id)


async def handle_routing(request: Request, error: Exception) -> Response:
    """Exception handler of Starlette's HTTPException: paths and methods that are not served."""
    assert isinstance(error, HTTPException), "registered for HTTPException"
    code, message = _ROUTING.get(error.status_code, ("bad_request", HTTPStatus(error.status_code).phrase.lower()))
    failure = FailureAnswer(
        code=code, message=message, request_id=request.state.request_id, retryable=False, details=[]
    )
    return _response(failure, error.status_code, error.headers or {})


def _details(error: errors.VersoError, problem: str) -> list[DetailAnswer]:
    fields, separator, words = problem.partition(": ")
    if not separator:
        return [DetailAnswer(field="", problem=problem)]
    prefix = "decoding." if isinstance(error, errors.InvalidOptionError) else ""
    return [DetailAnswer(field=prefix + field, problem=words) for field in fields.split(", ")]


def _retry_after(error: errors.VersoError) -> int:
    seconds = error.retry_after_seconds if isinstance(error, errors.QueueFullError) else RETRY_SECONDS
    return max(1, min(MAX_RETRY_SECONDS, math.ceil(seconds) if math.isfinite(seconds) else MAX_RETRY_SECONDS))


def _response(failure: FailureAnswer, status: int, headers: Mapping[str, str]) -> Response:
    body = ErrorAnswer(error=failure).model_dump_json()
    return Response(body, status_code=status, headers=dict(headers), media_type="application/json")
