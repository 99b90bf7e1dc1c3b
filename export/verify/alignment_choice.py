"""Chooses the decoder layer, and the heads of it, whose cross-attention says best which words a translation comes from.

Heads have different jobs: some look where the next word comes from, others at the end of the source whatever is said.
What the weights are measured against is for `alignment_gold`, where they come from for the caller.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from export.verify.alignment_gold import LinkedTokens

Doubles = NDArray[np.float64]

# With fewer links nothing can be told apart.
FEWEST_LINKS = 40
# As the service shares attention out: words that are looked at from everywhere count less.
_LEAST_ATTENTION = 0.1


@dataclass(frozen=True, slots=True)
class AlignmentChoice:
    """What to align with.

    heads: of that layer, ascending; empty for the average over all. accuracy: share of linked words whose source has
    most of the weight, as the service shares it out. before: that of the default. num_links: linked words that were
    looked at.
    """

    layer: int
    heads: tuple[int, ...]
    accuracy: float
    before: float
    num_links: int

    @property
    def decision(self) -> str:
        """The choice as a sentence for the report."""
        if self.num_links < FEWEST_LINKS:
            return f"alignment: layer {self.layer} by default, {self.num_links} linked words are too few to choose by"
        heads = f"heads {', '.join(map(str, self.heads))}" if self.heads else "all heads"
        return (
            f"alignment: layer {self.layer}, {heads}, right for {self.accuracy:.1%} of {self.num_links} linked words "
            f"({self.before:.1%} by default)"
        )


class AlignmentMeasure:
    """Linked words of several sentences, and what every layer and head gives each word of their sources."""

    def __init__(self, num_layers: int, num_heads: int) -> None:
        self._shape = (num_layers, num_heads)
        # Of every link: weights [layers, heads, words] of its target word, those of all target tokens, and its word.
        self._links: list[tuple[Doubles, Doubles, int]] = []

    def __len__(self) -> int:
        return len(self._links)

    def add(self, linked: LinkedTokens, layers: Sequence[NDArray[Any]]) -> None:
        """Adds a sentence: its links, and cross-attention weights [H, T, L] of each layer for its translation."""
        if not linked.links:
            return
        weights = np.stack(layers).astype(np.float64)
        of_words = np.stack([weights[..., list(word)].sum(axis=-1) for word in linked.words], axis=-1)
        for tokens, word in linked.links:
            self._links.append((of_words[:, :, list(tokens)].sum(axis=2), of_words.sum(axis=2), word))

    def accuracy(self, layer: int, heads: Iterable[int]) -> float:
        """Share of links that a layer gets right with the mean of some heads."""
        chosen = list(heads)
        right = 0
        for weights, totals, word in self._links:
            attention, total = weights[layer, chosen].mean(axis=0), totals[layer, chosen].mean(axis=0)
            right += int((attention / (total + _LEAST_ATTENTION)).argmax() == word)
        return right / len(self._links)

    def table(self) -> list[list[float]]:
        """Accuracy of every single head, by layer."""
        layers, heads = self._shape
        return [[self.accuracy(layer, [head]) for head in range(heads)] for layer in range(layers)]

    def choose(self, default_layer: int) -> AlignmentChoice:
        """Chooses a layer with all of its heads, or with some; either must beat the default by more than chance.

        With few links that is the default layer with all heads.
        """
        layers, heads = self._shape
        everything = tuple(range(heads))
        if len(self) < FEWEST_LINKS:
            return AlignmentChoice(default_layer, (), 0.0, 0.0, len(self))
        best: tuple[float, int, tuple[int, ...]] | None = None
        for layer in sorted(range(layers), key=lambda one: one != default_layer):
            accuracy, chosen = self._fewer_heads(layer, everything)
            if best is None or accuracy - best[0] > self._chance(best[0]):
                best = accuracy, layer, chosen
        if best is None:
            raise AssertionError("a decoder has layers")
        accuracy, layer, chosen = best
        before = self.accuracy(default_layer, everything)
        return AlignmentChoice(layer, () if chosen == everything else chosen, accuracy, before, len(self))

    def _fewer_heads(self, layer: int, everything: tuple[int, ...]) -> tuple[float, tuple[int, ...]]:
        """Leaves heads out one by one, always the one that is missed least; returns the best that is left.

        The heads stay together unless fewer gain a standard error: small sets win by luck otherwise.
        """
        whole = self.accuracy(layer, everything)
        best, left = (whole, everything), everything
        while len(left) > 1:
            accuracy, left = max(
                (self.accuracy(layer, fewer), fewer)
                for fewer in (tuple(head for head in left if head != out) for out in left)
            )
            best = max(best, (accuracy, left), key=lambda one: (one[0], len(one[1])))
        return best if best[0] - whole > self._chance(whole) else (whole, everything)

    def _chance(self, accuracy: float) -> float:
        """What another may gain on an accuracy by luck: two standard errors."""
        return 2 * sqrt(accuracy * (1 - accuracy) / len(self))
