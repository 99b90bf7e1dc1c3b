"""Greedy search, and sampling, which differs only in how a row's token is taken."""

import numpy as np

from service.search.group import SearchGroup, Selection
from service.search.hypothesis import Hypothesis
from service.search.rules import DecodingRules, FloatArray, IntArray, StepScores


class GreedySearch(SearchGroup):
    """Each member has one row and takes its most likely token, or a drawn one, until the end token or its limit."""

    def __init__(self, rules: DecodingRules) -> None:
        super().__init__(1, rules)
        # (slots, 1) int64, read-only: a row always continues itself.
        self._parents = np.broadcast_to(np.int64(0), (4, 1))

    def advance(self, step: StepScores, alignment: FloatArray) -> Selection:
        """Chooses one token a member; see SearchGroup.advance."""
        self._log_alignments(alignment)
        rows = self.rows[self._slots.at]
        # (n, 1) each
        tokens, log_probs = step.ids[:, 0].take(rows), step.log_probs[:, 0].take(rows)
        self._choose_specially(step, tokens, log_probs)
        ended = self._last_step()
        if ended and self._rules.forced_eos_id is not None:
            tokens[ended], log_probs[ended] = self._rules.forced_eos_id, 0.0
        self._record(tokens, self._parents[: len(tokens)], log_probs)
        for slot, member in self._special.items():
            if member.processor:
                member.prefixes[0].append(int(tokens[self._slots.index(slot), 0]))
        # A list, because searching it is cheaper than a call of numpy.
        taken, eos_id = tokens.reshape(-1).tolist(), self._rules.eos_id
        if eos_id in taken:
            ended += [index for index, token in enumerate(taken) if token == eos_id]
        self._add_loops(ended)
        return Selection(self._parents[: len(tokens)], tokens, ended)

    def hypotheses(self, slot: int) -> tuple[Hypothesis, ...]:
        """Returns the one result of an ended member; its score is the plain sum of log-probabilities."""
        path = self._history.trace(slot, self._members[slot].start, self._history.steps, 0)
        return (self._hypothesis(slot, path, float(np.array(path.log_probs).sum())),)

    def _plain_num_best(self) -> int:
        return 1

    def _grow(self) -> None:
        super()._grow()
        self._parents = np.broadcast_to(np.int64(0), (len(self.rows), 1))

    def _choose_specially(self, step: StepScores, tokens: IntArray, log_probs: FloatArray) -> None:
        """Puts what special members choose among the tokens and log-probabilities (n, 1) of all."""
        for slot, member in self._special.items():
            if member.processor is None and member.sampler is None:
                continue
            scores, ids = self._processed(member, int(self.rows[slot, 0]), 0, step)
            choice = member.sampler.draw(scores) if member.sampler else 0
            index = self._slots.index(slot)
            tokens[index], log_probs[index] = ids[choice], scores[choice]
