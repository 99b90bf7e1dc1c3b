"""Asking the model for the translation of one text, and asking again where the answer is a loop or was cut short."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from service.engine.arrays import IntArray
from service.scheduler.sequence import Sequence as DecodeSequence
from service.scheduler.sequence import SequenceResult
from service.search.hypothesis import Hypothesis, StopReason
from service.search.options import LENGTH_RATIO_AFTER_LOOP, DecodingOptions
from service.search.pool import normalised
from service.text.repetition import is_runaway, kept_places, retry_ngram_size, source_repeats
from service.translation.direction import Direction
from service.translation.translation import RetryReason


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """One text for the model.

    source_ids: (l,) int64, the whole source. num_wanted: hypotheses the caller wants; the options may ask for more.
    own_ratio: whether the length ratio among the options is the caller's, who then gets what it leaves; else it is a
    guard, which an honest translation may exceed.
    """

    text: str
    source_ids: IntArray
    options: DecodingOptions
    num_wanted: int
    with_alignment: bool
    own_ratio: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What the model said to a question, best first: at least one hypothesis; and why it was asked again."""

    question: Question
    hypotheses: tuple[Hypothesis, ...]
    retried: tuple[RetryReason, ...] = ()


class Asking:
    """A question on its way: `sequence` is to be decoded next, until `take` gives the answer."""

    def __init__(self, question: Question, direction: Direction, *, has_looped: bool = False) -> None:
        """has_looped: whether another text of the same unit has; then loops are forbidden from the start."""
        self._question = question
        self._direction = direction
        self._eos = direction.package.manifest.special_ids.eos
        self._options = question.options
        self._repeats = source_repeats(question.text) if question.options.stop_loops else 1
        self._tries: list[tuple[Hypothesis, ...]] = []
        self._retried: list[RetryReason] = []
        if has_looped and self._options.stop_loops:
            self._retried.append("repetition")
            self._options = self._without_loop(())

    def sequence(self) -> DecodeSequence:
        """Returns the sequence of the present try."""
        ids = self._question.source_ids
        with_alignment = self._question.with_alignment
        task = self._direction.task(ids, self._options, with_alignment=with_alignment, repeats=self._repeats)
        return DecodeSequence(ids, task)

    def take(self, result: SequenceResult) -> Answer | None:
        """Takes the result of the present try; returns the answer unless another try is worth it."""
        hypotheses = tuple(map(self._as_wanted, result.hypotheses))
        self._tries.append(hypotheses)
        best = hypotheses[0]
        again = self._options
        reason: RetryReason
        if self._loops(best):
            reason, again = "repetition", self._narrowed(self._without_loop(self._said(best)))
        elif self._was_cut(best):
            reason, again = "length", replace(self._options, max_length_ratio=0.0)
        else:
            return self._answer(best, hypotheses)
        if again == self._options or reason in self._retried:
            return self._least_bad()
        self._retried.append(reason)
        self._options = again
        return None

    def _loops(self, hypothesis: Hypothesis) -> bool:
        if not self._options.stop_loops:
            return False
        return hypothesis.stop_reason is StopReason.REPETITION or is_runaway(self._said(hypothesis), self._repeats)

    def _was_cut(self, hypothesis: Hypothesis) -> bool:
        """Says whether the guard on the length may have cut an honest translation; after a loop it is rambling."""
        is_short = len(hypothesis.token_ids) < self._options.max_new_tokens
        may_be_honest = is_short and not self._question.own_ratio and "repetition" not in self._retried
        return hypothesis.stop_reason is StopReason.LENGTH and may_be_honest

    def _without_loop(self, said: Sequence[int]) -> DecodingOptions:
        size, present = retry_ngram_size(said, self._repeats), self._options.no_repeat_ngram_size
        return replace(
            self._options,
            no_repeat_ngram_size=min(size, present) if present else size,
            max_length_ratio=self._options.max_length_ratio if self._question.own_ratio else LENGTH_RATIO_AFTER_LOOP,
        )

    def _narrowed(self, options: DecodingOptions) -> DecodingOptions:
        """Greedy search, if one hypothesis is wanted: under a ban it says more of the source and takes less time."""
        return options if self._question.num_wanted > 1 else replace(options, beam_size=1, num_hypotheses=1)

    def _as_wanted(self, hypothesis: Hypothesis) -> Hypothesis:
        """Scores what a narrowed search has found like the search that was wanted."""
        if self._options.beam_size == self._question.options.beam_size:
            return hypothesis
        length, penalty = len(hypothesis.token_ids), self._options.length_penalty
        return replace(hypothesis, score=normalised(hypothesis.score, length, penalty))

    def _least_bad(self) -> Answer:
        """Chooses when no further try is worth it: what has ended and does not loop, or else a loop cut short."""
        sound = [
            (hypothesis.score, number)
            for number, hypotheses in enumerate(self._tries)
            for hypothesis in hypotheses
            if self._is_sound(hypothesis)
        ]
        if not sound:
            return self._answer(self._trimmed(self._tries[-1][0]), ())
        hypotheses = self._tries[max(sound)[1]]
        best = max(filter(self._is_sound, hypotheses), key=lambda hypothesis: hypothesis.score)
        return self._answer(best, hypotheses)

    def _answer(self, best: Hypothesis, hypotheses: Sequence[Hypothesis]) -> Answer:
        others = (other for other in hypotheses if other is not best and not self._loops(other))
        return Answer(self._question, (best, *others), tuple(self._retried))

    def _is_sound(self, hypothesis: Hypothesis) -> bool:
        # Where a package forces the end token, what a limit has cut ends with it too.
        has_ended = hypothesis.token_ids[-1:] == (self._eos,) and hypothesis.stop_reason is not StopReason.LENGTH
        return has_ended and not is_runaway(self._said(hypothesis), self._repeats)

    def _trimmed(self, hypothesis: Hypothesis) -> Hypothesis:
        kept = kept_places(hypothesis.token_ids, self._repeats)
        if len(kept) == len(hypothesis.token_ids):
            return hypothesis
        return replace(
            hypothesis,
            token_ids=tuple(hypothesis.token_ids[place] for place in kept),
            token_log_probs=tuple(hypothesis.token_log_probs[place] for place in kept),
            alignment=None if hypothesis.alignment is None else hypothesis.alignment[kept],
        )

    def _said(self, hypothesis: Hypothesis) -> tuple[int, ...]:
        ids = hypothesis.token_ids
        return ids[:-1] if ids[-1:] == (self._eos,) else ids
