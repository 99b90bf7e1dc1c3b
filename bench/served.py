"""Both servers on the bundled model, and the load generator, ready for the workloads over HTTP."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bench.load import LoadGenerator, LoadResult
from bench.rivals.ctranslate import Layout
from bench.rivals.http import Dialect, encoded, plain_dialect, verso_dialect
from bench.rivals.rival import Task
from bench.run import ROOT, Run
from bench.servers import Server, free_port, plain_command, serving, verso_command
from bench.systems import CTRANSLATE, start_systems
from bench.tuning import use_best_layout
from bench.worker import Worker
from bench.workloads.bundled import source_ids
from service.package.package import ModelPackage

PLAIN = "FastAPI + CTranslate2"
VERSO_SERVER = "Verso"


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
        self.server.resume()
        try:
            return self.generator.call(method, *arguments)
        finally:
            self.server.pause()

    def sequence(self, requests: Sequence[bytes]) -> LoadResult:
        """Sends requests one after the other."""
        result: LoadResult = self.measure("sequence", self.server.port, requests)
        return result


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
        server.pause()
        yield Served(server, verso_dialect(*manifest.languages.pairs[0]), generator)


@contextlib.contextmanager
def plain_server(run: Run, generator: Worker, layout: Layout) -> Iterator[Served]:
    """Starts the plain server on the same checkpoint, with the package's beam as its default."""
    beam_size = ModelPackage.open(run.bundled.package).manifest.generation.beam_size
    port = free_port()
    with serving(plain_command(run.bundled, layout, beam_size, port), port, ROOT) as server:
        server.pause()
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
