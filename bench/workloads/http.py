"""Both servers over loopback: closed loops of 1 to 64 clients, an open loop, and one request by itself."""

import contextlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bench.load import ClosedLoad, LoadResult, OpenLoad
from bench.report import Cell, Goal, Section, Table
from bench.rivals.ctranslate import Layout
from bench.rounds import interleave
from bench.run import Run
from bench.served import (
    PLAIN,
    VERSO_SERVER,
    Served,
    fastest_server,
    load_generator,
    plain_layouts,
    plain_server,
    verso_server,
)
from bench.spread import Spread, median, percentile, ratio
from bench.texts import short_texts, varied

_CLIENTS = (1, 4, 16, 64)
_BUDGET_SECONDS = 15.0
_WARM_UP_SECONDS = 0.5
# More than any server here answers; requests are made beforehand.
_MAX_RATE = 3_000
_OPEN_SHARE = 0.7
_SHORT_WORDS = 6
_RATE_GOALS = {16: 3.0, 64: 3.0}
_P95_GOAL = 1 / 3
_ADDED_GOAL_MS = 1.0


@dataclass(slots=True)
class Servers:
    """The servers of one run. layouts: of the plain server, for one client and for many."""

    verso: Served
    plain_for_one: Served
    plain_for_many: Served
    layouts: tuple[Layout, Layout]
    num_texts: int = 0

    def by_name(self, clients: int) -> dict[str, Served]:
        """Gives the two servers to compare."""
        return {VERSO_SERVER: self.verso, PLAIN: self.plain_for_one if clients == 1 else self.plain_for_many}


@dataclass(frozen=True, slots=True)
class Slices:
    """Results by system and round for one number of clients."""

    clients: int
    results: dict[str, dict[int, LoadResult]]

    def rates(self, system: str) -> dict[int, float]:
        """Requests per second by round."""
        return {turn: result.rate for turn, result in self.results[system].items()}

    def latencies(self, system: str, percent: float) -> dict[int, float]:
        """A percentile of the latency by round, in milliseconds."""
        return {turn: 1e3 * percentile(one.latencies, percent) for turn, one in self.results[system].items()}


def measure(run: Run) -> Section:
    """Measures both servers with the package's own options."""
    with _both(run) as servers:
        closed = [_closed(run, servers, clients) for clients in _clients(run)]
        opened = _open_table(run, servers, closed)
        short, short_goal = _short_sentences(run, servers)
        added, added_goal = _added(run, servers)
        layouts = servers.layouts
    notes = (
        "Single held-out sentences of mixed length with the package's own options; no sentence is sent twice.",
        "Verso keeps no results of earlier requests. The load generator shares the cores.",
        f"{PLAIN} runs {layouts[0]} for one client and {layouts[1]} for several.",
    )
    tables = (_closed_table(closed), opened, short, added)
    return Section("http", tables, (*_closed_goals(closed), short_goal, added_goal), notes)


def _clients(run: Run) -> tuple[int, ...]:
    return (1, 16) if run.options.quick else _CLIENTS


@contextlib.contextmanager
def _both(run: Run) -> Iterator[Servers]:
    run.say("http: starting servers")
    with contextlib.ExitStack() as stack:
        generator = stack.enter_context(load_generator())
        verso = stack.enter_context(verso_server(run, generator))
        plain = {layout: stack.enter_context(plain_server(run, generator, layout)) for layout in plain_layouts(run)}

        def rate(clients: int) -> Callable[[Served], float]:
            return lambda served: _closed_slice(run, served, (clients, 1.0), 0).rate

        for served in [verso, *plain.values()]:
            _closed_slice(run, served, (4, 0.5), 0)
        for_one, for_many = fastest_server(plain, rate(1)), fastest_server(plain, rate(16))
        yield Servers(verso, for_one[1], for_many[1], (for_one[0], for_many[0]), num_texts=10 * _MAX_RATE)


def _closed(run: Run, servers: Servers, clients: int) -> Slices:
    run.say(f"http: {clients} clients")
    seconds = 1.0 if run.options.quick else 3.0
    results: dict[str, dict[int, LoadResult]] = {VERSO_SERVER: {}, PLAIN: {}}
    first, step = servers.num_texts, int(_MAX_RATE * (seconds + _WARM_UP_SECONDS))

    def measurement(name: str, served: Served) -> Callable[[int], float]:
        def measure_slice(turn: int) -> float:
            result = _closed_slice(run, served, (clients, seconds), first + turn * step)
            results[name][turn] = result
            return result.rate

        return measure_slice

    plan = run.plan(_BUDGET_SECONDS)
    interleave({name: measurement(name, served) for name, served in servers.by_name(clients).items()}, plan)
    servers.num_texts += plan.at_most * step
    return Slices(clients, results)


def _closed_slice(run: Run, served: Served, shape: tuple[int, float], first_text: int) -> LoadResult:
    clients, seconds = shape
    count = int(_MAX_RATE * (seconds + _WARM_UP_SECONDS))
    requests = [served.request(text) for text in varied(run.heldout.sources, first_text, count)]
    load = ClosedLoad(served.server.port, requests, clients, seconds, _WARM_UP_SECONDS)
    result: LoadResult = served.measure("closed", load)
    _refuse_failures(result)
    return result


def _refuse_failures(result: LoadResult) -> None:
    if result.failures or not result.latencies:
        raise AssertionError(f"{result.failures} requests failed, {len(result.latencies)} were answered")


def _closed_table(closed: list[Slices]) -> Table:
    columns = (
        "clients", "system", "requests/s", "p50 ms", "p95 ms", "p99 ms", "generator's cores",
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
                    Spread.of(list(slices.rates(system).values())),
                    *(Spread.of(list(slices.latencies(system, percent).values())) for percent in (50, 95, 99)),
                    median([one.processor_seconds / (one.seconds + _WARM_UP_SECONDS) for one in results]),
                    ratio(slices.rates(VERSO_SERVER), slices.rates(PLAIN)) if is_verso else None,
                    ratio(slices.latencies(VERSO_SERVER, 95), slices.latencies(PLAIN, 95)) if is_verso else None,
                )
            )
    return Table("Closed loop", columns, tuple(rows))


def _closed_goals(closed: list[Slices]) -> list[Goal]:
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


def _open_table(run: Run, servers: Servers, closed: list[Slices]) -> Table:
    """Sends each server 70 % of what it managed at most, and Verso also what that is for the plain one."""
    capacity = {
        system: max(median(list(slices.rates(system).values())) for slices in closed)
        for system in (VERSO_SERVER, PLAIN)
    }
    rows: list[tuple[Cell, ...]] = []
    for system, of in ((VERSO_SERVER, VERSO_SERVER), (PLAIN, PLAIN), (VERSO_SERVER, PLAIN)):
        rate = _OPEN_SHARE * capacity[of]
        run.say(f"http: open loop, {system} at {rate:.0f} requests/s")
        served = servers.by_name(max(_CLIENTS))[system]
        seconds = 2.0 if run.options.quick else 5.0
        count = int(rate * seconds * 2) + 100
        requests = [served.request(text) for text in varied(run.heldout.sources, servers.num_texts, count)]
        result: LoadResult = served.measure("open", OpenLoad(served.server.port, requests, rate, seconds))
        _refuse_failures(result)
        servers.num_texts += count
        percentiles = (1e3 * percentile(result.latencies, percent) for percent in (50, 95, 99))
        rows.append((system, f"{_OPEN_SHARE:.0%} of {of}'s capacity", rate, result.rate, *percentiles))
    columns = ("system", "load", "sent/s", "answered/s", "p50 ms", "p95 ms", "p99 ms")
    return Table("Open loop, random arrivals", columns, tuple(rows))


def _short_sentences(run: Run, servers: Servers) -> tuple[Table, Goal]:
    """Sends short sentences one after the other."""
    run.say("http: one client, short sentences")
    texts = short_texts(run.heldout.sources, _SHORT_WORDS)
    count = run.choose(quick=50, default=150)
    medians: dict[str, dict[int, float]] = {VERSO_SERVER: {}, PLAIN: {}}

    def measurement(name: str, served: Served) -> Callable[[int], float]:
        def measure_round(turn: int) -> float:
            first = servers.num_texts + turn * count
            requests = [served.request(text) for text in varied(texts, first, count)]
            result = served.sequence(requests)
            _refuse_failures(result)
            medians[name][turn] = 1e3 * median(result.latencies)
            return medians[name][turn]

        return measure_round

    plan = run.plan(budget_seconds=8.0)
    interleave({name: measurement(name, served) for name, served in servers.by_name(1).items()}, plan)
    servers.num_texts += plan.at_most * count
    over = ratio(medians[VERSO_SERVER], medians[PLAIN])
    rows = tuple((name, Spread.of(list(values.values()))) for name, values in medians.items())
    table = Table(f"One client, sentences of at most {_SHORT_WORDS} words: median ms", ("system", "ms"), rows)
    goal = Goal(f"one client, short sentence: latency over {PLAIN}", 1.0, "at most", "×", over.median if over else None)
    return table, goal


def _added(run: Run, servers: Servers) -> tuple[Table, Goal]:
    """Takes what the server says it spent in queue and model from what a client waited."""
    texts = short_texts(run.heldout.sources, _SHORT_WORDS)
    count = run.choose(quick=50, default=300)
    requests = [servers.verso.request(text, include=["timings"]) for text in varied(texts, servers.num_texts, count)]
    result = servers.verso.sequence(requests)
    _refuse_failures(result)
    timings = [json.loads(answer)["timings"] for answer in result.answers]
    parts = {
        name: median([1e3 * timing[f"{name}_seconds"] for timing in timings])
        for name in ("preparation", "queue", "encode", "decode", "completion")
    }
    in_model = [sum(timing[f"{name}_seconds"] for name in ("queue", "encode", "decode")) for timing in timings]
    added = median([1e3 * (latency - inner) for latency, inner in zip(result.latencies, in_model, strict=True)])
    columns = ("all", *parts, "HTTP and text work")
    rows = ((1e3 * median(result.latencies), *parts.values(), added),)
    table = Table("One request of a short sentence at Verso: median ms", columns, rows)
    return table, Goal("HTTP and text work added to one request", _ADDED_GOAL_MS, "at most", " ms", added)
