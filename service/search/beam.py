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
from functools import lru_cache

import numpy as np

from service.search.group import SearchGroup, SearchTask, Selection
from service.search.history import Path
from service.search.hypothesis import Hypothesis
from service.search.pool import Finished, Pool
from service.search.rules import IMPOSSIBLE, DecodingRules, FloatArray, IntArray, StepScores


@dataclass(slots=True, eq=False)
class Offers:
    """Extensions that the beams of n members offer, the best C of each beam after all processing.

    costs: (n, K C) float32, scores of the whole hypotheses with the sign turned. ids: (n, K, C) int64, what is
    appended. log_probs: (n, K, C) float32, of that token alone.
    """

    costs: FloatArray
    ids: IntArray
    log_probs: FloatArray

    def best(self, count: int) -> IntArray:
        """Returns each member's `count` best as places among its own, (n, count) int64, in order."""
        return self.costs.argsort(axis=1, kind="stable")[:, :count]

    def places(self, own: IntArray) -> IntArray:
        """Returns members' own places (n, c) int64 as places among all."""
        return own + _starts(*self.costs.shape)

    def parents(self, own: IntArray) -> IntArray:
        """Returns the beams that own places (n, c) int64 belong to."""
        return _beams(self.ids.shape[1], self.ids.shape[2]).take(own)


class BeamSearch(SearchGroup):
    """Members with the same number of beams K > 1; all other options are each member's own."""

    def __init__(self, width: int, rules: DecodingRules) -> None:
        super().__init__(width, rules)
        # (slots, K) float32, sums of log-probabilities with the sign turned, so that sorting puts the best first.
        self._costs = np.zeros((4, width), np.float32)
        self._pools: dict[int, Pool] = {}
        self._full_pools: dict[int, Pool] = {}

    def join(self, task: SearchTask, row: int) -> int:
        """Takes a sequence in; see SearchGroup.join."""
        slot = super().join(task, row)
        self._costs[slot] = -IMPOSSIBLE
        self._costs[slot, 0] = 0.0
        self._pools[slot] = Pool(task.options, self._members[slot].limit)
        return slot

    def leave(self, slot: int) -> None:
        """Forgets a member; see SearchGroup.leave."""
        super().leave(slot)
        del self._pools[slot]
        self._full_pools.pop(slot, None)

    def advance(self, step: StepScores, alignment: FloatArray) -> Selection:
        """Chooses the next beams of all members; see SearchGroup.advance."""
        self._log_alignments(alignment)
        ended = self._last_step()
        # 1. (n, K, 2K) offers -> (n, 2K) candidates, best first
        offers = self._offers(step, ended)
        candidates = offers.best(2 * self.width)
        # 4. the first K, unless some of them hit
        going = candidates[:, : self.width]
        places = offers.places(going)
        tokens = offers.ids.take(places)
        # 2.
        hitting = self._hitting(tokens, ended)
        for index in hitting:
            self._finish(offers, index, candidates[index], is_last=index in ended)
        if hitting:
            places = offers.places(going)
            tokens = offers.ids.take(places)
        parents, costs = offers.parents(going), offers.costs.take(places)
        self._costs[self._slots.at] = costs
        self._record(tokens, parents, offers.log_probs.take(places))
        self._extend_prefixes(parents, tokens)
        # 5.
        self._add_final(ended, costs)
        self._add_loops(ended)
        return Selection(parents, tokens, ended)

    def hypotheses(self, slot: int) -> tuple[Hypothesis, ...]:
        """Returns an ended member's best `num_hypotheses` results: finished ones, or else the live one that loops."""
        member = self._members[slot]
        results = []
        for one in self._pools[slot].best[: member.task.options.num_hypotheses]:
            path = self._history.trace(slot, member.start, one.step, one.parent)
            path = Path([*path.tokens, one.token], [*path.log_probs, one.log_prob], [*path.parents, one.parent])
            results.append(self._hypothesis(slot, path, one.score))
        return tuple(results) if results or not member.loops else (self._live(slot),)

    def _live(self, slot: int) -> Hypothesis:
        """Returns the best hypothesis that has not finished."""
        start, stop = self._members[slot].start, self._history.steps
        score = self._pools[slot].normalised(0.0 - self._costs.item(slot, 0), stop - start)
        return self._hypothesis(slot, self._history.trace(slot, start, stop, 0), score)

    def _plain_num_best(self) -> int:
        return 2 * self.width

    def _grow(self) -> None:
        super()._grow()
        self._costs = np.concatenate([self._costs, np.zeros_like(self._costs)])

    def _offers(self, step: StepScores, last: list[int]) -> Offers:
        """Returns what all beams offer; last: indices of the members that take their last step."""
        rows, count = self.rows[self._slots.at], 2 * self.width
        log_probs, ids = step.log_probs[:, :count].take(rows, axis=0), step.ids[:, :count].take(rows, axis=0)
        if not self._rules.renormalize:
            log_probs += step.log_unbanned[rows]
        for slot, member in self._special.items():
            if member.processor is None:
                continue
            index = self._slots.index(slot)
            for beam, row in enumerate(rows[index].tolist()):
                if member.processor.changes(member.prefixes[beam], member.touched[beam]):
                    scores, tokens = self._processed(member, row, beam, step)
                    log_probs[index, beam], ids[index, beam] = scores[:count], tokens[:count]
        if last and self._rules.forced_eos_id is not None:
            log_probs[last], ids[last] = IMPOSSIBLE, self._rules.forced_eos_id
            log_probs[last, :, 0] = 0.0
        costs = (self._costs[self._slots.at][:, :, None] - log_probs).reshape(len(rows), -1)
        return Offers(costs, ids, log_probs)

    def _hitting(self, tokens: IntArray, last: list[int]) -> list[int]:
        """Returns the indices of members with hits among their first K candidates, which take tokens (n, K)."""
        hitting = list(last)
        # A list, because searching it is cheaper than calls of numpy.
        taken, eos_id = tokens.reshape(-1).tolist(), self._rules.eos_id
        if eos_id in taken:
            for place, token in enumerate(taken):
                if token == eos_id and place // self.width not in hitting:
                    hitting.append(place // self.width)
        return hitting

    def _finish(self, offers: Offers, index: int, candidates: IntArray, *, is_last: bool) -> None:
        """Puts a member's hits among its first K candidates, (2K,) int64, into its pool, and those that hit last.

        index: its place among the members. is_last: whether this is its last step, in which all of them hit.
        """
        slot, step, eos_id = self._slots.taken[index], self._history.steps, self._rules.eos_id
        pool, length = self._pools[slot], step + 1 - self._members[slot].start
        tokens = offers.ids[index].take(candidates).tolist()
        going: list[int] = []
        hits: list[int] = []
        finished: list[Finished] = []
        for rank, (place, token) in enumerate(zip(candidates.tolist(), tokens, strict=True)):
            if token != eos_id and not is_last:
                going.append(place)
                continue
            hits.append(place)
            if rank < self.width:
                parent, number = divmod(place, offers.ids.shape[2])
                score = pool.normalised(0.0 - offers.costs.item(index, place), length)
                finished.append(Finished(score, step, parent, token, offers.log_probs.item(index, parent, number)))
        if going:
            candidates[:] = [*going, *hits]
        pool.add(finished)
        if pool.is_full:
            self._full_pools[slot] = pool

    def _add_final(self, ended: list[int], costs: FloatArray) -> None:
        """Adds to the indices of members that ended those whose pool no beam, costs (n, K), can change (rule 5)."""
        for slot, pool in self._full_pools.items():
            index = self._slots.index(slot)
            if pool.is_final(-costs.item(index, 0), self._history.steps - self._members[slot].start):
                ended.append(index)

    def _extend_prefixes(self, parents: IntArray, tokens: IntArray) -> None:
        """Brings prefixes of members with a processor up to date with the beams that go on, (n, K) each."""
        for slot, member in self._special.items():
            if member.processor is None:
                continue
            index = self._slots.index(slot)
            pairs = zip(parents[index].tolist(), tokens[index].tolist(), strict=True)
            member.prefixes = [[*member.prefixes[parent], token] for parent, token in pairs]


@lru_cache(maxsize=256)
def _starts(count: int, length: int) -> IntArray:
    """Returns where each of so many members begins among all offers, (n, 1) int64."""
    return np.arange(0, count * length, length)[:, None]


@lru_cache(maxsize=64)
def _beams(width: int, num_offers: int) -> IntArray:
    """Returns the beam of each offer of a member, (K C,) int64."""
    return np.arange(width).repeat(num_offers)
