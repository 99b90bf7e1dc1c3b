"""Translating a request: find the model, prepare, decode, complete.

Callers may be coroutines or plain threads; both share the decode thread of the model.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from service.errors import InvalidOptionError
from service.scheduler.sequence import SequenceResult, Submission
from service.search.hypothesis import StopReason
from service.search.options import DecodingOptions, resolve
from service.translation.preparation import PreparedDocument
from service.translation.registry import Registry, Route
from service.translation.translation import Timings, TranslationRequest, TranslationResult

# Below this, preparing takes less time than handing it to another thread.
_INLINE_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True)
class _Work:
    """A request on its way: where it goes, its prepared documents, and their submission."""

    route: Route
    documents: tuple[PreparedDocument, ...]
    submission: Submission
    preparation_seconds: float


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
        inbox = work.route.model.loop.inbox
        inbox.submit(work.submission)
        try:
            results = await asyncio.wrap_future(work.submission.future)
        except asyncio.CancelledError:
            inbox.cancel(work.submission)
            raise
        return _complete(work, results) if is_small else await asyncio.to_thread(_complete, work, results)

    def translate_blocking(self, request: TranslationRequest) -> TranslationResult:
        """Does the same from a thread without an event loop; an interrupt gives the work up."""
        work = self._prepare(request)
        inbox = work.route.model.loop.inbox
        inbox.submit(work.submission)
        try:
            return _complete(work, work.submission.future.result())
        except KeyboardInterrupt:
            inbox.cancel(work.submission)
            raise

    def _prepare(self, request: TranslationRequest) -> _Work:
        started = time.monotonic()
        route = self._registry.route(request.source, request.target)
        options = _options(request, route.model.defaults)
        documents = tuple(route.model.prepare(text, route.source, route.target) for text in request.texts)
        deadline = None if request.deadline_seconds is None else started + request.deadline_seconds
        submission = route.model.submission(
            documents, route.target, options, deadline=deadline, with_alignments=request.with_alignments
        )
        return _Work(route, documents, submission, time.monotonic() - started)


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
        num_source_tokens=sum(len(sequence.source_ids) for sequence in work.submission.sequences),
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
