"""Translating a request: find the model, take the texts apart, decode, put them together again.

Nothing here blocks the event loop: long texts are taken apart and put together in worker threads.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeVar

from service.errors import InvalidOptionError, UnsupportedPairError
from service.search.options import DecodingOptions, PartialOptions, resolve
from service.text.document import Document
from service.text.segmentation import join
from service.translation.completion import Completion
from service.translation.direction import Direction
from service.translation.entries import Entry
from service.translation.model import LoadedModel
from service.translation.opening import Protector, open_document
from service.translation.preparation import Preparation, WaitingSegment, waiting_segments
from service.translation.registry import Registry
from service.translation.translation import Timings, Translation, TranslationRequest, TranslationResult
from service.translation.unit_work import WorkSettings
from service.translation.windows import Decoding, Stopwatch, Windows

T = TypeVar("T")

# Below this, taking a text apart takes less time than handing it to another thread.
_INLINE_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True, eq=False)
class _Work:
    """A request taken apart: where it goes, its documents, and how their segments are decoded."""

    request: TranslationRequest
    model: LoadedModel
    direction: Direction
    documents: tuple[Document, ...]
    segments: tuple[WaitingSegment, ...]
    decoding: Decoding


class Translator:
    """The one way from texts to translations."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    async def translate(self, request: TranslationRequest) -> TranslationResult:
        """Translates a request; cancelling the awaiting task gives its sequences up.

        Texts come back unchanged where source and target are the same language, unless a model translates between the
        two. Raises CallerError (pair, options, text), MomentError (queue, deadline, shutdown) or EngineError.
        """
        inline = sum(map(_length, request.texts)) <= _INLINE_CHARACTERS
        work = await _run(lambda: self._opened(request), inline)
        if isinstance(work, TranslationResult):
            return work
        entries = await Windows(work.decoding).run(work.segments, inline=inline)
        return await _run(lambda: _completed(work, entries), inline)

    def _opened(self, request: TranslationRequest) -> _Work | TranslationResult:
        started = time.monotonic()
        try:
            route = self._registry.route(request.source, request.target)
        except UnsupportedPairError:
            shared = self._registry.shared_code(request.source, request.target)
            if shared is None:
                raise
            return _unchanged(request, shared)
        model = route.model
        direction = model.direction(route.source, route.target)
        options = _options(request.options, request.num_alternatives, model.defaults)
        protector = Protector(model.known_characters, request.protect)
        language = direction.source_language
        documents = tuple(open_document(text, language, request, protector) for text in request.texts)
        settings = WorkSettings(
            direction=direction,
            options=options,
            details=request.details,
            is_known=model.known_characters,
            own_ratio=request.options.max_length_ratio is not None,
        )
        decoding = Decoding(
            direction=direction,
            preparation=Preparation(protector, settings),
            dispatch=model.pool.dispatch,
            deadline=None if request.deadline_seconds is None else started + request.deadline_seconds,
            segments_in_window=model.segments_in_window,
            stopwatch=Stopwatch(preparation=time.monotonic() - started),
        )
        segments = tuple(
            segment
            for text, document in zip(request.texts, documents, strict=True)
            for segment in waiting_segments(document, is_protected=isinstance(text, str) and request.format == "text")
        )
        return _Work(request, model, direction, documents, segments, decoding)


def _length(text: str | Document) -> int:
    return len(text) if isinstance(text, str) else sum(len(part.text) for part in text.parts)


async def _run(work: Callable[[], T], inline: bool) -> T:
    return work() if inline else await asyncio.to_thread(work)


@lru_cache(maxsize=256)
def _options(partial: PartialOptions, num_alternatives: int, defaults: DecodingOptions) -> DecodingOptions:
    wanted = num_alternatives + 1
    if wanted > 1:
        if partial.num_hypotheses not in (None, wanted):
            raise InvalidOptionError(
                "decoding options are not valid", ["num_hypotheses: one more than alternatives, or left out"]
            )
        partial = replace(partial, num_hypotheses=wanted)
    return resolve(partial, defaults)


def _unchanged(request: TranslationRequest, language: str) -> TranslationResult:
    texts = (text if isinstance(text, str) else join(text.parts) for text in request.texts)
    return TranslationResult(
        translations=tuple(Translation(text, (), (), None) for text in texts),
        model=None,
        source=language,
        target=language,
        num_source_tokens=0,
        num_target_tokens=0,
        num_length_stops=0,
        timings=Timings(0.0, 0.0, 0.0, 0.0, 0.0),
    )


def _completed(work: _Work, entries: Sequence[Entry]) -> TranslationResult:
    started = time.monotonic()
    completion = Completion(entries, work.direction, work.request.details)
    translations = tuple(map(completion.translation, work.documents))
    results = [result for entry in entries for result in entry.results]
    treatments = [result.treatment for result in results]
    watch = work.decoding.stopwatch
    return TranslationResult(
        translations=translations,
        model=work.model.name,
        source=work.direction.source,
        target=work.direction.target,
        num_source_tokens=sum(result.num_source_tokens for result in results),
        num_target_tokens=sum(result.num_target_tokens for result in results),
        num_length_stops=sum(result.ended_at_limit for result in results),
        timings=Timings(
            preparation_seconds=watch.preparation,
            queue_seconds=watch.queue,
            encode_seconds=watch.encode,
            decode_seconds=watch.decode,
            completion_seconds=watch.completion + time.monotonic() - started,
        ),
        placeholders=_counted([one.placeholders for one in treatments if one.placeholders is not None]),
        retries=_counted([reason for one in treatments for reason in one.retried]),
    )


def _counted(values: list[T]) -> dict[T, int]:
    return dict(Counter(values)) if values else {}
