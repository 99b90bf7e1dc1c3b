"""Greedy and beam requests while a long document is being translated: how much it holds them up."""

from dataclasses import dataclass

from bench.load import ClosedLoad, LoadResult
from bench.report import Cell, Section, Table
from bench.rivals.ctranslate import Layout
from bench.run import Run
from bench.served import PLAIN, VERSO_SERVER, Served, load_generator, plain_layouts, plain_server, verso_server
from bench.spread import median, percentile
from bench.texts import document, varied

_DOCUMENT_WORDS = 2_000
_CLIENTS_OF_EACH = 2
_BEAM_SIZE = 4
_MAX_RATE = 1_500
_MAX_DOCUMENTS = 50


@dataclass(frozen=True, slots=True)
class Moment:
    """What small requests met, without or with documents beside them; documents is None without."""

    greedy: LoadResult
    beam: LoadResult
    documents: LoadResult | None


def measure(run: Run) -> Section:
    """Measures both servers."""
    with load_generator() as generator:
        run.say("mixed: Verso")
        with verso_server(run, generator) as served:
            verso = _measure_server(run, served)
        layout = _layout_for_company(plain_layouts(run))
        run.say("mixed: the plain server")
        with plain_server(run, generator, layout) as served:
            plain = _measure_server(run, served)
    rows = [*_rows(VERSO_SERVER, verso), *_rows(PLAIN, plain)]
    columns = (
        "system", "beside", "greedy p50 ms", "greedy p95 ms", "beam 4 p50 ms", "beam 4 p95 ms", "document s",
    )  # fmt: skip
    notes = (
        f"{_CLIENTS_OF_EACH} clients ask for sentences with greedy search, {_CLIENTS_OF_EACH} with beam {_BEAM_SIZE}.",
        "Sentences come mixed: every stretch of them has as many short and long ones as any other.",
        "Both systems get the same sentences, and each answers as many of them as it can in the same time.",
        f"Documents have {_DOCUMENT_WORDS:,} words, and another client translates one after the other.",
        f"Verso keeps no results. {PLAIN} runs {layout} and is given documents as sentences, in one call.",
    )
    return Section("mixed", (Table("Latency beside a document", columns, tuple(rows)),), (), notes)


def _layout_for_company(layouts: list[Layout]) -> Layout:
    """Takes the layout with the most batches at a time, so that a document does not block everything."""
    return max(layouts, key=lambda layout: layout.inter_threads)


def _measure_server(run: Run, served: Served) -> tuple[Moment, Moment]:
    _loads(run, served, 0.5, first_text=0, with_documents=False)
    seconds = 1.5 if run.options.quick else 4.0
    alone = _loads(run, served, seconds, first_text=10_000, with_documents=False)
    return alone, _loads(run, served, seconds, first_text=50_000, with_documents=True)


def _loads(run: Run, served: Served, seconds: float, *, first_text: int, with_documents: bool) -> Moment:
    texts = run.heldout.sources
    count = int(_MAX_RATE * (seconds + 1))
    port = served.server.port
    loads = [
        ClosedLoad(
            port,
            [served.request(text, beam_size) for text in varied(texts, first_text + offset, count)],
            _CLIENTS_OF_EACH,
            seconds,
        )
        for offset, beam_size in ((0, 1), (count, _BEAM_SIZE))
    ]
    if with_documents:
        numbers = range(_MAX_DOCUMENTS)
        documents = [served.document_request(document(texts, _DOCUMENT_WORDS, number)) for number in numbers]
        loads.append(ClosedLoad(port, documents, 1, seconds))
    greedy, beam, *others = served.measure("together", loads)
    return Moment(greedy, beam, others[0] if others else None)


def _rows(system: str, moments: tuple[Moment, Moment]) -> list[tuple[Cell, ...]]:
    rows: list[tuple[Cell, ...]] = []
    for moment in moments:
        documents = moment.documents
        rows.append(
            (
                system,
                "documents" if documents else "nothing",
                *(
                    1e3 * percentile(one.latencies, percent)
                    for one in (moment.greedy, moment.beam)
                    for percent in (50, 95)
                ),
                median(documents.latencies) if documents else None,
            )
        )
    return rows
