"""The models that are loaded, and which of them translates a pair."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from service.engine.options import EngineOptions
from service.errors import PackageInvalidError, UnsupportedPairError, VersoError
from service.scheduler.options import SchedulerOptions
from service.scheduler.stats import StatsSink
from service.translation.codes import DeclaredCodes
from service.translation.model import LoadedModel


@dataclass(frozen=True, slots=True)
class LanguagePairInfo:
    """A pair of language codes and the model behind it."""

    source: str
    target: str
    model: str


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What runs: precision, the provider that is really used, threads, and the start of its weights' hash."""

    name: str
    precision: str
    provider: str
    num_threads: int
    revision: str


@dataclass(frozen=True, slots=True)
class QueueGauges:
    """What waits and runs at the moment, over all models."""

    waiting_sequences: int
    waiting_tokens: int
    running_sequences: int
    running_rows: int


@dataclass(frozen=True, slots=True)
class Route:
    """A resolved pair: the model, and the codes as its package writes them."""

    model: LoadedModel
    source: str
    target: str


class Registry:
    """Loaded models; of several that translate a pair, the one given first does."""

    def __init__(self, models: Sequence[LoadedModel]) -> None:
        self._models = tuple(models)
        pairs = {pair: model.name for model in reversed(self._models) for pair in model.pairs}
        self._pairs = tuple(LanguagePairInfo(*pair, pairs[pair]) for pair in sorted(pairs))

    def languages(self) -> tuple[LanguagePairInfo, ...]:
        """Returns all pairs, sorted."""
        return self._pairs

    def models(self) -> tuple[ModelInfo, ...]:
        """Returns what is loaded."""
        return tuple(
            ModelInfo(model.name, model.precision, model.provider, model.num_threads, model.revision)
            for model in self._models
        )

    def ready(self) -> bool:
        """Says whether there are models and every one of them has translated and is well."""
        return bool(self._models) and all(model.ready for model in self._models)

    def load_gauges(self) -> QueueGauges:
        """Counts what waits and runs; the numbers of different threads need not be of one instant."""
        workers = [worker for model in self._models for worker in model.pool.workers]
        return QueueGauges(
            waiting_sequences=sum(worker.gate.waiting_sequences for worker in workers),
            waiting_tokens=sum(worker.gate.waiting_tokens for worker in workers),
            running_sequences=sum(worker.num_running for worker in workers),
            running_rows=sum(worker.num_rows for worker in workers),
        )

    def route(self, source: str, target: str) -> Route:
        """Returns the model for a pair as a caller wrote it; raises UnsupportedPairError that names what there is."""
        reached: set[str] = set()
        for model in self._models:
            found = model.sources.find(source), model.targets.find(target)
            if found[0] is not None and found[1] is not None and found[0] != found[1]:
                return Route(model, found[0], found[1])
            if found[0] is not None:
                reached.update(code for code in model.targets if code != found[0])
        problems = _missing("source", source, [model.sources for model in self._models])
        problems += _missing("target", target, [model.targets for model in self._models])
        if not problems:
            problems.append(f"target: not translated into from this source; supported are {', '.join(sorted(reached))}")
        raise UnsupportedPairError("no loaded model translates between these languages", problems)

    def shared_code(self, source: str, target: str) -> str | None:
        """Returns the code that both codes of a caller mean to a model; None if they are not of one known language."""
        for codes in (codes for model in self._models for codes in (model.sources, model.targets)):
            found = codes.find(source)
            if found is not None and found == codes.find(target):
                return found
        return None

    def close(self, drain_seconds: float) -> None:
        """Finishes within `drain_seconds` what each model has in hand, and ends their threads."""
        for model in self._models:
            model.close(drain_seconds)


def _missing(side: str, written: str, declared: Sequence[DeclaredCodes]) -> list[str]:
    """Says what there is instead when no package has a language; repeats nothing that was written."""
    if any(codes.find(written) is not None for codes in declared):
        return []
    variants = sorted({code for codes in declared for code in codes.variants(written)})
    if variants:
        return [f"{side}: not supported in this script or region; supported are {', '.join(variants)}"]
    return [f"{side}: not supported; supported are {', '.join(sorted({code for codes in declared for code in codes}))}"]


def open_registry(
    packages: Sequence[Path], engine: EngineOptions, limits: SchedulerOptions, sink: StatsSink
) -> Registry:
    """Loads packages and translates with each once; raises PackageInvalidError with the problems of all of them."""
    models: list[LoadedModel] = []
    problems: list[str] = []
    for folder in packages:
        try:
            model = LoadedModel(folder, engine, limits, sink)
            models.append(model)
            model.warm_up()
        except VersoError as error:
            problems.append(f"{folder}: {error.message}")
            problems.extend(f"{folder}: {problem}" for problem in error.problems)
    names = [model.name for model in models]
    problems.extend(f"two packages are named {name}" for name in sorted({n for n in names if names.count(n) > 1}))
    if not models and not problems:
        problems.append("no model packages were given")
    if problems:
        for model in models:
            model.close(drain_seconds=0)
        raise PackageInvalidError("models cannot be loaded", problems)
    return Registry(models)
