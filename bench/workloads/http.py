"""Both servers over loopback: closed loops of 1 to 64 clients, an open loop, and one request by itself."""

import json
from collections.abc import Callable

from bench.load import LoadResult, OpenLoad
from bench.report import Cell, Goal, Section, Table
from bench.rounds import interleave
from bench.run import Run
from bench.served import PLAIN, VERSO_SERVER, Served, Servers, both_servers, refuse_failures
from bench.spread import Spread, median, percentile, ratio
from bench.texts import short_texts, varied
from bench.workloads.closed_loop import Slices, closed_goals, closed_loop, closed_table

_CLIENTS = (1, 4, 16, 64)
_OPEN_SHARE = 0.7
_SHORT_WORDS = 6
_ADDED_GOAL_MS = 1.0


def measure(run: Run) -> Section:
    """Measures both servers with the package's own options."""
    run.say("http: starting servers")
    with both_servers(run) as servers:
        closed = [closed_loop(run, servers, clients) for clients in _clients(run)]
        opened = _open_table(run, servers, closed)
        short, short_goal = _short_sentences(run, servers)
        added, added_goal = _added(run, servers)
        layouts = servers.layouts
    notes = (
        "Single held-out sentences with the package's own options; no server is measured with one twice.",
        "They come mixed: every stretch of them has as many short and long ones as any other.",
        "Closed loop: both systems answer the same texts in a round, as many as both manage in the time there is.",
        "Other texts warm them up before, and keep every client busy until the last answer that counts.",
        "Verso keeps no results of earlier requests. The load generator shares the cores.",
        f"{PLAIN} runs {layouts[0]} for one client and {layouts[1]} for several.",
    )
    tables = (closed_table(closed), opened, short, added)
    return Section("http", tables, (*closed_goals(closed), short_goal, added_goal), notes)


def _clients(run: Run) -> tuple[int, ...]:
    return (1, 16) if run.options.quick else _CLIENTS


def _open_table(run: Run, servers: Servers, closed: list[Slices]) -> Table:
    """Sends each server 70 % of what it managed at most, and Verso also what that is for the plain one."""
    capacity = {
        system: max(median(list(slices.rates(system).values())) for slices in closed)
        for system in (VERSO_SERVER, PLAIN)
    }
    seconds = 2.0 if run.options.quick else 5.0
    rows: list[tuple[Cell, ...]] = []
    for of, systems in ((VERSO_SERVER, (VERSO_SERVER,)), (PLAIN, (PLAIN, VERSO_SERVER))):
        rate = _OPEN_SHARE * capacity[of]
        texts = varied(run.heldout.sources, servers.num_texts, int(rate * seconds * 2) + 100)
        servers.num_texts += len(texts)
        for system in systems:
            run.say(f"http: open loop, {system} at {rate:.0f} requests/s")
            served = servers.by_name(max(_CLIENTS))[system]
            requests = [served.request(text) for text in texts]
            result: LoadResult = served.measure("open", OpenLoad(served.server.port, requests, rate, seconds))
            refuse_failures(result)
            percentiles = (1e3 * percentile(result.latencies, percent) for percent in (50, 95, 99))
            rows.append((system, f"{_OPEN_SHARE:.0%} of {of}'s capacity", rate, result.rate, *percentiles))
    columns = ("system", "load", "sent/s", "answered/s", "p50 ms", "p95 ms", "p99 ms")
    return Table("Open loop, the same random arrivals and texts at the same rate", columns, tuple(rows))


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
            refuse_failures(result)
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
    refuse_failures(result)
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
