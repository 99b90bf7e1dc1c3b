"""Turning translations into the bodies of answers, with the parts a request asked to include."""

from collections.abc import Sequence

from service.api.schemas import (
    HypothesisAnswer,
    SegmentAnswer,
    SpanAnswer,
    TimingsAnswer,
    TokensAnswer,
    TranslateAnswer,
    TranslateBody,
    UsageAnswer,
    WordLinkAnswer,
)
from service.text.alignment import Link
from service.text.document import Span
from service.translation.translation import (
    Details,
    SegmentHypothesis,
    SegmentTranslation,
    Timings,
    Translation,
    TranslationResult,
)


def answer_of(body: TranslateBody, result: TranslationResult) -> TranslateAnswer:
    """Shapes a result like the request: single values for one string, lists for a list."""
    include = frozenset(body.include)
    many = isinstance(body.q, list)
    done = result.translations
    alternatives = [list(one.alternatives[: body.alternatives]) for one in done]
    scores = [one.score for one in done]
    segments = [_segments(one, include) for one in done]
    return TranslateAnswer(
        translated_text=[one.text for one in done] if many else done[0].text,
        alternatives=None if body.alternatives == 0 else alternatives if many else alternatives[0],
        scores=None if "scores" not in include else scores if many else scores[0],
        segments=None if not details_of(body).any else segments if many else segments[0],
        timings=_timings(result.timings) if "timings" in include else None,
        usage=_usage(result) if "usage" in include else None,
    )


def details_of(body: TranslateBody) -> Details:
    """Says what the answer needs beside the texts."""
    include = frozenset(body.include)
    return Details(
        segments=not include.isdisjoint(("segments", "scores")),
        tokens="tokens" in include,
        alignments="alignments" in include,
    )


def _segments(translation: Translation, include: frozenset[str]) -> list[SegmentAnswer]:
    return [_segment(segment, include) for segment in translation.segments]


def _segment(segment: SegmentTranslation, include: frozenset[str]) -> SegmentAnswer:
    return SegmentAnswer(
        source=segment.source,
        span=_span(segment.span),
        source_tokens=_tokens(segment.source_token_ids, segment.source_tokens) if "tokens" in include else None,
        hypotheses=[_hypothesis(hypothesis, include) for hypothesis in segment.hypotheses],
        placeholders=segment.treatment.placeholders,
        retried=list(segment.treatment.retried) or None,
        case=segment.treatment.case,
    )


def _hypothesis(hypothesis: SegmentHypothesis, include: frozenset[str]) -> HypothesisAnswer:
    is_aligned = "alignments" in include
    has_tokens = "tokens" in include
    return HypothesisAnswer(
        text=hypothesis.text,
        stop_reason=hypothesis.stop_reason.value,
        score=hypothesis.score if "scores" in include else None,
        tokens=_tokens(hypothesis.token_ids, hypothesis.tokens, hypothesis.token_log_probs) if has_tokens else None,
        alignment=[list(weights) for weights in hypothesis.alignment] if is_aligned else None,
        words=[_link(link) for link in hypothesis.words] if is_aligned else None,
    )


def _link(link: Link) -> WordLinkAnswer:
    return WordLinkAnswer(source=_span(link.source), target=_span(link.target), weight=link.weight)


def _span(span: Span) -> SpanAnswer:
    return SpanAnswer(start=span.start, end=span.end)


def _tokens(ids: Sequence[int], pieces: Sequence[str], log_probs: Sequence[float] | None = None) -> TokensAnswer:
    return TokensAnswer(ids=list(ids), pieces=list(pieces), log_probs=None if log_probs is None else list(log_probs))


def _timings(timings: Timings) -> TimingsAnswer:
    return TimingsAnswer(
        preparation_seconds=timings.preparation_seconds,
        queue_seconds=timings.queue_seconds,
        encode_seconds=timings.encode_seconds,
        decode_seconds=timings.decode_seconds,
        completion_seconds=timings.completion_seconds,
    )


def _usage(result: TranslationResult) -> UsageAnswer:
    return UsageAnswer(
        model=result.model,
        source=result.source,
        target=result.target,
        num_source_tokens=result.num_source_tokens,
        num_target_tokens=result.num_target_tokens,
        num_length_stops=result.num_length_stops,
    )
