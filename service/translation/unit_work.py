"""A unit on its way: the attempts at it one after the other, until what must not change has come back and digits agree.

An attempt gives the model one text or several. One that does not hold is followed by the next, and the last always
holds; what a text's answer is, and whether it is asked about again, is `asking`'s business.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from service.scheduler.sequence import Sequence as DecodeSequence
from service.scheduler.sequence import SequenceResult
from service.search.hypothesis import Hypothesis, StopReason
from service.search.options import DecodingOptions
from service.text.case import CaseKind, normalise, restore
from service.text.digits import check_digits, has_digits
from service.text.document import Item, Placeholder
from service.text.number_atoms import protect_digits
from service.text.spaces import has_odd_white_space, with_single_spaces
from service.text.weaving import joined
from service.translation.asking import Answer, Asking, Question
from service.translation.attempts import Attempt, attempts_at
from service.translation.direction import Direction
from service.translation.entries import Items, Target, Unit, UnitResult
from service.translation.translation import CaseName, Details, RetryReason, Treatment

_CASES: dict[CaseKind, CaseName | None] = {CaseKind.AS_IS: None, CaseKind.UPPER: "upper", CaseKind.TITLE: "title"}


@dataclass(frozen=True, slots=True, eq=False)
class WorkSettings:
    """What all units of a request have in common.

    is_known: says whether the model's vocabulary can express a text. own_ratio: whether the options' length ratio is
    the caller's.
    """

    direction: Direction
    options: DecodingOptions
    details: Details
    is_known: Callable[[str], bool]
    own_ratio: bool = False


class UnitWork:
    """One unit. Its `texts` are to be encoded and asked about; its `sequences` to be decoded; `result` ends it."""

    def __init__(self, unit: Unit, settings: WorkSettings) -> None:
        self._unit = unit
        self._settings = settings
        direction = settings.direction
        self._items, self._pattern = normalise(unit.items, direction.source_language, direction.count_pieces)
        if any(has_odd_white_space(item) for item in self._items if isinstance(item, str)):
            self._items = _plain(self._items)
        self._attempts = attempts_at(self._items, settings.is_known)
        self._attempt = next(self._attempts)
        self._has_digits = has_digits(_text(self._items))
        self._numbers: frozenset[Item] = frozenset()
        self._retried: list[RetryReason] = []
        self._askings: list[Asking] = []
        self._answers: list[Answer | None] = []
        self.result: UnitResult | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """What the model is given in the present attempt; to be encoded as long as `ask` was not called for it."""
        return self._attempt.texts

    @property
    def waits_for_encoding(self) -> bool:
        """Whether `ask` must be called before the next round."""
        return self.result is None and not self._askings

    def ask(self, encoded: Sequence[Sequence[int]]) -> None:
        """Takes the ids of `texts`, and makes their sequences ready."""
        settings, attempt, options = self._settings, self._attempt, self._settings.options
        if attempt.way == "copied" and not options.sampling:
            # A beam ends with other hypotheses in hand; the first one that holds is taken.
            options = replace(options, num_hypotheses=options.beam_size)
        with_alignment = attempt.needs_alignment or settings.details.alignments
        num_wanted, own_ratio = settings.options.num_hypotheses, settings.own_ratio
        direction, has_looped = settings.direction, "repetition" in self._retried
        questions = [
            Question(text, direction.around(ids), options, num_wanted, with_alignment, own_ratio)
            for text, ids in zip(attempt.texts, encoded, strict=True)
        ]
        self._askings = [Asking(question, direction, has_looped=has_looped) for question in questions]
        self._answers = [None] * len(self._askings)

    def sequences(self) -> list[DecodeSequence]:
        """Returns what is to be decoded next, made anew for each call."""
        return [self._askings[index].sequence() for index in self._open()]

    def take(self, results: Iterator[SequenceResult]) -> None:
        """Takes the results of `sequences`, in order, from a stream of results."""
        for index in self._open():
            self._answers[index] = self._askings[index].take(next(results))
        answers = [answer for answer in self._answers if answer is not None]
        if len(answers) == len(self._answers):
            self._judge(answers)

    def _open(self) -> list[int]:
        return [index for index, answer in enumerate(self._answers) if answer is None]

    def _judge(self, answers: Sequence[Answer]) -> None:
        """Ends the unit if the present attempt holds, or goes on to the next one."""
        self._retried += [reason for answer in answers for reason in answer.retried if reason not in self._retried]
        questions = [answer.question for answer in answers]
        targets: list[Target] = []
        failure: RetryReason | None = None
        for rank in range(max(len(answer.hypotheses) for answer in answers)):
            hypotheses = [answer.hypotheses[min(rank, len(answer.hypotheses) - 1)] for answer in answers]
            target = self._target(questions, hypotheses)
            if isinstance(target, Target):
                targets.append(target)
            elif self._attempt.way != "copied" and rank == 0:
                # Whether others would hold makes no difference: the best is the best, however many were wanted.
                self._try_next(target)
                return
            else:
                failure = failure or target
        if targets:
            self._finish(answers, targets[: self._settings.options.num_hypotheses])
        else:
            self._try_next(failure or "placeholders")

    def _target(self, questions: Sequence[Question], hypotheses: Sequence[Hypothesis]) -> Target | RetryReason:
        """Returns what hypotheses make of the unit, or why it does not hold."""
        direction = self._settings.direction
        woven = self._attempt.woven(list(zip(questions, hypotheses, strict=True)), direction)
        if woven is None:
            return "placeholders"
        woven = joined(woven)
        if self._numbers:
            woven = joined(_unprotected(woven, self._numbers))
        elif self._has_digits and not _have_same_digits(_text(self._items), _text(woven)):
            return "digits"
        # What the model only repeated is written as it was, whatever case it was given in.
        items = self._unit.items if woven == self._items else restore(woven, self._pattern, direction.target_language)
        kept = tuple(hypotheses) if self._settings.details.any else ()
        return Target(items, sum(hypothesis.score for hypothesis in hypotheses), kept)

    def _try_next(self, reason: RetryReason) -> None:
        if reason not in self._retried:
            self._retried.append(reason)
        if reason == "digits":
            # From here on numbers are placeholders too, so that no later attempt can fail for them.
            items = protect_digits(self._items)
            self._numbers = frozenset(item for item in items if isinstance(item, Placeholder)) - set(self._items)
            self._attempts = attempts_at(items, self._settings.is_known)
        self._attempt = next(filter(self._is_promising, self._attempts))
        self._askings, self._answers = [], []

    def _is_promising(self, attempt: Attempt) -> bool:
        """Says whether an attempt that would follow on the present one is worth its time; the last one always is."""
        if attempt.way == "aligned":
            # Attention hardly ever says clearly where a number belongs: 3 times of 91 with the bundled model.
            return not self._numbers
        # A model that rambles and has not copied one surrogate does not copy another either: 3 times of 52.
        return not (attempt.way == self._attempt.way == "copied" and "repetition" in self._retried)

    def _finish(self, answers: Sequence[Answer], targets: Sequence[Target]) -> None:
        best = [answer.hypotheses[0] for answer in answers]
        wants_details = self._settings.details.any
        self.result = UnitResult(
            targets=tuple(targets),
            num_source_tokens=sum(len(answer.question.source_ids) for answer in answers),
            num_target_tokens=sum(len(hypothesis.token_ids) for hypothesis in best),
            ended_at_limit=any(hypothesis.stop_reason is StopReason.LENGTH for hypothesis in best),
            treatment=Treatment(self._attempt.way, tuple(self._retried), _CASES[self._pattern.kind]),
            questions=tuple(answer.question for answer in answers) if wants_details else (),
        )


def _text(items: Items) -> str:
    """Returns what is translated of items."""
    return " ".join(item for item in items if isinstance(item, str))


def _have_same_digits(source: str, target: str) -> bool:
    """Says whether no number was lost and none was added."""
    return check_digits(source, target) and check_digits(target, source)


def _unprotected(items: Items, numbers: frozenset[Item]) -> Iterator[Item]:
    for item in items:
        yield item.text if isinstance(item, Placeholder) and item in numbers else item


def _plain(items: Items) -> Items:
    """Returns items with ordinary white space, which is all that models know."""
    return tuple(with_single_spaces(item) if isinstance(item, str) else item for item in items)


def advanced(works: Sequence[UnitWork], results: Sequence[SequenceResult], direction: Direction) -> list[UnitWork]:
    """Takes the results of one round over works, in their order; returns those that need another round."""
    stream = iter(results)
    for work in works:
        work.take(stream)
    waiting = [work for work in works if work.waits_for_encoding]
    encoded = iter(direction.encode([text for work in waiting for text in work.texts]))
    for work in waiting:
        work.ask([next(encoded) for _ in work.texts])
    return [work for work in works if work.result is None]
