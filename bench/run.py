"""What all workloads of one run share: its options, its models, and how many rounds there is time for."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from bench.models import BenchModel, bundled_model, random_model
from bench.random_checkpoint import Sizes
from bench.rounds import RoundPlan

Result = TypeVar("Result")

ROOT = Path(__file__).resolve().parents[1]

# A default run is to end within ten minutes: what comes after so many seconds is measured once.
_LATE_SECONDS = 330.0


@dataclass(frozen=True, slots=True)
class Testset:
    """A held-out set for quality: sentences and their references, a line each."""

    name: str
    sources: tuple[str, ...]
    references: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What the command line says.

    rounds: of every measurement; None takes as many as a default run has time for. quick: one round of few cases, to
    see that everything works. full: every case, also those a default run has no time for.
    """

    package: Path
    checkpoint: Path
    threads: int
    cache: Path
    heldout: Path
    rounds: int | None = None
    quick: bool = False
    full: bool = False
    testsets: tuple[Testset, ...] = ()


class Run:
    """One run of the benchmark."""

    def __init__(self, options: RunOptions) -> None:
        self.options = options
        self._random: dict[int, BenchModel] = {}
        self._started = time.monotonic()
        self._kept: dict[str, Any] = {}

    @property
    def threads(self) -> int:
        """Threads every system may use."""
        return self.options.threads

    @cached_property
    def bundled(self) -> BenchModel:
        """The package under test."""
        self.say("preparing the package's checkpoint")
        return bundled_model(self.options.package, self.options.checkpoint, self.options.cache)

    def random(self, sizes: Sizes) -> BenchModel:
        """Gives the model with random weights of these sizes."""
        size = sizes.vocabulary_size
        if size not in self._random:
            self.say(f"preparing a model with random weights and a vocabulary of {size:,}")
            self._random[size] = random_model(sizes, self.options.cache, ROOT)
        return self._random[size]

    @cached_property
    def heldout(self) -> Testset:
        """The held-out pairs that come with the repository."""
        lines = self.options.heldout.read_text(encoding="utf-8").splitlines()
        pairs = [line.split("\t") for line in lines]
        return Testset(self.options.heldout.stem, tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs))

    def plan(self, budget_seconds: float, once_over_seconds: float = float("inf")) -> RoundPlan:
        """Plans the rounds of one case: as asked for, or what fits the budget."""
        if self.options.rounds is not None:
            return RoundPlan.exactly(self.options.rounds)
        if self.options.quick:
            return RoundPlan.exactly(1)
        if self.options.full:
            return RoundPlan.exactly(5)
        if time.monotonic() - self._started > _LATE_SECONDS:
            return RoundPlan.exactly(1)
        return RoundPlan(budget_seconds=budget_seconds, once_over_seconds=once_over_seconds)

    def once(self, name: str, make: Callable[[], Result]) -> Result:
        """Makes something that several workloads need, the first time it is asked for."""
        if name not in self._kept:
            self._kept[name] = make()
        kept: Result = self._kept[name]
        return kept

    def choose(self, *, quick: int, default: int, full: int | None = None) -> int:
        """Chooses a size by how thorough the run is."""
        if self.options.quick:
            return quick
        return full if self.options.full and full is not None else default

    def say(self, text: str) -> None:
        """Tells whoever waits what is going on."""
        print(f"· {text}", file=sys.stderr, flush=True)
