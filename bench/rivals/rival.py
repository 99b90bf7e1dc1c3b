"""What every system under test can do: translate token ids, timed where it does so."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

Ids = Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True)
class Task:
    """Sources to translate with one set of options.

    sources: source ids with the end token. max_new_tokens: target tokens at most, the end token included; with weights
    that never give the end token this is the forced length. one_by_one: each source in a call of its own, the next
    when the one before is done.
    """

    sources: Ids
    beam_size: int
    max_new_tokens: int
    one_by_one: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """Seconds of the translating alone, and the best target of each source with its end token, if it got that far."""

    seconds: float
    targets: tuple[tuple[int, ...], ...]

    @property
    def num_tokens(self) -> int:
        """Target tokens of all sources."""
        return sum(map(len, self.targets))

    @property
    def tokens_per_second(self) -> float:
        """The figure that is compared."""
        return self.num_tokens / self.seconds


class Rival(Protocol):
    """A system that has loaded its model."""

    def translate(self, task: Task) -> Outcome: ...


def agreement(first: Ids, second: Ids) -> float:
    """Returns the share of sources for which two systems gave the same target."""
    if len(first) != len(second):
        raise ValueError(f"{len(first)} and {len(second)} targets cannot be compared")
    return sum(list(a) == list(b) for a, b in zip(first, second, strict=True)) / len(first)


def length_problems(targets: Ids, forced_length: int) -> int:
    """Counts targets that do not have the forced length."""
    return sum(len(target) != forced_length for target in targets)
