"""A backend without models: it translates by writing the target code before a text, and fails or waits when told."""

import asyncio
import threading
from dataclasses import dataclass, field

from service.api.backend import Backend
from service.search.hypothesis import StopReason
from service.text.alignment import Link
from service.text.document import Span
from service.translation.registry import LanguagePairInfo, ModelInfo, QueueGauges
from service.translation.translation import (
    SegmentHypothesis,
    SegmentTranslation,
    Timings,
    Translation,
    TranslationRequest,
    TranslationResult,
    Treatment,
)

PAIRS = (("en", "de"), ("en", "fr"), ("de", "en"))
TIMINGS = Timings(0.001, 0.002, 0.003, 0.004, 0.005)
TREATMENT = Treatment(placeholders="aligned", retried=("length", "repetition"), case="upper")


@dataclass
class ScriptedTranslator:
    """Raises `failure` when there is one; waits for `release` when `holds`."""

    failure: Exception | None = None
    holds: bool = False
    release: threading.Event = field(default_factory=threading.Event)
    started: threading.Event = field(default_factory=threading.Event)
    cancelled: threading.Event = field(default_factory=threading.Event)
    requests: list[TranslationRequest] = field(default_factory=list)

    async def translate(self, request: TranslationRequest) -> TranslationResult:
        self.requests.append(request)
        self.started.set()
        try:
            while self.holds and not self.release.is_set():  # noqa: ASYNC110  # released from another thread
                await asyncio.sleep(0.005)
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        if self.failure is not None:
            raise self.failure
        return result_of(request)


@dataclass
class ScriptedRegistry:
    is_ready: bool = True
    is_closed: bool = False
    load: QueueGauges = field(default_factory=lambda: QueueGauges(0, 0, 0, 0))

    def languages(self) -> tuple[LanguagePairInfo, ...]:
        return tuple(LanguagePairInfo(source, target, "scripted") for source, target in PAIRS)

    def models(self) -> tuple[ModelInfo, ...]:
        return (ModelInfo("scripted", "int8", "CPUExecutionProvider", 2, "0123456789ab"),)

    def ready(self) -> bool:
        return self.is_ready

    def load_gauges(self) -> QueueGauges:
        return self.load

    def close(self, drain_seconds: float) -> None:
        self.is_closed = True


def scripted_backend() -> Backend:
    return Backend(ScriptedTranslator(), ScriptedRegistry())


def result_of(request: TranslationRequest) -> TranslationResult:
    """Each text is one segment of one token per word; alternatives are numbered."""
    return TranslationResult(
        translations=tuple(_translation(text, request) for text in request.texts),
        model="scripted",
        source=request.source,
        target=request.target,
        num_source_tokens=sum(len(text.split()) for text in request.texts),
        num_target_tokens=sum(len(text.split()) + 1 for text in request.texts),
        num_length_stops=0,
        timings=TIMINGS,
        placeholders={"aligned": len(request.texts)},
        retries={"length": 1, "repetition": 2},
    )


def _translation(text: str, request: TranslationRequest) -> Translation:
    words = tuple(text.split())
    results = [f"{request.target}:{text}", *(f"{request.target}{n}:{text}" for n in range(request.num_alternatives))]
    hypotheses = tuple(
        SegmentHypothesis(
            text=result,
            score=-0.5 - rank,
            token_ids=tuple(range(len(words) + 1)),
            tokens=(*words, "</s>"),
            token_log_probs=(-0.25,) * len(words) + (float("-inf"),),
            stop_reason=StopReason.END_TOKEN,
            alignment=((1.0,) * len(words),) * (len(words) + 1) if request.details.alignments else (),
            words=(Link(Span(0, 3), Span(3, 6), 0.5),) if request.details.alignments else (),
        )
        for rank, result in enumerate(results)
    )
    segment = SegmentTranslation(text, Span(0, len(text)), tuple(range(len(words))), words, hypotheses, TREATMENT)
    return Translation(results[0], tuple(results[1:]), (segment,) if request.details.any else (), -0.5)
