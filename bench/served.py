"""Both servers on the bundled model, and the load generator, ready for the workloads over HTTP."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bench.load import ClosedLoad, LoadGenerator, LoadResult
from bench.rivals.ctranslate import Layout
from bench.rivals.http import Dialect, encoded, plain_dialect, verso_dialect
from bench.rivals.rival import Task
from bench.run import ROOT, Run
from bench.servers import Server, free_port, plain_command, serving, verso_command
from bench.systems import CTRANSLATE, start_systems
from bench.texts import varied
from bench.tuning import use_best_layout
from bench.worker import Worker
from bench.workloads.bundled import source_ids
from service.package.package import ModelPackage

PLAIN = "FastAPI + CTranslate2"
VERSO_SERVER = "Verso"

_TRIAL_SECONDS = 1.0
# More than any server here answers in a second; requests are made beforehand.
_MAX_RATE = 3_000


@dataclass(frozen=True, slots=True)
class Served:
    """A server with what it is asked in. It is paused unless it is being measured."""

    server: Server
    dialect: Dialect
    generator: Worker

    def request(self, text: str, beam_size: int | None = None, **extra: object) -> bytes:
        """Returns a request for one text; `extra` are further fields of its body."""
        return encoded(self.server.port, {**self.dialect.text(text, beam_size), **extra})

    def document_request(self, sentences: Sequence[str], beam_size: int | None = None) -> bytes:
        """Returns a request for sentences of one document."""
        return encoded(self.server.port, self.dialect.document(sentences, beam_size))

    def measure(self, method: str, *arguments: Any) -> Any:
        """Has the generator make load while the server runs."""
        self.server.group.resume()
        try:
            return self.generator.call(method, *arguments)
        finally:
            self.server.group.pause()

    def sequence(self, requests: Sequence[bytes]) -> LoadResult:
        """Sends requests one after the other."""
        result: LoadResult = self.measure("sequence", self.server.port, requests)
        return result

    def closed(self, load: ClosedLoad) -> LoadResult:
        """Runs a closed loop in which every request must be answered."""
        result: LoadResult = self.measure("closed", load)
        refuse_failures(result)
        return result

    def trial(self, texts: Sequence[str], clients: int) -> float:
        """Requests per second over a short time: enough to choose by, not to report."""
        requests = [self.request(text) for text in varied(texts, 0, _MAX_RATE)]
        return self.closed(ClosedLoad(self.server.port, requests, clients, _TRIAL_SECONDS)).rate


@dataclass(slots=True)
class Servers:
    """The servers of one run, with the plain one's layouts for one client and for many, and how many texts were used.

    A text that `varied` gives from num_texts on has not been sent to anybody.
    """

    verso: Served
    plain_for_one: Served
    plain_for_many: Served
    layouts: tuple[Layout, Layout]
    num_texts: int = _MAX_RATE

    def by_name(self, clients: int) -> dict[str, Served]:
        """Gives the two servers to compare."""
        return {VERSO_SERVER: self.verso, PLAIN: self.plain_for_one if clients == 1 else self.plain_for_many}


def refuse_failures(result: LoadResult) -> None:
    """Raises AssertionError unless requests were answered, and all of them as they should."""
    if result.failures or not result.latencies:
        raise AssertionError(f"{result.failures} requests failed, {len(result.latencies)} were answered")


@contextlib.contextmanager
def both_servers(run: Run) -> Iterator[Servers]:
    """Starts Verso and the plain server, the latter in the layouts it is fastest with."""
    texts = run.heldout.sources
    with contextlib.ExitStack() as stack:
        generator = stack.enter_context(load_generator())
        verso = stack.enter_context(verso_server(run, generator))
        plain = {layout: stack.enter_context(plain_server(run, generator, layout)) for layout in plain_layouts(run)}
        for served in (verso, *plain.values()):
            # First requests are slow everywhere.
            served.trial(texts, 4)

        def best(clients: int) -> tuple[Layout, Served]:
            return fastest_server(plain, lambda served: served.trial(texts, clients))

        (layout_for_one, for_one), (layout_for_many, for_many) = best(1), best(16)
        yield Servers(verso, for_one, for_many, (layout_for_one, layout_for_many))


@contextlib.contextmanager
def load_generator() -> Iterator[Worker]:
    """Starts the process that makes load."""
    generator = Worker(LoadGenerator)
    try:
        yield generator
    finally:
        generator.close()


@contextlib.contextmanager
def verso_server(run: Run, generator: Worker) -> Iterator[Served]:
    """Starts Verso's server on the bundled package."""
    manifest = ModelPackage.open(run.bundled.package).manifest
    port = free_port()
    with serving(verso_command(run.bundled.package, port), port, ROOT) as server:
        server.group.pause()
        yield Served(server, verso_dialect(*manifest.languages.pairs[0]), generator)


@contextlib.contextmanager
def plain_server(run: Run, generator: Worker, layout: Layout) -> Iterator[Served]:
    """Starts the plain server on the same checkpoint, with the package's beam as its default."""
    beam_size = ModelPackage.open(run.bundled.package).manifest.generation.beam_size
    port = free_port()
    with serving(plain_command(run.bundled, layout, beam_size, port), port, ROOT) as server:
        server.group.pause()
        yield Served(server, plain_dialect(), generator)


def plain_layouts(run: Run) -> list[Layout]:
    """Lists the layouts a plain server may be best with: the best compute type for single sentences, spread out or not.

    One call a request means batches of one, so nothing else can differ.
    """
    return run.once("layouts of the plain server", lambda: _find_plain_layouts(run))


def _find_plain_layouts(run: Run) -> list[Layout]:
    package = ModelPackage.open(run.bundled.package)
    sources = source_ids(package, run.heldout.sources[:20])
    task = Task(sources, package.manifest.generation.beam_size, max_new_tokens=200, one_by_one=True)
    with start_systems([CTRANSLATE], run.bundled, run.threads) as systems:
        best = use_best_layout(systems[CTRANSLATE], task, run.threads)
    shapes = [(1, run.threads), (run.threads, 1)]
    return [replace(best, inter_threads=inter, intra_threads=intra) for inter, intra in dict.fromkeys(shapes)]


def fastest_server(servers: dict[Layout, Served], measure: Callable[[Served], float]) -> tuple[Layout, Served]:
    """Returns the layout, and its server, with the largest measurement."""
    rates = {layout: measure(served) for layout, served in servers.items()}
    best = max(rates, key=lambda layout: rates[layout])
    return best, servers[best]
