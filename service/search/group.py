"""Sequences that are searched together because their beams are equally wide.

A group keeps the state of its members in arrays indexed by slot, so that one step's choices for all of them are a
few numpy calls. Which cache row a beam lives in is the scheduler's business; the group only remembers it.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from service.search.history import History
from service.search.hypothesis import Hypothesis, StopReason
from service.search.options import DecodingOptions
from service.search.processors import RowScores, ScoreProcessor
from service.search.rules import BoolArray, DecodingRules, FloatArray, IntArray, StepScores
from service.search.sampling import Sampler
from service.text.repetition import tail_period

# Steps between two looks for a loop: it costs some microseconds a sequence, and so many tokens at most are in vain.
_STEPS_BETWEEN_LOOKS = 8


@dataclass(frozen=True, slots=True)
class SearchTask:
    """What one sequence asks of the search.

    forced_first_id: token its first step must take (a target language), if any.
    source_length: source tokens, the width of its alignment rows.
    start_id: token its decoding begins with (a target language), if not the model's.
    honest_repeats: how often in a row the source repeats something, which its translation may do too.
    """

    options: DecodingOptions
    forced_first_id: int | None
    source_length: int
    with_alignment: bool
    start_id: int | None = None
    honest_repeats: int = 1

    def limited(self) -> "SearchTask":
        """Returns the task with `max_new_tokens` as low as its source makes it."""
        limit = self.options.limit(self.source_length)
        return (
            self
            if limit == self.options.max_new_tokens
            else replace(self, options=replace(self.options, max_new_tokens=limit))
        )


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """What a group chose in a step, for its n members.

    slots: (n,) int64. parents: (n, K) int64, the beam each new beam continues. tokens: (n, K) int64, what it
    appended. ended: (n,) bool; an ended member's parents and tokens mean nothing.
    """

    slots: IntArray
    parents: IntArray
    tokens: IntArray
    ended: BoolArray

    def of(self, members: BoolArray) -> "Selection":
        """Returns the selection of some members only; members is (n,) bool."""
        return Selection(self.slots[members], self.parents[members], self.tokens[members], self.ended[members])


@dataclass(slots=True)
class Member:
    """State of one sequence that is not an array: its task, whether it ended in a loop, and what only some have."""

    task: SearchTask
    processor: ScoreProcessor | None
    sampler: Sampler | None
    prefixes: list[list[int]]
    touched: list[list[int]] = field(default_factory=list)
    alignments: list[FloatArray] = field(default_factory=list)
    loops: bool = False


class SearchGroup(ABC):
    """Members, their rows and their history; what to choose is left to greedy and beam search.

    slots: (n,) int64, the members' slots, ascending.
    rows: (slots, K) int64, cache row of each beam; all the same before a member's first step.
    """

    def __init__(self, width: int, rules: DecodingRules) -> None:
        self.width = width
        self.slots = np.zeros(0, np.int64)
        self.rows = np.zeros((4, width), np.int64)
        self._rules = rules
        self._steps = np.zeros(4, np.int64)
        self._max_new_tokens = np.ones(4, np.int64)
        self._stops_loops = np.zeros(4, np.bool_)
        self._history = History(width)
        self._members: dict[int, Member] = {}
        self._special: dict[int, Member] = {}

    def __len__(self) -> int:
        return len(self._members)

    def join(self, task: SearchTask, row: int) -> int:
        """Takes a sequence in, whose first step runs in cache row `row`; returns its slot."""
        slot = next(slot for slot in range(len(self._members) + 1) if slot not in self._members)
        if slot >= len(self._steps):
            self._grow()
        self.rows[slot] = row
        self._steps[slot] = 0
        task = task.limited()
        self._max_new_tokens[slot] = task.options.max_new_tokens
        self._stops_loops[slot] = task.options.stop_loops
        member = self._member(task)
        self._members[slot] = member
        if member.processor or member.sampler or task.with_alignment:
            self._special[slot] = member
        self.slots = np.array(sorted(self._members), np.int64)
        return slot

    def leave(self, slot: int) -> None:
        """Forgets a member, finished or not."""
        del self._members[slot]
        self._special.pop(slot, None)
        self.slots = np.array(sorted(self._members), np.int64)

    def num_best(self) -> int:
        """Returns how many of each row's best tokens the next step must give."""
        self._release_forced()
        extra = 0
        for member in self._special.values():
            member.touched = [
                member.processor.touched(prefix) if member.processor else [] for prefix in member.prefixes
            ]
            extra = max(
                extra, *(len(ids) for ids in member.touched), member.task.options.top_k if member.sampler else 0
            )
        return self._plain_num_best() + extra

    def probes(self) -> list[tuple[int, list[int]]]:
        """Returns (row, ids) for the rows that need particular tokens; call after `num_best`."""
        return [
            (int(row), ids)
            for slot, member in self._special.items()
            for row, ids in zip(self.rows[slot], member.touched, strict=True)
            if ids
        ]

    def aligned_rows(self) -> list[int]:
        """Returns the rows whose attention weights the next step must give."""
        return [
            row
            for slot, member in self._special.items()
            if member.task.with_alignment
            for row in self.rows[slot].tolist()
        ]

    @abstractmethod
    def advance(self, step: StepScores, alignment: FloatArray) -> Selection:
        """Chooses the next tokens of all members; alignment is (R, L) float32, weights of the aligned rows."""

    @abstractmethod
    def hypotheses(self, slot: int) -> tuple[Hypothesis, ...]:
        """Returns an ended member's results, best first."""

    @abstractmethod
    def _plain_num_best(self) -> int: ...

    def _member(self, task: SearchTask) -> Member:
        domain: Literal["logits", "log_probs"] = "log_probs" if self.width > 1 else "logits"
        needed = ScoreProcessor.needed(task.options, task.forced_first_id)
        return Member(
            task=task,
            processor=ScoreProcessor(task.options, self._rules, task.forced_first_id, domain) if needed else None,
            sampler=Sampler(task.options) if task.options.sampling else None,
            prefixes=[[self._rules.start_of(task.start_id)] for _ in range(self.width)],
        )

    def _release_forced(self) -> None:
        """Makes members ordinary that were special for the sake of their first token, once they have it."""
        for slot, member in list(self._special.items()):
            if member.processor and self._steps[slot] and not ScoreProcessor.needed(member.task.options, None):
                member.processor = None
                if not (member.sampler or member.task.with_alignment):
                    del self._special[slot]

    def _find_loops(self, slots: IntArray, ended: BoolArray) -> BoolArray:
        """Says for each member whether its best live hypothesis ends in a loop; looks at few, now and then.

        ended: (n,) bool, the ones that have ended anyway.
        """
        steps = self._steps[slots]
        due = np.flatnonzero(self._stops_loops[slots] & (steps % _STEPS_BETWEEN_LOOKS == 0) & ~ended)
        found = np.zeros(len(slots), np.bool_)
        for index in due.tolist():
            slot = int(slots[index])
            member = self._members[slot]
            tokens = self._history.tokens(slot, int(steps[index]) - 1, 0)
            found[index] = member.loops = tail_period(tokens, member.task.honest_repeats) > 0
        return found

    def _grow(self) -> None:
        count = len(self._steps)
        self.rows = np.concatenate([self.rows, np.zeros((count, self.width), np.int64)])
        self._steps = np.concatenate([self._steps, np.zeros(count, np.int64)])
        self._max_new_tokens = np.concatenate([self._max_new_tokens, np.ones(count, np.int64)])
        self._stops_loops = np.concatenate([self._stops_loops, np.zeros(count, np.bool_)])

    def _processed(self, slot: int, beam: int, step: StepScores) -> tuple[FloatArray, IntArray]:
        """Returns a special member's log-probabilities and ids for one beam, descending."""
        member, row = self._special[slot], int(self.rows[slot, beam])
        if member.processor is None:
            return step.log_probs[row], step.ids[row]
        scores = RowScores(
            log_probs=step.log_probs[row],
            ids=step.ids[row],
            probes=step.probes[row],
            log_normalizer=float(step.log_normalizers[row, 0]),
            log_unbanned=float(step.log_unbanned()[row, 0]),
        )
        return member.processor.apply(member.prefixes[beam], member.touched[beam], scores)

    def _log_alignments(self, alignment: FloatArray) -> None:
        for slot, member in self._special.items():
            if member.task.with_alignment:
                member.alignments.append(alignment[self.rows[slot], : member.task.source_length].copy())

    def _hypothesis(self, slot: int, path: "Path", score: float) -> Hypothesis:
        member = self._members[slot]
        alignment = None
        if member.task.with_alignment:
            alignment = np.stack([rows[beam] for rows, beam in zip(member.alignments, path.parents, strict=False)])
        return Hypothesis(
            token_ids=tuple(path.tokens),
            token_log_probs=tuple(path.log_probs),
            score=score,
            stop_reason=self._stop_reason(member, path),
            alignment=alignment,
        )

    def _stop_reason(self, member: Member, path: "Path") -> StopReason:
        if member.loops:
            return StopReason.REPETITION
        by_length = len(path.tokens) >= member.task.options.max_new_tokens and (
            path.tokens[-1] != self._rules.eos_id or self._rules.forced_eos_id is not None
        )
        return StopReason.LENGTH if by_length else StopReason.END_TOKEN


@dataclass(frozen=True, slots=True)
class Path:
    """One hypothesis read back: its tokens, their log-probabilities, and the beams they were predicted from."""

    tokens: list[int]
    log_probs: list[float]
    parents: list[int]
