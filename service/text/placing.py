"""Where in a target the placeholders of a source belong, by what became of the words around them.

A pair goes around the stretch of target words that come most from the words inside it, an atom between what its two
neighbours became. Pairs never cross, and children stay inside their parents. Places are counted in target words; what
is written there is for `weaving`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from service.text.document import Span
from service.text.model_text import ModelText, is_shown
from service.text.nesting import Node, descendants, forest
from service.text.spaces import trim
from service.text.stretches import best_stretch, extended
from service.text.words import words

# The share of a target word that must come from inside a pair for the word to be worth covering; how much the order of
# the whole sentence counts beside the two neighbours of an atom. Both are the best on word alignments of 1,800
# sentences by the bundled model, and flat around that.
_WORTH: Final = 0.43
_ORDER: Final = 0.05
# Decides where shares say nothing.
_PROPORTION: Final = 1e-4


class PlacelessError(Exception):
    """There is no place for a placeholder: its pair would cross another, or no links say where it belongs."""


@dataclass(frozen=True, slots=True)
class Ground:
    """The words of a target and where they come from.

    words: their characters in the target. shares: for each, the source words it comes from and how much from each.
    fixed: the target word at which each piece with a surrogate stands, by the number of the piece.
    """

    words: tuple[Span, ...]
    shares: tuple[tuple[tuple[Span, float], ...], ...]
    fixed: Mapping[int, int]

    def share(self, word: int, source: Span) -> float:
        """Return how much of a target word comes from the source words that a stretch touches."""
        return sum(share for one, share in self.shares[word] if one.start < source.end and source.start < one.end)


@dataclass(slots=True)
class _Extent:
    """What is in a node: its text for the model, and the target words from its first surrogate to its last."""

    text: Span | None = None
    fixed: Span | None = None


def place(model: ModelText, ground: Ground, least_support: float = 0.0) -> tuple[Node, dict[Node, Span]]:
    """Return the pieces of a model text as a forest, and the target words each node covers (strings have none).

    What was left out and has no text in it covers no word. least_support: what the links with its two neighbours must
    say at least, 2 at most, for an atom that reads like a word and is not at the edge of its pair.

    Raises PlacelessError, but never without surrogates and least_support.
    """
    root = forest([piece.items[0] for piece in model.pieces])
    placing = _Placing(model, ground, root, least_support)
    waiting = [root]
    while waiting:
        parent = waiting.pop()
        placing.place_children(parent)
        waiting.extend(child for child in parent.children if child.is_pair)
    return root, placing.places


class _Placing:
    def __init__(self, model: ModelText, ground: Ground, root: Node, least_support: float) -> None:
        self._model = model
        self._least_support = least_support
        self._ground = ground
        self._extents = _extents(model, ground, root)
        cuts = {edge for shares in ground.shares for word, _ in shares for edge in (word.start, word.end)}
        self._source_words = words(model.text, cuts)
        self.places = {root: Span(0, len(ground.words))}

    def place_children(self, parent: Node) -> None:
        """Places what stands directly in a node that is placed: surrogates, then pairs, then what has no text."""
        room = self.places[parent]
        free = self._free_words(parent)
        pairs = [child for child in parent.children if child.is_pair and self._extents[child].text is not None]
        self._place_pairs(parent, pairs, free)
        taken = [self.places[child] for child in parent.children if child in self.places]
        inside = {word for place in taken for word in range(place.start + 1, place.end)}
        open_ = [word for word in range(room.start, room.end + 1) if word not in inside]
        for child in parent.children:
            if child not in self.places and not self._is_text(child):
                boundary = self._boundary(parent, child, open_)
                self.places[child] = Span(boundary, boundary)

    def _is_text(self, node: Node) -> bool:
        return self._model.pieces[node.first].text is not None

    def _free_words(self, parent: Node) -> list[bool]:
        """Says which target words no child needs for its surrogates, and places the atoms among these children."""
        free = [True] * len(self._ground.words)
        for child in parent.children:
            fixed = self._extents[child].fixed
            if fixed is None:
                continue
            if not all(free[fixed.start : fixed.end]):
                raise PlacelessError
            _mark(free, fixed, value=False)
            if not child.is_pair:
                self.places[child] = fixed
        return free

    def _place_pairs(self, parent: Node, pairs: Sequence[Node], free: list[bool]) -> None:
        """Places pairs with text, those that are most certain first; leaves out those for which no word is left."""
        room = self.places[parent]
        gains = {pair: self._gains(pair) for pair in pairs if not self._covers(pair, parent)}
        hopes = {pair: best_stretch(gain, room, free)[1] for pair, gain in gains.items()}
        bound = {pair for pair in pairs if self._extents[pair].fixed or pair.opening is None or pair.closing is None}
        for pair in sorted(pairs, key=lambda pair: (pair not in bound, -hopes.get(pair, 0.0))):
            fixed = self._extents[pair].fixed
            if pair in gains:
                if fixed is not None:
                    _mark(free, fixed, value=True)
                base = _base(pair, fixed, room)
                found = extended(base, gains[pair], room, free) if base else best_stretch(gains[pair], room, free)[0]
            else:
                found = room
            if found is None and fixed is not None:
                raise PlacelessError
            if found is not None and found.start < found.end:
                self.places[pair] = found
                _mark(free, found, value=False)

    def _covers(self, pair: Node, parent: Node) -> bool:
        """Says whether a pair holds all text of its parent; it then also covers all that became of it."""
        return self._extents[pair].text == self._extents[parent].text

    def _gains(self, pair: Node) -> list[float]:
        """Returns for each target word how much is won by covering it."""
        text, target_length = self._extents[pair].text or Span(0, 0), len(self._ground.words)
        middle = (text.start + text.end) / 2 / (len(self._model.text) or 1)
        return [
            self._ground.share(word, text) - _WORTH - _PROPORTION * abs((word + 0.5) / target_length - middle)
            for word in range(target_length)
        ]

    def _boundary(self, parent: Node, child: Node, boundaries: Sequence[int]) -> int:
        """Returns the target word, one of those named, before which something without text belongs."""
        position = self._model.pieces[child.first].span.start
        text = self._extents[parent].text
        # What leads or trails goes on doing so, and a pair with one half only reaches to the edge of its parent.
        if text is None or position <= text.start or (child.is_pair and child.opening is None):
            return boundaries[0]
        if position >= text.end or (child.is_pair and child.closing is None):
            return boundaries[-1]
        near = self._nearness(position)
        scores = self._scores(position, near)
        best = max(boundaries, key=scores.__getitem__)
        if near[best] < self._least_support and is_shown(self._model.pieces[child.first].items):
            raise PlacelessError
        return best

    def _nearness(self, position: int) -> list[float]:
        """Returns, before each target word and behind the last, how much the words there come from the neighbours."""
        count = len(self._ground.words)
        before = next((word for word in reversed(self._source_words) if word.start < position), Span(0, 0))
        behind = next((word for word in self._source_words if word.start >= position), Span(0, 0))
        left = [0.0, *(self._ground.share(word, before) for word in range(count))]
        right = [*(self._ground.share(word, behind) for word in range(count)), 0.0]
        return [one + other for one, other in zip(left, right, strict=True)]

    def _scores(self, position: int, near: Sequence[float]) -> list[float]:
        """Returns how well a place in the model's text fits before each target word, and behind the last."""
        count, length = len(self._ground.words), len(self._model.text)
        scores, order = [], 0.0
        for word, nearness in enumerate(near):
            distance = abs(word / (count or 1) - position / (length or 1))
            scores.append(nearness + _ORDER * order - _PROPORTION * distance)
            if word < count:
                order += self._ground.share(word, Span(0, position)) - self._ground.share(word, Span(position, length))
        return scores


def _extents(model: ModelText, ground: Ground, root: Node) -> dict[Node, _Extent]:
    extents: dict[Node, _Extent] = {}
    # Children before parents.
    for node in [*reversed(list(descendants(root))), root]:
        extent = extents[node] = _Extent()
        if not node.is_pair:
            extent.text = _trimmed(model.text, model.pieces[node.first].span)
            word = ground.fixed.get(node.first)
            extent.fixed = None if word is None else Span(word, word + 1)
        for child in node.children:
            extent.text = _hull(extent.text, extents[child].text)
            extent.fixed = _hull(extent.fixed, extents[child].fixed)
    return extents


def _trimmed(text: str, span: Span) -> Span | None:
    start, end = trim(text, span.start, span.end)
    return Span(start, end) if start < end else None


def _hull(one: Span | None, other: Span | None) -> Span | None:
    if one is None or other is None:
        return other if one is None else one
    return Span(min(one.start, other.start), max(one.end, other.end))


def _base(pair: Node, fixed: Span | None, room: Span) -> Span | None:
    """Return what a pair covers in any case: its surrogates, and the edge its missing half is behind."""
    if pair.opening is None:
        return Span(room.start, fixed.end if fixed else room.start)
    if pair.closing is None:
        return Span(fixed.start if fixed else room.end, room.end)
    return fixed


def _mark(free: list[bool], words_: Span, *, value: bool) -> None:
    free[words_.start : words_.end] = [value] * (words_.end - words_.start)
