"""From hypotheses to text: detokenise, and put the document together again."""

from collections.abc import Iterator, Sequence

from service.package.package import ModelPackage
from service.scheduler.sequence import SequenceResult
from service.search.hypothesis import Hypothesis
from service.text.segmentation import Gap
from service.translation.codes import primary_language
from service.translation.preparation import PreparedDocument, PreparedSegment
from service.translation.translation import SegmentHypothesis, SegmentTranslation, Translation

# Scripts that put nothing between sentences; where the source had no space either, the others need one.
_UNSPACED_LANGUAGES = frozenset({"zh", "ja", "th", "lo", "km", "my", "yue", "wuu"})


def complete(
    document: PreparedDocument, results: Sequence[SequenceResult], package: ModelPackage, target: str
) -> Translation:
    """Makes the translation of one document from the results of its segments, in order.

    target: code as the package declares it.
    """
    segments = tuple(
        _segment_translation(prepared, result, package, target)
        for prepared, result in zip(document.segments, results, strict=True)
    )
    width = max((len(segment.hypotheses) for segment in segments), default=1)
    spaced = primary_language(target) not in _UNSPACED_LANGUAGES

    def text_of(rank: int) -> str:
        texts = iter([segment.hypotheses[min(rank, len(segment.hypotheses) - 1)].text for segment in segments])
        return _joined(document, texts, spaced=spaced)

    # Different tokens can spell the same text; an alternative says something new.
    texts = dict.fromkeys(text_of(rank) for rank in range(width))
    text, *alternatives = texts
    return Translation(
        text=text,
        alternatives=tuple(alternatives),
        segments=segments,
        score=sum(segment.hypotheses[0].score for segment in segments) if segments else None,
    )


def _segment_translation(
    prepared: PreparedSegment, result: SequenceResult, package: ModelPackage, target: str
) -> SegmentTranslation:
    ids = tuple(prepared.source_ids.tolist())
    forced_first_id = package.manifest.languages.targets[target].forced_first_id
    return SegmentTranslation(
        source=prepared.segment.text,
        span=prepared.segment.span,
        source_token_ids=ids,
        source_tokens=tuple(package.source_tokenizer.pieces(ids)),
        hypotheses=tuple(
            _segment_hypothesis(hypothesis, package, prepared.segment.text, forced_first_id)
            for hypothesis in result.hypotheses
        ),
    )


def _segment_hypothesis(
    hypothesis: Hypothesis, package: ModelPackage, source: str, forced_first_id: int | None
) -> SegmentHypothesis:
    eos = package.manifest.special_ids.eos
    ids = hypothesis.token_ids
    # The token that asks for the language is part of the result but not of its text.
    own = ids[1:] if forced_first_id is not None and ids[:1] == (forced_first_id,) else ids
    shown = package.target_tokenizer.decode([token for token in own if token != eos]).strip()
    return SegmentHypothesis(
        # A model may answer with nothing; a segment is never lost for that.
        text=shown or source,
        score=hypothesis.score,
        token_ids=ids,
        tokens=tuple(package.target_tokenizer.pieces(ids)),
        token_log_probs=hypothesis.token_log_probs,
        stop_reason=hypothesis.stop_reason,
        alignment=tuple(map(tuple, hypothesis.alignment.tolist())) if hypothesis.alignment is not None else (),
    )


def _joined(document: PreparedDocument, texts: Iterator[str], *, spaced: bool) -> str:
    pieces: list[str] = []
    after_segment = False
    for part in document.parts:
        if isinstance(part, Gap):
            pieces.append(part.text)
        else:
            pieces.append(" " if after_segment and spaced else "")
            pieces.append(next(texts))
        after_segment = isinstance(part, PreparedSegment)
    return "".join(pieces)
