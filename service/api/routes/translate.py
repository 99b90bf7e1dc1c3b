"""POST /translate."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from fastapi import APIRouter, Request, Response

from service import errors
from service.api.answers import answer_of, details_of
from service.api.attendance import run_attended
from service.api.body import read_model
from service.api.openapi import failures, json_body
from service.api.schemas import DecodingBody, TranslateAnswer, TranslateBody
from service.api.services import Services, services_of
from service.observability.metrics import REJECTIONS
from service.search.options import PartialOptions
from service.translation.translation import TranslationRequest, TranslationResult

router = APIRouter()

# The first class of an error's ancestry that is listed decides.
_OUTCOMES: dict[type[BaseException], str] = {
    errors.CallerError: "invalid",
    errors.TooLargeError: "too_large",
    errors.UnsupportedPairError: "unsupported_pair",
    errors.QueueFullError: "overloaded",
    errors.DeadlineExceededError: "deadline",
    errors.RequestCancelledError: "cancelled",
    errors.ShuttingDownError: "draining",
    errors.NotReadyError: "not_ready",
    BaseException: "error",
}


@dataclass(slots=True)
class _Account:
    """What is known of a request so far, for metrics and its log line."""

    source: str | None = None
    target: str | None = None
    summary: dict[str, Any] = field(default_factory=dict)


@router.post(
    "/translate",
    response_model=TranslateAnswer,
    response_model_exclude_none=True,
    openapi_extra=json_body(TranslateBody),
    responses=failures(400, 404, 408, 413, 415, 422, 429, 500, 503, 504),
    summary="Translate texts",
)
async def translate(request: Request) -> Response:
    """Translates one text or several of one language pair.

    The answer has the shape of `q`. A caller who disconnects gives the work up.
    """
    services = services_of(request)
    with _accounted(request, services) as account:
        services.lifecycle.check_admission()
        body = await read_model(request, TranslateBody, services.body_limits)
        account.source, account.target = body.source, body.target
        texts = tuple(body.q) if isinstance(body.q, list) else (body.q,)
        wanted = _request_of(body, texts, services, started=request.state.started)
        account.summary |= {"num_texts": len(texts), "num_characters": sum(map(len, texts))}
        with services.lifecycle.running() as backend:
            work = backend.translator.translate(wanted)
            result = await run_attended(work, request.receive, services.lifecycle.aborted)
        _account_for(result, account, services)
        content = answer_of(body, result).model_dump_json(by_alias=True, exclude_none=True)
    return Response(content, media_type="application/json")


def _request_of(body: TranslateBody, texts: tuple[str, ...], services: Services, started: float) -> TranslationRequest:
    services.request_limits.check_texts(texts)
    # The time the body took to arrive is part of what the caller waits for.
    remaining = services.request_limits.timeout(body.timeout_seconds) - (time.monotonic() - started)
    if remaining <= 0:
        raise errors.DeadlineExceededError("the time of the request ran out")
    return TranslationRequest(
        texts=texts,
        source=body.source,
        target=body.target,
        options=_partial(body.decoding),
        num_alternatives=body.alternatives,
        deadline_seconds=remaining,
        format=body.format,
        split_sentences=body.split_sentences,
        protect=tuple(body.protect),
        details=details_of(body),
    )


@lru_cache(maxsize=256)
def _partial(decoding: DecodingBody) -> PartialOptions:
    return PartialOptions(**decoding.model_dump())


def _account_for(result: TranslationResult, account: _Account, services: Services) -> None:
    account.source, account.target = result.source, result.target
    services.metrics.observe_result(result)
    account.summary |= {
        "num_source_tokens": result.num_source_tokens,
        "num_target_tokens": result.num_target_tokens,
    }


@contextmanager
def _accounted(request: Request, services: Services) -> Iterator[_Account]:
    """Counts the request by how the block ends, and leaves a summary for the log line."""
    account = _Account()
    outcome = "ok"
    try:
        yield account
    except BaseException as error:
        outcome = next(_OUTCOMES[kind] for kind in type(error).__mro__ if kind in _OUTCOMES)
        reason = _rejection(error)
        if reason is not None:
            services.metrics.observe_rejection(reason)
        if isinstance(error, errors.OperatorError):
            services.logger.error(
                "translation failed", request_id=request.state.request_id, code=error.code, exc_info=error
            )
        raise
    finally:
        services.metrics.observe_outcome(account.source, account.target, outcome)
        pair = services.metrics.pair_label(account.source, account.target)
        request.state.summary = {"outcome": outcome, "pair": pair, **account.summary}


def _rejection(error: BaseException) -> str | None:
    if not isinstance(error, errors.VersoError):
        return None
    reason = "draining" if isinstance(error, errors.ShuttingDownError) else error.code
    return reason if reason in REJECTIONS else None
