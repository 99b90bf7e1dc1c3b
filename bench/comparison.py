"""One case on several systems: the same tasks in interleaved rounds, tokens per second, ratios, and checks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bench.rivals.rival import Ids, Outcome, Task, agreement
from bench.rounds import RoundPlan, interleave
from bench.spread import Spread, ratio
from bench.worker import Worker

Workers = Mapping[str, Worker]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What the systems did in one case.

    rates: tokens per second by system and round. targets: of the first round, by system.
    """

    rates: dict[str, dict[int, float]]
    targets: dict[str, Ids]

    def spread(self, system: str) -> Spread | None:
        """Tokens per second of one system; None if it was not measured."""
        rates = list(self.rates.get(system, {}).values())
        return Spread.of(rates) if rates else None

    def ratio(self, system: str, rival: str) -> Spread | None:
        """Tokens per second of one system over those of another."""
        return ratio(self.rates.get(system, {}), self.rates.get(rival, {}))

    def agreement(self, system: str, other: str) -> float | None:
        """Share of equal targets, if both systems were measured."""
        if system not in self.targets or other not in self.targets:
            return None
        return agreement(self.targets[system], self.targets[other])


def compare(systems: Workers, task_of_round: Callable[[int], Task], warm_up: Task, plan: RoundPlan) -> Comparison:
    """Measures all systems on the task of each round, after an unmeasured warm-up."""
    targets: dict[str, Ids] = {}

    def measurement(name: str) -> Callable[[int], float]:
        def measure(turn: int) -> float:
            outcome: Outcome = systems[name].call("translate", task_of_round(turn))
            targets.setdefault(name, outcome.targets)
            return outcome.tokens_per_second

        return measure

    for worker in systems.values():
        worker.call("translate", warm_up)
    rates = interleave({name: measurement(name) for name in systems}, plan)
    return Comparison(rates, targets)
