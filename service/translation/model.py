"""A loaded model: its package, its engine and decode thread, and the proof that it can translate."""

from collections.abc import Sequence
from pathlib import Path

from service.engine.engine import Engine
from service.engine.options import EngineOptions
from service.errors import EngineError
from service.package.package import ModelPackage
from service.scheduler.loop import DecodeLoop
from service.scheduler.options import SchedulerOptions
from service.scheduler.pool import DecodePool, Dispatch
from service.scheduler.sequence import Sequence as DecodeSequence
from service.scheduler.sequence import SequenceResult
from service.scheduler.stats import StatsSink
from service.search.group import SearchTask
from service.search.options import DecodingOptions
from service.search.rules import DecodingRules
from service.translation.codes import DeclaredCodes
from service.translation.completion import complete
from service.translation.preparation import PreparedDocument, SourceTemplate, prepare
from service.translation.translation import Translation

_WARM_UP_TEXT = "Hello. 1, 2, 3."
_WARM_UP_SECONDS = 120.0


class LoadedModel:
    """One package being served. `warm_up` must have succeeded before it counts as ready."""

    def __init__(self, folder: Path, engine_options: EngineOptions, limits: SchedulerOptions, sink: StatsSink) -> None:
        """Opens a package; raises PackageInvalidError or EngineError."""
        self.package = ModelPackage.open(folder)
        manifest = self.package.manifest
        engine = Engine(self.package, engine_options, limits.max_rows)
        self.name, self.revision = manifest.name, manifest.origin.weights_sha256[:12]
        self.precision, self.provider = engine.precision, engine.provider
        self.num_threads, self.num_decode_threads = engine.num_threads, engine.num_decode_threads
        self.pairs = manifest.languages.pairs
        self.sources = DeclaredCodes(manifest.languages.sources)
        self.targets = DeclaredCodes(manifest.languages.targets)
        self.defaults = default_options(self.package, limits.max_rows)
        rules = DecodingRules(
            start_id=manifest.special_ids.decoder_start,
            eos_id=manifest.special_ids.eos,
            forced_eos_id=manifest.generation.forced_eos_id,
            renormalize=manifest.generation.renormalize,
        )
        engines = [engine, *(engine.twin() for _ in range(1, engine.num_decode_threads))]
        own = limits.divided(len(engines))
        self.pool = DecodePool([DecodeLoop(one, rules, own, sink) for one in engines], self.name)
        self._is_warm = False

    @property
    def ready(self) -> bool:
        """Whether a translation has worked, the decode threads live, and their last steps did not fail."""
        return self._is_warm and self.pool.healthy

    def prepare(self, text: str, source: str, target: str) -> PreparedDocument:
        """Prepares one document for a pair of the package; see preparation.prepare."""
        return prepare(text, source, self.package, SourceTemplate.of(self.package.manifest, source, target))

    def dispatch(
        self,
        documents: Sequence[PreparedDocument],
        target: str,
        options: DecodingOptions,
        *,
        deadline: float | None,
        with_alignments: bool,
    ) -> Dispatch:
        """Hands the sequences of all segments to the decode threads; `deadline` is of time.monotonic.

        Raises QueueFullError or ShuttingDownError.
        """
        language = self.package.manifest.languages.targets[target]
        sources = [part.source_ids for document in documents for part in document.segments]
        tasks = [
            SearchTask(options, language.forced_first_id, len(ids), with_alignments, language.start_id)
            for ids in sources
        ]
        return self.pool.dispatch([DecodeSequence(*one) for one in zip(sources, tasks, strict=True)], deadline)

    def complete(
        self, documents: Sequence[PreparedDocument], results: Sequence[SequenceResult], target: str
    ) -> tuple[Translation, ...]:
        """Turns the results of a dispatch into one translation a document."""
        translations = []
        start = 0
        for document in documents:
            end = start + len(document.segments)
            translations.append(complete(document, results[start:end], self.package, target))
            start = end
        return tuple(translations)

    def warm_up(self) -> None:
        """Translates a text; raises EngineError if that does not work."""
        source, target = self.pairs[0]
        document = self.prepare(_WARM_UP_TEXT, source, target)
        options = DecodingOptions(beam_size=min(2, self.defaults.beam_size), max_new_tokens=8)
        dispatch = self.dispatch([document], target, options, deadline=None, with_alignments=False)
        results = dispatch.gather([future.result(timeout=_WARM_UP_SECONDS) for future in dispatch.futures])
        if not self.complete([document], results, target)[0].text:
            raise EngineError(f"model {self.name} translated its warm-up text to nothing")
        self._is_warm = True

    def close(self, drain_seconds: float) -> None:
        """Finishes within `drain_seconds` what is in hand, and ends the decode threads."""
        self._is_warm = False
        self.pool.close(drain_seconds)


def default_options(package: ModelPackage, max_rows: int) -> DecodingOptions:
    """Returns the package's generation defaults as options."""
    generation = package.manifest.generation
    return DecodingOptions(
        beam_size=min(generation.beam_size, max_rows),
        length_penalty=generation.length_penalty,
        early_stopping=generation.early_stopping,
        min_new_tokens=generation.min_new_tokens,
        max_new_tokens=generation.max_new_tokens,
        repetition_penalty=generation.repetition_penalty,
        no_repeat_ngram_size=generation.no_repeat_ngram_size,
    )
