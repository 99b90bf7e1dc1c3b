"""Greedy search, and sampling, which differs only in how a row's token is taken."""

import numpy as np

from service.search.group import Path, SearchGroup, Selection
from service.search.hypothesis import Hypothesis
from service.search.rules import DecodingRules, FloatArray, StepScores


class GreedySearch(SearchGroup):
    """Each member has one row and takes its most likely token, or a drawn one, until the end token or its limit."""

    def __init__(self, rules: DecodingRules) -> None:
        super().__init__(1, rules)

    def advance(self, step: StepScores, alignment: FloatArray) -> Selection:
        """Chooses one token a member; see SearchGroup.advance."""
        slots = self.slots
        rows = self.rows[slots, 0]
        tokens, log_probs = step.ids[rows, 0], step.log_probs[rows, 0]
        self._log_alignments(alignment)
        for slot, member in self._special.items():
            index = int(np.searchsorted(slots, slot))
            scores, ids = self._processed(slot, 0, step)
            choice = member.sampler.draw(scores) if member.sampler else 0
            tokens[index], log_probs[index] = ids[choice], scores[choice]
        at_limit = self._steps[slots] + 1 >= self._max_new_tokens[slots]
        if self._rules.forced_eos_id is not None:
            tokens[at_limit], log_probs[at_limit] = self._rules.forced_eos_id, 0.0
        parents = np.zeros((len(slots), 1), np.int64)
        self._history.record(slots, self._steps[slots], tokens[:, None], parents, log_probs[:, None])
        for slot, member in self._special.items():
            member.prefixes[0].append(int(tokens[np.searchsorted(slots, slot)]))
        self._steps[slots] += 1
        ended = (tokens == self._rules.eos_id) | at_limit
        return Selection(slots, parents, tokens[:, None], ended | self._find_loops(slots, ended))

    def hypotheses(self, slot: int) -> tuple[Hypothesis, ...]:
        """Returns the one result of an ended member; its score is the plain sum of log-probabilities."""
        path = Path(*self._history.trace(slot, int(self._steps[slot]) - 1, 0))
        return (self._hypothesis(slot, path, float(np.sum(path.log_probs))),)

    def _plain_num_best(self) -> int:
        return 1
