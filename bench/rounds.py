"""Interleaved rounds: every system once per round, the order turned by one each time, within a budget of time."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RoundPlan:
    """How often to measure.

    at_least, at_most: rounds. budget_seconds: after `at_least` rounds no further one begins that would end past it.
    once_over_seconds: a system whose first measurement took longer than this is not measured again.
    """

    at_least: int = 2
    at_most: int = 5
    budget_seconds: float = 10.0
    once_over_seconds: float = float("inf")

    @classmethod
    def exactly(cls, rounds: int) -> "RoundPlan":
        """That many rounds, whatever they take."""
        return cls(at_least=rounds, at_most=rounds, budget_seconds=float("inf"))


def rotated(names: Sequence[str], turn: int) -> list[str]:
    """Returns the names beginning with another one each turn."""
    start = turn % len(names) if names else 0
    return [*names[start:], *names[:start]]


def interleave(
    systems: Mapping[str, Callable[[int], float]], plan: RoundPlan, clock: Callable[[], float] = time.perf_counter
) -> dict[str, dict[int, float]]:
    """Measures systems in rounds.

    Each is called with the number of the round, from 0, and returns its measurement. Returns, per system, measurement
    by round.
    """
    values: dict[str, dict[int, float]] = {name: {} for name in systems}
    costs: dict[str, float] = {}
    started = clock()
    for turn in range(plan.at_most):
        names = [name for name in rotated(list(systems), turn) if costs.get(name, 0.0) <= plan.once_over_seconds]
        expected = sum(costs.get(name, 0.0) for name in names)
        if turn >= plan.at_least and clock() - started + expected > plan.budget_seconds:
            break
        for name in names:
            before = clock()
            values[name][turn] = systems[name](turn)
            costs[name] = clock() - before
    return values
