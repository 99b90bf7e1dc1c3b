"""Sequences that are searched together because their beams are equally wide.

A group keeps the state of its members in arrays indexed by slot, so that one step's choices for all of them are a
few numpy calls, and what only some members have in objects of their own. Which cache row a beam lives in is the
scheduler's business; the group only remembers it.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from service.search.history import History, Path
from service.search.hypothesis import Hypothesis, StopReason
from service.search.loops import LoopWatch
from service.search.options import DecodingOptions
from service.search.processors import ScoreProcessor
from service.search.rules import DecodingRules, FloatArray, IntArray, StepScores
from service.search.sampling import Sampler
from service.search.slots import Slots


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

    @property
    def limit(self) -> int:
        """The most tokens it may have: `max_new_tokens`, or less where its source is short."""
        return self.options.limit(self.source_length)


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """What a group chose in a step, for its n members in order of their slots.

    parents: (n, K) int64, the beam each new beam continues; read-only where K is 1. tokens: (n, K) int64, what it
    appended. ended: indices of members that have ended, in any order, some perhaps twice; their parents and tokens mean
    nothing.
    """

    parents: IntArray
    tokens: IntArray
    ended: list[int]


@dataclass(slots=True)
class Member:
    """State of one sequence that is not an array.

    start: the group's step that was its first. limit: the most tokens it may have. loops: whether it ended in a loop.
    prefixes, touched: one a beam, of members with a processor. alignments: (K, L) float32 of each step.
    """

    task: SearchTask
    start: int
    limit: int
    processor: ScoreProcessor | None
    sampler: Sampler | None
    prefixes: list[list[int]]
    touched: list[list[int]] = field(default_factory=list)
    alignments: list[FloatArray] = field(default_factory=list)
    loops: bool = False

    @property
    def end(self) -> int:
        """The group's step that is its last allowed one, counted from 1."""
        return self.start + self.limit

    @property
    def is_special(self) -> bool:
        """Whether a step has to attend to this member by itself."""
        return self.processor is not None or self.sampler is not None or self.task.with_alignment


class SearchGroup(ABC):
    """Members, their rows and their history; what to choose is left to greedy and beam search.

    rows: (slots, K) int64, cache row of each beam; all the same before a member's first step.
    """

    def __init__(self, width: int, rules: DecodingRules) -> None:
        self.width = width
        self.rows = np.zeros((4, width), np.int64)
        self._rules = rules
        self._history = History(4, width)
        self._members: dict[int, Member] = {}
        self._special: dict[int, Member] = {}
        self._slots = Slots()
        # No member's last allowed step comes before this one.
        self._first_end = 0
        self._loop_watch = LoopWatch(self._history)

    def __len__(self) -> int:
        return len(self._members)

    @property
    def slots(self) -> list[int]:
        """The members' slots, ascending."""
        return self._slots.taken

    @property
    def member_rows(self) -> IntArray:
        """(n, K) int64, the rows of the members in order of their slots; may be a view of `rows`."""
        return self.rows[self._slots.at]

    @member_rows.setter
    def member_rows(self, rows: IntArray) -> None:
        """Moves the members to other rows."""
        self.rows[self._slots.at] = rows

    def join(self, task: SearchTask, row: int) -> int:
        """Takes a sequence in, whose first step runs in cache row `row`; returns its slot."""
        slot = self._slots.take()
        if slot == len(self.rows):
            self._grow()
        member = self._member(task)
        self.rows[slot] = row
        self._first_end = min(self._first_end, member.end) if self._members else member.end
        self._members[slot] = member
        if member.is_special:
            self._special[slot] = member
        if task.options.stop_loops:
            self._loop_watch.add(slot, task.honest_repeats)
        return slot

    def leave(self, slot: int) -> None:
        """Forgets a member, finished or not."""
        member = self._members.pop(slot)
        self._special.pop(slot, None)
        self._loop_watch.discard(slot, member.start)
        self._slots.release(slot)

    def num_best(self) -> int:
        """Returns how many of each row's best tokens the next step must give."""
        if not self._special:
            return self._plain_num_best()
        self._release_forced()
        most = self._plain_num_best()
        for member in self._special.values():
            num_touched = 0
            if member.processor:
                member.touched = [member.processor.touched(prefix) for prefix in member.prefixes]
                num_touched = max(map(len, member.touched))
            most = max(most, self._wanted(member) + num_touched)
        return most

    def probes(self) -> list[tuple[int, list[int]]]:
        """Returns (row, ids) for the rows that need particular tokens; call after `num_best`."""
        return [
            (row, ids)
            for slot, member in self._special.items()
            if member.processor
            for row, ids in zip(self.rows[slot].tolist(), member.touched, strict=True)
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
        limit = task.limit
        processor = ScoreProcessor(task.options, limit, self._rules, task.forced_first_id, domain) if needed else None
        return Member(
            task=task,
            start=self._history.steps,
            limit=limit,
            processor=processor,
            sampler=Sampler(task.options) if task.options.sampling else None,
            prefixes=[[self._rules.start_of(task.start_id)] for _ in range(self.width)] if needed else [],
        )

    def _release_forced(self) -> None:
        """Makes members ordinary that were special for the sake of their first token, once they have it."""
        for slot, member in list(self._special.items()):
            has_begun = self._history.steps > member.start
            if member.processor and has_begun and not ScoreProcessor.needed(member.task.options, None):
                member.processor = None
                if not member.is_special:
                    del self._special[slot]

    def _last_step(self) -> list[int]:
        """Returns the indices of members that take their last allowed token in this step."""
        step = self._history.steps + 1
        if step < self._first_end:
            return []
        ends = [self._members[slot].end for slot in self._slots.taken]
        self._first_end = min(ends)
        return [index for index, end in enumerate(ends) if end <= step]

    def _record(self, tokens: IntArray, parents: IntArray, log_probs: FloatArray) -> None:
        """Writes what all members took into the history; arrays are (n, K)."""
        if self._history.is_full:
            self._history.make_room(min(member.start for member in self._members.values()))
        self._history.record(self._slots.at, tokens, parents, log_probs)

    def _add_loops(self, ended: list[int]) -> None:
        """Adds to the indices of members that ended those whose best live hypothesis loops."""
        for slot, honest_repeats in self._loop_watch.due():
            index = self._slots.index(slot)
            if index not in ended:
                member = self._members[slot]
                member.loops = self._loop_watch.loops(slot, member.start, member.task.source_length, honest_repeats)
                if member.loops:
                    ended.append(index)

    def _grow(self) -> None:
        self.rows = np.concatenate([self.rows, np.zeros_like(self.rows)])
        self._history.add_slots()

    def _wanted(self, member: Member) -> int:
        """Returns how many of its best tokens after all processing a member chooses from."""
        return max(self._plain_num_best(), member.task.options.top_k if member.sampler else 0)

    def _processed(self, member: Member, row: int, beam: int, step: StepScores) -> tuple[FloatArray, IntArray]:
        """Returns a member's log-probabilities and ids for the beam in a row, descending."""
        if member.processor is None:
            return step.log_probs[row], step.ids[row]
        touched = member.touched[beam]
        # No more than the member's own: how many there are besides depends on its company.
        own = self._wanted(member) + len(touched)
        return member.processor.apply(member.prefixes[beam], touched, step, row, own)

    def _log_alignments(self, alignment: FloatArray) -> None:
        for slot, member in self._special.items():
            if member.task.with_alignment:
                member.alignments.append(alignment[self.rows[slot], : member.task.source_length])

    def _hypothesis(self, slot: int, path: Path, score: float) -> Hypothesis:
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

    def _stop_reason(self, member: Member, path: Path) -> StopReason:
        if member.loops:
            return StopReason.REPETITION
        by_length = len(path.tokens) >= member.limit and (
            path.tokens[-1] != self._rules.eos_id or self._rules.forced_eos_id is not None
        )
        return StopReason.LENGTH if by_length else StopReason.END_TOKEN
