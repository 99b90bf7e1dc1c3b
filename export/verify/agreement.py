"""How closely a rounded precision follows float32 on real sentences: the gate that an int8 export must pass.

float32 translates a fixed corpus; both precisions are then led along those translations, token by token. Where there
are no float32 graphs, the plain computation of the network is led along the rounded precision's own translations, of a
few sentences, because that takes long.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from export.reference import ReferenceNetwork
from export.sample import LONGEST_TRANSLATION, groups_of_like_length
from export.verify.graph_pair import GraphPair, Ids

_LONGEST_OF_REFERENCE = 24
# All log-probabilities of so many translations are in memory together.
_AT_ONCE = 6
# Of fewer steps, chance makes another share than the limit is meant for.
_MANY_STEPS = 1000


@dataclass(frozen=True, slots=True)
class AgreementLimits:
    """What an export must reach: share of steps with the same best token, and mean divergence in nats at most."""

    min_top1: float = 0.97
    max_mean_divergence: float = 0.005


@dataclass(frozen=True, slots=True)
class Agreement:
    """How closely a precision follows what it is measured against.

    top1: share of forced steps whose best token is the same. mean_divergence, max_divergence: Kullback-Leibler
    divergence from float32 per step, in nats. same_translations: share of equal greedy translations. length_ratio:
    tokens of all greedy translations over those of float32. Both are None against the plain computation, which does not
    translate.
    """

    num_sentences: int
    num_steps: int
    top1: float
    mean_divergence: float
    max_divergence: float
    same_translations: float | None
    length_ratio: float | None
    against: Literal["fp32", "plain computation"] = "fp32"

    def problems(self, limits: AgreementLimits) -> list[str]:
        """Limits that are not kept, as sentences."""
        found = []
        deviation = (limits.min_top1 * (1 - limits.min_top1) / self.num_steps) ** 0.5
        chance = 2 * deviation if self.num_steps < _MANY_STEPS else 0.0
        if not self.top1 >= limits.min_top1 - chance:
            found.append(f"the best token agrees with float32 in {self.top1:.2%} of steps, below {limits.min_top1:.2%}")
        if not self.mean_divergence <= limits.max_mean_divergence:
            found.append(f"mean divergence from float32 is {self.mean_divergence:.2g} nats, over the limit")
        return found


def measure_agreement(exact: GraphPair, rounded: GraphPair, sources: Ids, longest: int) -> Agreement:
    """Compares on source ids with their special ids; `longest` is the network's limit of target tokens."""
    limit = min(LONGEST_TRANSLATION, longest)
    translations: list[list[int]] = []
    others: list[list[int]] = []
    steps = _Steps()
    for group in groups_of_like_length(sources, exact.rows_at_once):
        forced = exact.greedy(group, limit)
        translations += forced
        others += rounded.greedy(group, limit)
        for expected, actual in _forced_steps(exact, rounded, group, forced):
            steps.add(expected, actual)
    agreement = steps.agreement(len(sources), "fp32")
    return replace(
        agreement,
        same_translations=sum(map(list.__eq__, translations, others)) / len(sources),
        length_ratio=sum(map(len, others)) / sum(map(len, translations)),
    )


def measure_against_reference(reference: ReferenceNetwork, rounded: GraphPair, sources: Ids, longest: int) -> Agreement:
    """Compares on source ids with their special ids, along the translations of `rounded`.

    The reference reads its weights one by one, so this needs no more memory than they do.
    """
    limit = min(_LONGEST_OF_REFERENCE, longest)
    steps = _Steps()
    for start in range(0, len(sources), _AT_ONCE):
        group = sources[start : start + _AT_ONCE]
        targets = rounded.greedy(group, limit)
        forced = rounded.log_probs(rounded.batch(group), targets)
        for source, target, actual in zip(group, targets, forced, strict=True):
            steps.add(reference.force(source, target).log_probs, actual)
    return steps.agreement(len(sources), "plain computation")


class _Steps:
    """Forced steps of two networks, compared one by one."""

    def __init__(self) -> None:
        self._best_equal: list[NDArray[np.bool_]] = []
        self._divergences: list[NDArray[np.float64]] = []

    def add(self, expected: NDArray[np.floating], actual: NDArray[np.floating]) -> None:
        """Adds log-probabilities [N, V] of both."""
        self._best_equal.append(expected.argmax(axis=1) == actual.argmax(axis=1))
        self._divergences.append(divergence(expected, actual))

    def agreement(self, num_sentences: int, against: Literal["fp32", "plain computation"]) -> Agreement:
        """What the steps say; of translations they say nothing."""
        divergences = np.concatenate(self._divergences)
        return Agreement(
            num_sentences=num_sentences,
            num_steps=len(divergences),
            top1=float(np.concatenate(self._best_equal).mean()),
            mean_divergence=float(divergences.mean()),
            max_divergence=float(divergences.max()),
            same_translations=None,
            length_ratio=None,
            against=against,
        )


def _forced_steps(
    exact: GraphPair, rounded: GraphPair, sources: Ids, targets: Ids
) -> Iterator[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """Log-probabilities [rows, V] of both at each step, of the rows whose target is not over."""
    lengths = np.array([len(target) for target in targets])
    both = zip(exact.force(exact.batch(sources), targets), rounded.force(rounded.batch(sources), targets), strict=True)
    for step, ((_, expected), (_, actual)) in enumerate(both):
        live = lengths > step
        yield expected["probe_log_probs"][live], actual["probe_log_probs"][live]


def divergence(expected: NDArray[np.floating], actual: NDArray[np.floating]) -> NDArray[np.float64]:
    """Kullback-Leibler divergence [N] of log-probabilities [N, V]; ids impossible in `expected` add nothing."""
    first, second = expected.astype(np.float64), actual.astype(np.float64)
    possible = np.isfinite(first)
    difference = np.subtract(first, second, out=np.zeros_like(first), where=possible)
    sums: NDArray[np.float64] = (np.exp(first) * difference).sum(axis=1)
    return sums
