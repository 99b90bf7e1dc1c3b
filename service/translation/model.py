"""A loaded model: its package, what decodes with it, and the proof that it can translate."""

from pathlib import Path

from service.engine.options import EngineOptions
from service.package.package import ModelPackage
from service.scheduler.options import SchedulerOptions
from service.scheduler.pool import DecodePool
from service.scheduler.starting import start_decoders
from service.scheduler.stats import StatsSink
from service.search.options import DecodingOptions, guarded
from service.search.rules import DecodingRules
from service.translation.asking import Asking, Question
from service.translation.codes import DeclaredCodes
from service.translation.direction import LONGEST_SEGMENT, Direction
from service.translation.known_characters import KnownCharacters
from service.translation.windows import SEGMENTS_IN_WINDOW

_WARM_UP_TEXT = "Hello. 1, 2, 3."
_WARM_UP_SECONDS = 120.0


class LoadedModel:
    """One package being served. `warm_up` must have succeeded before it counts as ready."""

    def __init__(self, folder: Path, engine_options: EngineOptions, limits: SchedulerOptions, sink: StatsSink) -> None:
        """Opens a package; raises PackageInvalidError or EngineError."""
        self.package = ModelPackage.open(folder)
        manifest = self.package.manifest
        self.name, self.revision = manifest.name, manifest.origin.weights_sha256[:12]
        self.pairs = manifest.languages.pairs
        self.sources = DeclaredCodes(manifest.languages.sources)
        self.targets = DeclaredCodes(manifest.languages.targets)
        self.defaults = guarded(default_options(self.package, limits.max_rows))
        rules = DecodingRules(
            start_id=manifest.special_ids.decoder_start,
            eos_id=manifest.special_ids.eos,
            forced_eos_id=manifest.generation.forced_eos_id,
            renormalize=manifest.generation.renormalize,
        )
        decoders = start_decoders(self.package, engine_options, limits, rules, sink)
        self.precision, self.provider = decoders.precision, decoders.provider
        self.num_threads, self.num_decode_threads = decoders.num_threads, len(decoders.workers)
        self.pool = DecodePool(decoders.workers)
        # Several windows of a document fit the queue of each loop, so that none has to wait for an empty one.
        own = limits.divided(len(decoders.workers))
        self.segments_in_window = max(
            1, min(SEGMENTS_IN_WINDOW, own.max_waiting_sequences // 4, own.max_waiting_tokens // (4 * LONGEST_SEGMENT))
        )
        self.known_characters = KnownCharacters(self.package)
        self._directions: dict[tuple[str, str], Direction] = {}
        self._is_warm = False

    @property
    def ready(self) -> bool:
        """Whether a translation has worked, all that decodes lives, and its last steps did not fail."""
        return self._is_warm and self.pool.healthy

    def direction(self, source: str, target: str) -> Direction:
        """Returns what belongs to one pair of the package, in its own codes."""
        direction = self._directions.get((source, target))
        if direction is None:
            direction = self._directions[source, target] = Direction(self.package, source, target)
        return direction

    def warm_up(self) -> None:
        """Translates a text; raises EngineError if that does not work."""
        direction = self.direction(*self.pairs[0])
        options = DecodingOptions(beam_size=min(2, self.defaults.beam_size), max_new_tokens=8)
        (ids,) = direction.encode([_WARM_UP_TEXT])
        question = Question(_WARM_UP_TEXT, direction.around(ids), options, options.num_hypotheses, with_alignment=False)
        dispatch = self.pool.dispatch([Asking(question, direction).sequence()], None)
        # A model may well say nothing to the text; one that fails, or gives values that are no numbers, raises here.
        dispatch.gather([future.result(timeout=_WARM_UP_SECONDS) for future in dispatch.futures])
        self._is_warm = True

    def close(self, drain_seconds: float) -> None:
        """Finishes within `drain_seconds` what is in hand, and ends what decodes."""
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
