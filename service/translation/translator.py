"""Translating a request: find the model, prepare, decode, complete.

Nothing here blocks the event loop: long texts are prepared and put together in worker threads.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from service.errors import InvalidOptionError
from service.scheduler.pool import Dispatch
from service.scheduler.sequence import SequenceResult
from service.search.hypothesis import StopReason
from service.search.options import DecodingOptions, resolve
from service.translation.preparation import PreparedDocument
from service.translation.registry import Registry, Route
from service.translation.translation import Timings, TranslationRequest, TranslationResult

# Below this, preparing takes less time than handing it to another thread.
_INLINE_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True)
class _Work:
    """A request prepared: where it goes, its documents, and when it must be done (time.monotonic)."""

    route: Route
    request: TranslationRequest
    options: DecodingOptions
    documents: tuple[PreparedDocument, ...]
    deadline: float | None
    preparation_seconds: float

    def dispatch(self) -> Dispatch:
        """Hands its sequences to the model."""
        return self.route.model.dispatch(
            self.documents,
            self.route.target,
            self.options,
            deadline=self.deadline,
            with_alignments=self.request.with_alignments,
        )


class Translator:
    """The one way from texts to translations."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    async def translate(self, request: TranslationRequest) -> TranslationResult:
        """Translates a request; cancelling the awaiting task gives its sequences up.

        Raises CallerError (pair, options, text), MomentError (queue, deadline, shutdown) or EngineError.
        """
        is_small = sum(map(len, request.texts)) <= _INLINE_CHARACTERS
        work = self._prepare(request) if is_small else await asyncio.to_thread(self._prepare, request)
        dispatch = work.dispatch()
        try:
            results = dispatch.gather(await asyncio.gather(*map(asyncio.wrap_future, dispatch.futures)))
        except BaseException:
            # Whether the caller went away or a share failed: what is left of it is wanted by nobody.
            dispatch.cancel()
            raise
        return _complete(work, results) if is_small else await asyncio.to_thread(_complete, work, results)

    def _prepare(self, request: TranslationRequest) -> _Work:
        started = time.monotonic()
        route = self._registry.route(request.source, request.target)
        options = _options(request, route.model.defaults)
        documents = tuple(route.model.prepare(text, route.source, route.target) for text in request.texts)
        deadline = None if request.deadline_seconds is None else started + request.deadline_seconds
        return _Work(route, request, options, documents, deadline, time.monotonic() - started)


def _options(request: TranslationRequest, defaults: DecodingOptions) -> DecodingOptions:
    partial, wanted = request.options, request.num_alternatives + 1
    if wanted > 1:
        if partial.num_hypotheses not in (None, wanted):
            raise InvalidOptionError(
                "decoding options are not valid", ["num_hypotheses: one more than alternatives, or left out"]
            )
        partial = replace(partial, num_hypotheses=wanted)
    return resolve(partial, defaults)


def _complete(work: _Work, results: Sequence[SequenceResult]) -> TranslationResult:
    started = time.monotonic()
    translations = work.route.model.complete(work.documents, results, work.route.target)
    best = [result.hypotheses[0] for result in results]
    return TranslationResult(
        translations=translations,
        model=work.route.model.name,
        source=work.route.source,
        target=work.route.target,
        num_source_tokens=sum(len(part.source_ids) for document in work.documents for part in document.segments),
        num_target_tokens=sum(len(hypothesis.token_ids) for hypothesis in best),
        num_length_stops=sum(hypothesis.stop_reason is StopReason.LENGTH for hypothesis in best),
        timings=Timings(
            preparation_seconds=work.preparation_seconds,
            queue_seconds=max((result.queue_seconds for result in results), default=0.0),
            encode_seconds=max((result.encode_seconds for result in results), default=0.0),
            decode_seconds=max((result.decode_seconds for result in results), default=0.0),
            completion_seconds=time.monotonic() - started,
        ),
    )
