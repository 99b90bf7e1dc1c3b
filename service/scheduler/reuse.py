"""Sharing of work between identical sequences: results of late ones, and those still being decoded.

Identical means the same source ids under the same task, so sharing changes nothing but time: a sequence's result never
depends on what else runs. Of identical sequences that are open at once only the first, the leader, is decoded; the
others follow it. Results are kept up to a budget of tokens, the least recently used go first.
"""

from collections import OrderedDict
from dataclasses import dataclass, field

from service.scheduler.sequence import Sequence
from service.search.group import SearchTask
from service.search.hypothesis import Hypothesis

_Key = tuple[bytes, SearchTask]


@dataclass(slots=True)
class _Kept:
    hypotheses: tuple[Hypothesis, ...]
    num_tokens: int


@dataclass(slots=True)
class _Lead:
    leader: Sequence
    followers: list[Sequence] = field(default_factory=list)


class Reuse:
    """Kept results and open leaders; a budget of 0 tokens shares nothing."""

    def __init__(self, max_tokens: int) -> None:
        self._max_tokens = max_tokens
        self._num_tokens = 0
        self._kept: OrderedDict[_Key, _Kept] = OrderedDict()
        self._leads: dict[_Key, _Lead] = {}

    def find(self, sequence: Sequence) -> tuple[Hypothesis, ...] | None:
        """Returns the kept result of an identical sequence, if there is one."""
        kept = self._kept.get(_key(sequence))
        if kept is None:
            return None
        self._kept.move_to_end(_key(sequence))
        return kept.hypotheses

    def follow(self, sequence: Sequence) -> bool:
        """Makes a sequence follow an identical open one, or else lead; says whether it follows."""
        if self._max_tokens == 0:
            return False
        lead = self._leads.get(_key(sequence))
        if lead is None:
            self._leads[_key(sequence)] = _Lead(sequence)
            return False
        lead.followers.append(sequence)
        return True

    def completed(self, sequence: Sequence, hypotheses: tuple[Hypothesis, ...]) -> list[Sequence]:
        """Keeps a leader's result and returns its followers, who have the same."""
        if self._max_tokens == 0:
            return []
        key = _key(sequence)
        num_tokens = len(sequence.source_ids) + sum(len(one.token_ids) for one in hypotheses)
        self._kept[key] = _Kept(hypotheses, num_tokens)
        self._num_tokens += num_tokens
        while self._num_tokens > self._max_tokens:
            self._num_tokens -= self._kept.popitem(last=False)[1].num_tokens
        return self._leads.pop(key).followers

    def withdrawn(self, sequence: Sequence) -> Sequence | None:
        """Forgets a sequence that ends without a result; returns the follower that must be decoded in its place."""
        lead = self._leads.get(_key(sequence))
        if lead is None:
            return None
        if lead.leader is not sequence:
            lead.followers = [follower for follower in lead.followers if follower is not sequence]
            return None
        if not lead.followers:
            del self._leads[_key(sequence)]
            return None
        lead.leader = lead.followers.pop(0)
        return lead.leader


def _key(sequence: Sequence) -> _Key:
    return sequence.source_ids.tobytes(), sequence.task
