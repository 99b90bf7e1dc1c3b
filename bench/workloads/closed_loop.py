"""Closed loops over HTTP: so many clients, each asking again when it has its answer, until both systems did the same.

Which texts a system answers must not depend on how fast it is: every system of a round answers the same ones.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from bench.load import ClosedLoad, LoadResult
from bench.report import Cell, Goal, Table
from bench.rounds import interleave
from bench.run import Run
from bench.served import PLAIN, VERSO_SERVER, Served, Servers
from bench.spread import Spread, median, percentile, ratio
from bench.texts import varied

_BUDGET_SECONDS = 15.0
# Of a system in a round, the mean of both; how long one that is suddenly much slower may take.
_SECONDS = 3.0
_LIMIT_SECONDS = 30.0
_WARM_UP_SHARE = 0.15
_RATE_GOALS = {16: 3.0, 64: 3.0}
_P95_GOAL = 1 / 3


@dataclass(frozen=True, slots=True)
class Slices:
    """Results by system and round for one number of clients; num_requests: answered by each in each round."""

    clients: int
    num_requests: int
    results: dict[str, dict[int, LoadResult]]

    def rates(self, system: str) -> dict[int, float]:
        """Requests per second by round."""
        return {turn: result.rate for turn, result in self.results[system].items()}

    def latencies(self, system: str, percent: float) -> dict[int, float]:
        """A percentile of the latency by round, in milliseconds."""
        return {turn: 1e3 * percentile(one.latencies, percent) for turn, one in self.results[system].items()}


def closed_loop(run: Run, servers: Servers, clients: int) -> Slices:
    """Measures both servers in rounds with so many clients."""
    run.say(f"http: {clients} clients")
    systems = servers.by_name(clients)
    trials = [served.trial(run.heldout.sources, clients) for served in systems.values()]
    num_requests = shared_number(trials, 1.0 if run.options.quick else _SECONDS)
    num_warm_up = 2 * clients + int(_WARM_UP_SHARE * num_requests)
    # When the last is answered every other client has one under way.
    step = num_warm_up + num_requests + clients - 1
    results: dict[str, dict[int, LoadResult]] = {name: {} for name in systems}

    def measurement(name: str, served: Served) -> Callable[[int], float]:
        def measure_slice(turn: int) -> float:
            texts = varied(run.heldout.sources, servers.num_texts + turn * step, step)
            requests = [served.request(text) for text in texts]
            load = ClosedLoad(served.server.port, requests, clients, _LIMIT_SECONDS, num_warm_up, num_requests)
            results[name][turn] = served.closed(load)
            return results[name][turn].rate

        return measure_slice

    plan = run.plan(_BUDGET_SECONDS)
    interleave({name: measurement(name, served) for name, served in systems.items()}, plan)
    servers.num_texts += plan.at_most * step
    return Slices(clients, num_requests, results)


def shared_number(rates: Collection[float], seconds: float) -> int:
    """Returns how many requests systems of these rates answer if they take `seconds` each on average."""
    return max(1, round(seconds * len(rates) / sum(1 / rate for rate in rates)))


def closed_table(closed: list[Slices]) -> Table:
    """Lays out rates and latencies, two rows for each number of clients."""
    columns = (
        "clients", "system", "requests a round", "requests/s", "p50 ms", "p95 ms", "p99 ms", "generator's cores",
        "requests/s over plain", "p95 over plain",
    )  # fmt: skip
    rows: list[tuple[Cell, ...]] = []
    for slices in closed:
        for system in (VERSO_SERVER, PLAIN):
            results = slices.results[system].values()
            is_verso = system == VERSO_SERVER
            rows.append(
                (
                    str(slices.clients),
                    system,
                    slices.num_requests,
                    Spread.of(list(slices.rates(system).values())),
                    *(Spread.of(list(slices.latencies(system, percent).values())) for percent in (50, 95, 99)),
                    median([one.processor_seconds / one.seconds for one in results]),
                    ratio(slices.rates(VERSO_SERVER), slices.rates(PLAIN)) if is_verso else None,
                    ratio(slices.latencies(VERSO_SERVER, 95), slices.latencies(PLAIN, 95)) if is_verso else None,
                )
            )
    return Table("Closed loop, the same texts for both", columns, tuple(rows))


def closed_goals(closed: list[Slices]) -> list[Goal]:
    """Compares what the goals are about: throughput and the slow answers with many clients."""
    goals = []
    for slices in closed:
        if slices.clients not in _RATE_GOALS:
            continue
        rates = ratio(slices.rates(VERSO_SERVER), slices.rates(PLAIN))
        p95 = ratio(slices.latencies(VERSO_SERVER, 95), slices.latencies(PLAIN, 95))
        name = f"http, {slices.clients} clients, over {PLAIN}"
        target = _RATE_GOALS[slices.clients]
        goals.append(Goal(f"{name}: requests/s", target, "at least", "×", rates.median if rates else None))
        goals.append(Goal(f"{name}: p95", _P95_GOAL, "at most", "×", p95.median if p95 else None))
    return goals
