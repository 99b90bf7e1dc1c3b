"""What Verso's server costs besides translating: its start, its idling, and its memory over many requests."""

import random
import time
from collections.abc import Iterator

from bench.load import ClosedLoad, LoadResult
from bench.processes import memory_measure
from bench.report import Goal, Table
from bench.run import ROOT, Run
from bench.served import Served, load_generator, verso_server
from bench.servers import free_port, serving, verso_command
from bench.spread import Spread
from bench.texts import varied

_IDLE_SECONDS = 5.0
_MAX_WORDS = 100
_CLIENTS = 32
_MEBI = 2**20

Finding = tuple[Table, list[Goal]]


def footprint(run: Run) -> Iterator[Finding]:
    """Measures start, idling and memory with the bundled package."""
    yield _starts(run)
    with load_generator() as generator, verso_server(run, generator) as served:
        yield _idle(run, served)
        yield _memory(run, served)


def _starts(run: Run) -> Finding:
    run.say("growth: starts")
    seconds = []
    for _ in range(run.choose(quick=1, default=3)):
        port = free_port()
        with serving(verso_command(run.bundled.package, port), port, ROOT) as server:
            seconds.append(server.ready_seconds)
    spread = Spread.of(seconds)
    table = Table("Start of the server until it is ready", ("model", "s"), ((run.bundled.name, spread),))
    return table, [Goal("start to ready, bundled model", 2.0, "at most", " s", spread.median)]


def _idle(run: Run, served: Served) -> Finding:
    """Looks at the processor time of a server that has worked and has nothing to do now."""
    run.say("growth: idling")
    served.sequence([served.request(text) for text in varied(run.heldout.sources, 0, 20)])
    group = served.server.group
    group.resume()
    time.sleep(1.0)
    before, started = group.processor_seconds(), time.monotonic()
    time.sleep(_IDLE_SECONDS)
    share = (group.processor_seconds() - before) / (time.monotonic() - started)
    group.pause()
    table = Table(
        f"All processes of the server, idle for {_IDLE_SECONDS:.0f} s after load",
        ("", "% of a core"),
        (("Verso", 100 * share),),
    )
    return table, [Goal("idle processor time after load", 1.0, "at most", " % of a core", 100 * share)]


def _memory(run: Run, served: Served) -> Finding:
    """Watches the memory of all the server's processes over requests with ever new lengths, also of answers."""
    total = run.choose(quick=600, default=20_000)
    run.say(f"growth: memory over {total:,} requests")
    portions, portion = 40, total // 40
    draw = random.Random(11)
    words = " ".join(run.heldout.sources).split()
    samples: list[float] = []
    for _ in range(portions):
        requests = [served.request(text, decoding=limits) for text, limits in _ever_new(draw, words, portion)]
        result: LoadResult = served.measure("closed", ClosedLoad(served.server.port, requests, _CLIENTS, 600.0))
        if result.failures:
            raise AssertionError(f"{result.failures} requests failed")
        samples.append(served.server.group.memory_bytes() / _MEBI)
    quarters = [samples[start : start + portions // 4] for start in range(0, portions, portions // 4)]
    means = [sum(quarter) / len(quarter) for quarter in quarters]
    growth = 100 * (means[3] / means[1] - 1)
    columns = ("requests", "1st quarter MiB", "2nd", "3rd", "4th", "4th over 2nd %", "most MiB")
    table = Table(
        f"Memory of the server's processes, {memory_measure()}", columns, ((total, *means, growth, max(samples)),)
    )
    return table, [Goal(f"memory over {total:,} requests, last quarter over second", 5.0, "at most", " %", growth)]


def _ever_new(draw: random.Random, words: list[str], count: int) -> list[tuple[str, dict[str, int]]]:
    """Draws texts of 1 to 100 words, most of them short, and a beam and a limit of tokens for each answer."""
    made: list[tuple[str, dict[str, int]]] = []
    for _ in range(count):
        length = round(_MAX_WORDS ** (draw.random() ** 1.5))
        place = draw.randrange(len(words) - length)
        limits = {"beam_size": draw.choice((1, 1, 1, 1, 2, 4)), "max_new_tokens": draw.randint(2, 8 + length // 2)}
        made.append((" ".join(words[place : place + length]), limits))
    return made
