"""BLEU and chrF of both precisions, greedy and beam, on held-out sentences; scores and signatures are sacrebleu's."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench.report import Cell, Section, Table
from bench.run import Run, Testset
from bench.worker import Worker, workers
from service.engine.options import EngineOptions
from service.scheduler.options import SchedulerOptions
from service.scheduler.stats import NullSink
from service.search.options import PartialOptions
from service.translation.registry import open_registry
from service.translation.translation import TranslationRequest
from service.translation.translator import Translator

_BEAM_SIZES = (1, 4)
_PRECISIONS = ("fp32", "int8")


class TextTranslator:
    """The use case with one package in one precision: texts in, texts out."""

    def __init__(self, package: Path, precision: str) -> None:
        engine = EngineOptions(precision=precision)
        registry = open_registry([package], engine, SchedulerOptions(max_kept_tokens=0), NullSink())
        self._pair = registry.languages()[0]
        self._translator = Translator(registry)

    def translate(self, texts: Sequence[str], beam_size: int) -> list[str]:
        """Translates each text as a document of its own."""
        request = TranslationRequest(
            texts=tuple(texts),
            source=self._pair.source,
            target=self._pair.target,
            options=PartialOptions(beam_size=beam_size),
        )
        return [translation.text for translation in asyncio.run(self._translator.translate(request)).translations]


@dataclass(frozen=True, slots=True)
class Scores:
    """BLEU and chrF of one system on one set, with sacrebleu's signatures."""

    bleu: float
    chrf: float
    signatures: tuple[str, str]


def measure(run: Run) -> Section:
    """Scores the package on the set in the repository and on those that were named."""
    tables: list[Table] = []
    signatures: tuple[str, str] = ("", "")
    factories = {
        precision: partial(Worker, TextTranslator, package=run.bundled.package, precision=precision)
        for precision in _PRECISIONS
    }
    with workers(factories) as translators:
        for testset in (_shortened(run, run.heldout), *(_shortened(run, one) for one in run.options.testsets)):
            run.say(f"quality: {testset.name}")
            table, signatures = _score_set(testset, translators)
            tables.append(table)
    notes = tuple(f"{name}: `{text}`" for name, text in zip(("BLEU", "chrF"), signatures, strict=True))
    return Section("quality", tuple(tables), (), notes)


def score(translations: Sequence[str], references: Sequence[str]) -> Scores:
    """Scores translations of whole sets."""
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    metrics: tuple[Any, Any] = (BLEU(), CHRF())
    values = [metric.corpus_score(list(translations), [list(references)]).score for metric in metrics]
    return Scores(values[0], values[1], (str(metrics[0].get_signature()), str(metrics[1].get_signature())))


def _shortened(run: Run, testset: Testset) -> Testset:
    count = run.choose(quick=100, default=len(testset.sources))
    return Testset(testset.name, testset.sources[:count], testset.references[:count])


def _score_set(testset: Testset, translators: dict[str, Worker]) -> tuple[Table, tuple[str, str]]:
    rows: list[tuple[Cell, ...]] = []
    signatures = ("", "")
    for beam_size in _BEAM_SIZES:
        scores = {
            precision: score(translators[precision].call("translate", testset.sources, beam_size), testset.references)
            for precision in _PRECISIONS
        }
        fp32, int8 = scores["fp32"], scores["int8"]
        signatures = fp32.signatures
        name = "greedy" if beam_size == 1 else f"beam {beam_size}"
        numbers = (fp32.bleu, int8.bleu, fp32.chrf, int8.chrf, int8.chrf - fp32.chrf)
        rows.append((name, *(f"{number:.2f}" for number in numbers)))
    columns = ("search", "BLEU fp32", "BLEU int8", "chrF fp32", "chrF int8", "chrF int8 − fp32")
    return Table(f"{testset.name}, {len(testset.sources):,} sentences", columns, tuple(rows)), signatures
