"""What is told of a segment beside its text, for those who ask: hypotheses, tokens, attention, and linked words."""

from collections.abc import Iterator, Sequence

from service.search.hypothesis import Hypothesis, StopReason
from service.text.alignment import Link, mutual_links, word_links
from service.text.document import Placeholder, Span
from service.text.token_spans import token_spans
from service.translation.asking import Question
from service.translation.direction import Direction
from service.translation.entries import Items, Target, Unit, UnitResult
from service.translation.linking import shown_source, shown_target
from service.translation.translation import Details, SegmentHypothesis, SegmentTranslation

Written = tuple[str, tuple[Span, ...]]
Weights = tuple[tuple[float, ...], ...]

_BY_GRAVITY = (StopReason.LENGTH, StopReason.REPETITION)


def segment_translation(
    unit: Unit, result: UnitResult, texts: Sequence[Written], direction: Direction, details: Details
) -> SegmentTranslation:
    """Describes what became of a unit; texts are its targets as written, and the placeholders' places in them."""
    source = _Source(unit, result.questions, direction)
    ids = tuple(token_id for question in result.questions for token_id in question.source_ids.tolist())
    return SegmentTranslation(
        source=unit.source,
        span=unit.span,
        source_token_ids=ids,
        source_tokens=tuple(direction.package.source_tokenizer.pieces(ids)) if details.tokens else (),
        hypotheses=tuple(
            _described(target, written, source, details) for target, written in zip(result.targets, texts, strict=True)
        ),
        treatment=result.treatment,
    )


class _Source:
    """The source of a unit as links need it: its tokens and the characters they stand for."""

    def __init__(self, unit: Unit, questions: Sequence[Question], direction: Direction) -> None:
        self.unit, self.direction, self.questions = unit, direction, questions
        self._spans: tuple[Span, ...] | None = None

    @property
    def num_tokens(self) -> int:
        """Tokens of all questions, special ones included."""
        return sum(len(question.source_ids) for question in self.questions)

    @property
    def spans(self) -> tuple[Span, ...]:
        """The characters of each token; empty spans for special ones."""
        if self._spans is None:
            whole = (question.source_ids.tolist() for question in self.questions)
            shown = [piece for ids in whole for piece in shown_source(ids, self.direction)]
            self._spans = token_spans(shown, self.unit.source, tuple(_places(self.unit.source, self.unit.items)))
        return self._spans


def _described(target: Target, written: Written, source: _Source, details: Details) -> SegmentHypothesis:
    ids = tuple(token_id for hypothesis in target.hypotheses for token_id in hypothesis.token_ids)
    alignment = _alignment(target.hypotheses, source) if details.alignments else ()
    reasons = {hypothesis.stop_reason for hypothesis in target.hypotheses}
    return SegmentHypothesis(
        text=written[0],
        score=target.score,
        token_ids=ids,
        tokens=tuple(source.direction.package.target_tokenizer.pieces(ids)) if details.tokens else (),
        token_log_probs=tuple(value for hypothesis in target.hypotheses for value in hypothesis.token_log_probs),
        stop_reason=next((reason for reason in _BY_GRAVITY if reason in reasons), StopReason.END_TOKEN),
        alignment=alignment,
        words=_links(target.hypotheses, alignment, written, source) if alignment else (),
    )


def _alignment(hypotheses: Sequence[Hypothesis], source: _Source) -> Weights:
    """Puts the weights of the parts into one matrix: a target token attends to its own part's source only."""
    rows: list[tuple[float, ...]] = []
    before = 0
    for question, hypothesis in zip(source.questions, hypotheses, strict=True):
        behind = source.num_tokens - before - len(question.source_ids)
        if hypothesis.alignment is not None:
            rows += ((*(0.0,) * before, *row, *(0.0,) * behind) for row in hypothesis.alignment.tolist())
        before += len(question.source_ids)
    return tuple(rows)


def _links(hypotheses: Sequence[Hypothesis], alignment: Weights, written: Written, source: _Source) -> tuple[Link, ...]:
    text, holes = written
    shown = [piece for one in hypotheses for piece in shown_target(one.token_ids, source.direction)]
    return mutual_links(word_links(alignment, source.spans, token_spans(shown, text, holes), source.unit.source, text))


def _places(text: str, items: Items) -> Iterator[Span]:
    """Gives where placeholders are in a text of these items, which may be written otherwise between them."""
    end = 0
    for item in items:
        if isinstance(item, Placeholder):
            start = text.find(item.text, end)
            if start >= 0:
                end = start + len(item.text)
                yield Span(start, end)
