"""Beam search by the rules of Hugging Face `generate`, for all members of a group at once.

A step, for n members with K beams each (numbers as in the code):

1. Each beam offers its best 2K tokens: its score plus their log-probabilities. Of a member's offers the best 2K are
   candidates, in order. (2K, so that K survive even if every beam's best token is the end token.)
2. A candidate hits if it takes the end token or reaches the length limit.
3. Hits among the first K candidates enter the member's pool of finished hypotheses, scored by
   sum of log-probabilities / length^length_penalty. The pool keeps the best K.
4. The first K candidates that do not hit go on as beams.
5. A member ends at its length limit, or with a full pool that no beam can improve: by `early_stopping` True at once,
   False judging the best beam by its present length, "never" by its largest possible length.

Before a member's first step all its beams are the same row, and all but the first are impossible.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from service.search.group import Path, SearchGroup, SearchTask, Selection
from service.search.hypothesis import Hypothesis
from service.search.rules import IMPOSSIBLE, BoolArray, DecodingRules, FloatArray, IntArray, StepScores


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Extensions of beams, for n members C each, best first.

    scores: (n, C) float32. parents, tokens: (n, C) int64, the beam extended and what was appended.
    log_probs: (n, C) float32, of that token alone.
    """

    scores: FloatArray
    parents: IntArray
    tokens: IntArray
    log_probs: FloatArray

    def take(self, order: IntArray) -> "Candidates":
        """Returns the ones at each member's own places, order (n, c) int64, as (n, c)."""
        places = _flat(order, self.scores.shape[1])
        return Candidates(
            self.scores.take(places), self.parents.take(places), self.tokens.take(places), self.log_probs.take(places)
        )


class Pool:
    """Finished hypotheses of every slot: the best K, best first, as pointers into the history.

    scores (slots, K) float32, IMPOSSIBLE where there is none; steps, parents, tokens (slots, K) int64 and
    log_probs (slots, K) float32 say how each ended.
    """

    def __init__(self, num_slots: int, width: int) -> None:
        self.scores = np.full((num_slots, width), IMPOSSIBLE, np.float32)
        self.steps = np.zeros((num_slots, width), np.int64)
        self.parents = np.zeros((num_slots, width), np.int64)
        self.tokens = np.zeros((num_slots, width), np.int64)
        self.log_probs = np.zeros((num_slots, width), np.float32)

    def clear(self, slot: int) -> None:
        """Empties one slot's pool."""
        self.scores[slot] = IMPOSSIBLE

    def full(self, slots: IntArray) -> BoolArray:
        """Says for slots (n,) int64 whether K hypotheses have finished."""
        return np.asarray(self.scores[slots, -1] > IMPOSSIBLE)

    def add(self, slot: int, offers: FloatArray, step: int, ended: Candidates, member: int) -> None:
        """Merges a slot's K offers: their normalised scores (K,) float32, IMPOSSIBLE for none, and how they ended."""
        width = len(offers)
        merged = np.concatenate([self.scores[slot], offers])
        order = np.argsort(-merged, kind="stable")[:width]
        self.scores[slot] = merged[order]
        for kept, new in (
            (self.steps, np.full(width, step)),
            (self.parents, ended.parents[member, :width]),
            (self.tokens, ended.tokens[member, :width]),
        ):
            kept[slot] = np.concatenate([kept[slot], new])[order]
        self.log_probs[slot] = np.concatenate([self.log_probs[slot], ended.log_probs[member, :width]])[order]

    def grown(self) -> "Pool":
        """Returns the same pool with room for twice as many slots."""
        count, width = self.scores.shape
        larger = Pool(2 * count, width)
        larger.scores[:count], larger.steps[:count] = self.scores, self.steps
        larger.parents[:count], larger.tokens[:count] = self.parents, self.tokens
        larger.log_probs[:count] = self.log_probs
        return larger


class BeamSearch(SearchGroup):
    """Members with the same number of beams K > 1; all other options are each member's own."""

    def __init__(self, width: int, rules: DecodingRules) -> None:
        super().__init__(width, rules)
        self._pool = Pool(4, width)
        self._scores = np.zeros((4, width), np.float32)
        self._length_penalties = np.zeros(4, np.float64)
        self._stops_early = np.zeros(4, np.bool_)
        self._never_early = np.zeros(4, np.bool_)

    def join(self, task: SearchTask, row: int) -> int:
        """Takes a sequence in; see SearchGroup.join."""
        slot = super().join(task, row)
        self._scores[slot] = IMPOSSIBLE
        self._scores[slot, 0] = 0.0
        self._pool.clear(slot)
        self._length_penalties[slot] = task.options.length_penalty
        self._stops_early[slot] = task.options.early_stopping is True
        self._never_early[slot] = task.options.early_stopping == "never" and task.options.length_penalty > 0
        return slot

    def advance(self, step: StepScores, alignment: FloatArray) -> Selection:
        """Chooses the next beams of all members; see SearchGroup.advance."""
        slots = self.slots
        self._log_alignments(alignment)
        # 1. (n, K, 2K) offers -> (n, 2K) candidates, best first
        candidates = self._candidates(slots, step)
        # 2.
        lengths = self._steps[slots] + 1
        at_limit = lengths >= self._max_new_tokens[slots]
        hits = (candidates.tokens == self._rules.eos_id) | at_limit[:, None]
        # 3.
        self._finish(slots, hits, candidates)
        # 4. a stable sort of "hits" keeps the order of those that go on
        beams = candidates.take(np.argsort(hits, axis=1, kind="stable")[:, : self.width])
        self._scores[slots] = beams.scores
        self._history.record(slots, self._steps[slots], beams.tokens, beams.parents, beams.log_probs)
        self._reorder_prefixes(slots, beams)
        self._steps[slots] = lengths
        # 5.
        ended = at_limit | self._decided(slots, beams.scores[:, 0], lengths)
        return Selection(slots, beams.parents, beams.tokens, ended | self._find_loops(slots, ended))

    def hypotheses(self, slot: int) -> tuple[Hypothesis, ...]:
        """Returns an ended member's best `num_hypotheses` results: finished ones, or else the live one that loops."""
        pool, results = self._pool, []
        for index in range(self._members[slot].task.options.num_hypotheses):
            if pool.scores[slot, index] <= IMPOSSIBLE:
                break
            step, parent = int(pool.steps[slot, index]), int(pool.parents[slot, index])
            tokens, log_probs, parents = self._history.trace(slot, step - 1, parent)
            path = Path(
                [*tokens, int(pool.tokens[slot, index])],
                [*log_probs, float(pool.log_probs[slot, index])],
                [*parents, parent],
            )
            results.append(self._hypothesis(slot, path, float(pool.scores[slot, index])))
        return tuple(results) if results or not self._members[slot].loops else (self._live(slot),)

    def _live(self, slot: int) -> Hypothesis:
        """Returns the best hypothesis that has not finished."""
        steps = self._steps[slot : slot + 1]
        score = _normalised(self._scores[slot, :1], steps, self._length_penalties[slot : slot + 1])
        return self._hypothesis(slot, Path(*self._history.trace(slot, int(steps[0]) - 1, 0)), float(score[0]))

    def _plain_num_best(self) -> int:
        return 2 * self.width

    def _grow(self) -> None:
        count = len(self._steps)
        super()._grow()
        self._pool = self._pool.grown()
        self._scores = np.concatenate([self._scores, np.zeros_like(self._scores)])
        self._length_penalties = np.concatenate([self._length_penalties, np.zeros(count)])
        self._stops_early = np.concatenate([self._stops_early, np.zeros(count, np.bool_)])
        self._never_early = np.concatenate([self._never_early, np.zeros(count, np.bool_)])

    def _candidates(self, slots: IntArray, step: StepScores) -> Candidates:
        log_probs, ids = self._offers(slots, step)
        count, num_offers = len(slots), ids.shape[2]
        totals = (self._scores[slots][:, :, None] + log_probs).reshape(count, -1)
        order = np.argsort(-totals, axis=1, kind="stable")[:, : 2 * self.width]
        places = _flat(order, totals.shape[1])
        return Candidates(totals.take(places), order // num_offers, ids.take(places), log_probs.take(places))

    def _offers(self, slots: IntArray, step: StepScores) -> tuple[FloatArray, IntArray]:
        """Returns log-probabilities and ids (n, K, 2K): the best tokens of each beam, after all processing."""
        count = 2 * self.width
        rows = self.rows[slots]
        log_probs, ids = step.log_probs[:, :count].take(rows, axis=0), step.ids[:, :count].take(rows, axis=0)
        if not self._rules.renormalize:
            log_probs += step.log_unbanned()[rows]
        for slot, member in self._special.items():
            if member.processor is None:
                continue
            index = int(np.searchsorted(slots, slot))
            for beam in range(self.width):
                scores, tokens = self._processed(slot, beam, step)
                log_probs[index, beam], ids[index, beam] = scores[:count], tokens[:count]
        if self._rules.forced_eos_id is not None:
            last = self._steps[slots] + 1 >= self._max_new_tokens[slots]
            if last.any():
                log_probs[last], ids[last] = IMPOSSIBLE, self._rules.forced_eos_id
                log_probs[last, :, 0] = 0.0
        return log_probs, ids

    def _finish(self, slots: IntArray, hits: BoolArray, candidates: Candidates) -> None:
        """Puts the hits among the first K candidates into the pool (rule 3)."""
        enter = hits[:, : self.width] & ~(self._stops_early[slots] & self._pool.full(slots))[:, None]
        members = np.flatnonzero(enter.any(axis=1))
        if not len(members):
            return
        lengths = (self._steps[slots] + 1)[:, None]
        scores = _normalised(candidates.scores[:, : self.width], lengths, self._length_penalties[slots][:, None])
        offers = np.where(enter, scores, IMPOSSIBLE)
        for member in members.tolist():
            slot = int(slots[member])
            self._pool.add(slot, offers[member], int(self._steps[slot]), candidates, member)

    def _decided(self, slots: IntArray, best: FloatArray, lengths: IntArray) -> BoolArray:
        """Says for each member whether its pool can no longer change (rule 5); best (n,) float32 running scores."""
        full = self._pool.full(slots)
        reach = np.where(self._never_early[slots], self._max_new_tokens[slots], lengths)
        possible = _normalised(best, reach, self._length_penalties[slots])
        return np.asarray(full & (self._stops_early[slots] | ~(possible > self._pool.scores[slots, -1])))

    def _reorder_prefixes(self, slots: IntArray, beams: Candidates) -> None:
        for slot, member in self._special.items():
            if member.processor is None:
                continue
            index = int(np.searchsorted(slots, slot))
            pairs = zip(beams.parents[index].tolist(), beams.tokens[index].tolist(), strict=True)
            member.prefixes = [[*member.prefixes[parent], token] for parent, token in pairs]


def _flat(order: IntArray, length: int) -> IntArray:
    """Returns the flat places of each member's own places, order (n, c) int64 below `length`."""
    return order + np.arange(0, len(order) * length, length)[:, None]


def _normalised(scores: FloatArray, lengths: IntArray, penalties: npt.NDArray[np.float64]) -> FloatArray:
    """Divides by length^penalty in float32, as Hugging Face does; no epsilon, no offset."""
    return np.asarray(scores / (lengths.astype(np.float64) ** penalties).astype(np.float32), np.float32)
