"""What must not change inside sentences: whether it comes back, in which way, and what that costs in chrF.

Spans of many kinds are put into held-out sentences: in the place of a name or number that source and reference share,
or before the final mark. For chrF the spans in the translations are taken out again the same way.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.report import Cell, Goal, Section, Table
from bench.run import Run, Testset
from bench.worker import Worker, workers
from bench.workloads.quality import score
from service.engine.options import EngineOptions
from service.scheduler.options import SchedulerOptions
from service.scheduler.stats import NullSink
from service.search.options import PartialOptions
from service.translation.registry import open_registry
from service.translation.translation import Details, TranslationRequest
from service.translation.translator import Translator

_SPANS = (
    "https://example.com/docs/start?tab=2", "{name}", "%1$s", "info@example.org", "/etc/ssh/sshd_config", "`git push`",
    "{{user.name}}", "v2.14.3", "ABC-1234", "#opensource", "@maria_k", "${HOME}", "C:\\Temp\\a.txt", "%d", "<<count>>",
    "550e8400-e29b-41d4-a716-446655440000", "привет", "www.example.net", "😀", "README.md",
)  # fmt: skip
_BEAM_SIZES = (1, 4)
_SHARED = re.compile(r"\b(?:[A-Z]\w+|\d+)\b")


@dataclass(frozen=True, slots=True)
class Case:
    """A sentence with a span in it. replaced: what it stands in the place of; empty where it was added."""

    source: str
    reference: str
    span: str
    replaced: str

    @property
    def marked(self) -> str:
        """The sentence with its span."""
        if self.replaced:
            return self.source.replace(self.replaced, self.span)
        return f"{self.source[:-1]} {self.span}{self.source[-1]}"

    def without(self, translation: str) -> str:
        """Takes the span out of a translation, or puts the word back in its place."""
        return (
            translation.replace(self.span, self.replaced) if self.replaced else translation.replace(" " + self.span, "")
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """A translation, how the placeholders of its segments came back, and how often the model was asked again."""

    text: str
    ways: tuple[str, ...]
    num_retries: int


class MarkedTranslator:
    """The use case with one package: texts in, texts and what was done for them out."""

    def __init__(self, package: Path, precision: str) -> None:
        engine = EngineOptions(precision=precision)
        registry = open_registry([package], engine, SchedulerOptions(max_kept_tokens=0), NullSink())
        self._pair = registry.languages()[0]
        self._translator = Translator(registry)

    def translate(self, texts: Sequence[str], beam_size: int) -> list[Outcome]:
        """Translates each text as a document of its own."""
        request = TranslationRequest(
            texts=tuple(texts),
            source=self._pair.source,
            target=self._pair.target,
            options=PartialOptions(beam_size=beam_size),
            details=Details(segments=True),
        )
        return [
            Outcome(
                translation.text,
                tuple(one.treatment.placeholders or "" for one in translation.segments),
                sum(len(one.treatment.retried) for one in translation.segments),
            )
            for translation in asyncio.run(self._translator.translate(request)).translations
        ]


def measure(run: Run) -> Section:
    """Measures the package on the held-out sentences, greedy and with a beam."""
    cases = cases_of(run.heldout, run.choose(quick=60, default=400, full=2_000))
    rows: list[tuple[Cell, ...]] = []
    kept: list[float] = []
    factory = partial(Worker, MarkedTranslator, package=run.options.package, precision="int8")
    with workers({"verso": factory}) as systems:
        for beam_size in _BEAM_SIZES:
            run.say(f"preservation: {len(cases):,} sentences, beam {beam_size}")
            marked = systems["verso"].call("translate", [case.marked for case in cases], beam_size)
            plain = systems["verso"].call("translate", [case.source for case in cases], beam_size)
            row, share = _row(cases, marked, plain)
            rows.append(("greedy" if beam_size == 1 else f"beam {beam_size}", *row))
            kept.append(share)
    columns = (
        "search", "kept exactly once", "copied", "aligned", "parts", "asked again",
        "chrF without spans", "chrF with spans",
    )  # fmt: skip
    table = Table(
        f"{run.heldout.name}, {len(cases):,} sentences with a span each, % of sentences", columns, tuple(rows)
    )
    goals = (Goal("spans kept exactly once, % of sentences", 100.0, "at least", " %", min(kept)),)
    return Section("preservation", (table,), goals)


def cases_of(testset: Testset, count: int) -> list[Case]:
    """Puts spans into the sentences of a set; sentences come again with other spans when there are too few."""
    pairs = [
        (source, reference)
        for source, reference in zip(testset.sources, testset.references, strict=True)
        if source[-1:] in ".!?" and len(source) > 1
    ]
    cases = []
    for number in range(count):
        turn, place = divmod(number, len(pairs))
        source, reference = pairs[place]
        cases.append(Case(source, reference, _SPANS[(number + turn) % len(_SPANS)], _shared_word(source, reference)))
    return cases


def _shared_word(source: str, reference: str) -> str:
    """Returns a name or number that both have exactly once, not as the first word; empty if there is none."""
    shared = (match[0] for match in _SHARED.finditer(source) if match.start() > 0)
    return next((word for word in shared if source.count(word) == reference.count(word) == 1), "")


def _row(cases: Sequence[Case], marked: Sequence[Outcome], plain: Sequence[Outcome]) -> tuple[tuple[Cell, ...], float]:
    share = 100 / len(cases)
    kept = sum(one.text.count(case.span) == 1 for case, one in zip(cases, marked, strict=True)) * share
    # A document goes by the least of what its segments got.
    worst = Counter(max(one.ways, key=("", "copied", "aligned", "parts").index, default="") for one in marked)
    references = [case.reference for case in cases]
    cleaned = [case.without(one.text) for case, one in zip(cases, marked, strict=True)]
    cells: tuple[Cell, ...] = (
        f"{kept:.1f}",
        *(f"{worst[way] * share:.1f}" for way in ("copied", "aligned", "parts")),
        f"{sum(one.num_retries > 0 for one in marked) * share:.1f}",
        f"{score([one.text for one in plain], references).chrf:.2f}",
        f"{score(cleaned, references).chrf:.2f}",
    )
    return cells, kept
