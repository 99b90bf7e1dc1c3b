"""Putting the placeholders of a source into its translation: each exactly once, pairs nested.

Surrogates that the model copied say where theirs belongs; everything else goes where the links of the words around it
lead. Where a surrogate was lost, doubled or moved out of its pair, there is no result.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence

from service.text.alignment import Link
from service.text.document import Item, Span
from service.text.model_text import ModelText, Piece
from service.text.nesting import Node
from service.text.placing import Ground, PlacelessError, place
from service.text.spaces import WHITE_SPACE
from service.text.spacing import spaces
from service.text.words import words


def weave(model: ModelText, target: str, links: Sequence[Link], least_support: float = 0.0) -> tuple[Item, ...] | None:
    """Return the items of the target: all placeholders of the source with what the model wrote between them.

    links: between the words of the model's text and of the target, in any order; without any, proportion decides.
    least_support: how sure links must be of where an atom belongs that reads like a word and was left out; see `place`.

    None where surrogates did not come back as they must or support is too small, and for a blank target of a text that
    is not. Without surrogates and least_support there is a result for every other target.
    """
    if target == model.text:
        return model.items
    target = target.strip(WHITE_SPACE)
    surrogates = _found_surrogates(model, target)
    if surrogates is None or not target or (least_support and not links):
        return None
    ground = _ground(model, target, links, surrogates)
    try:
        root, places = place(model, ground, least_support)
    except PlacelessError:
        return None
    return _written(model, target, ground, list(_order(root, places)))


def _found_surrogates(model: ModelText, target: str) -> dict[int, Span] | None:
    """Return where each surrogate stands in a target, by the number of its piece; None if one is not there once."""
    found: dict[int, Span] = {}
    for number, piece in enumerate(model.pieces):
        surrogate = model.surrogate(piece)
        if surrogate:
            places = [match.span() for match in _whole(surrogate, piece).finditer(target)]
            if len(places) != 1 or target.count(surrogate) != 1:
                return None
            found[number] = Span(*places[0])
    return found


def _whole(surrogate: str, piece: Piece) -> re.Pattern[str]:
    """Return what finds a surrogate as a word; a side that letters touched in the source may touch letters again."""
    before, behind = (r"\d" if side.isalpha() else r"\w" for side in piece.beside)
    return re.compile(rf"(?<!{before}){re.escape(surrogate)}(?!{behind})")


def _ground(model: ModelText, target: str, links: Sequence[Link], surrogates: dict[int, Span]) -> Ground:
    cuts = (edge for link in links for edge in (link.target.start, link.target.end))
    found = _with_surrogates(words(target, cuts), surrogates.values())
    starts, ends = [word.start for word in found], [word.end for word in found]
    shares: list[list[tuple[Span, float]]] = [[] for _ in found]
    for link in links or _proportional(words(model.text), found):
        for number in range(bisect_right(ends, link.target.start), bisect_left(starts, link.target.end)):
            shares[number].append((link.source, link.weight))
    fixed = {piece: bisect_left(starts, span.start) for piece, span in surrogates.items()}
    return Ground(tuple(found), tuple(map(tuple, shares)), fixed)


def _with_surrogates(found: Iterable[Span], surrogates: Iterable[Span]) -> list[Span]:
    """Make every surrogate one word, whatever it was a part of or consisted of."""
    cut = list(found)
    for one in surrogates:
        rests = (
            rest
            for word in cut
            for rest in (
                (word,)
                if word.end <= one.start or one.end <= word.start
                else (Span(word.start, min(word.end, one.start)), Span(max(word.start, one.end), word.end))
            )
        )
        cut = sorted((one, *(rest for rest in rests if rest.start < rest.end)), key=lambda word: word.start)
    return cut


def _proportional(source: Sequence[Span], target: Sequence[Span]) -> Iterator[Link]:
    """Link every target word with the source word at the same part of the text, where nothing better is known."""
    for number, word in enumerate(target if source else ()):
        yield Link(source[number * len(source) // len(target)], word, 1.0)


def _order(root: Node, places: dict[Node, Span]) -> Iterator[tuple[bool, int]]:
    """Give target words (True) and pieces left out (False) by their numbers, in the order in which they are written."""
    todo: list[tuple[bool, int] | Node] = [root]
    while todo:
        node = todo.pop()
        if not isinstance(node, Node):
            yield node
            continue
        room = places[node]
        if not node.is_pair:
            yield (False, node.first) if room.start == room.end else (True, room.start)
            continue
        parts: list[tuple[bool, int] | Node] = [] if node.opening is None else [(False, node.first)]
        written = room.start
        children = (child for child in node.children if child in places)
        for child in sorted(children, key=lambda child: (places[child].start, places[child].end, child.first)):
            parts += [(True, word) for word in range(written, places[child].start)]
            parts.append(child)
            written = places[child].end
        parts += [(True, word) for word in range(written, room.end)]
        parts += [] if node.closing is None else [(False, node.last - 1)]
        todo += reversed(parts)


def _written(model: ModelText, target: str, ground: Ground, order: Sequence[tuple[bool, int]]) -> tuple[Item, ...]:
    """Write words and pieces in order, with the target's white space between words."""
    behind = {word: piece for piece, word in ground.fixed.items()}
    items: list[Item] = []
    last: int | None = None
    waiting: list[Piece] = []
    for is_word, number in (*order, (True, len(ground.words))):
        if not is_word:
            waiting.append(model.pieces[number])
            continue
        _write_between(items, target, ground.words, (last, number), waiting)
        if number < len(ground.words):
            word = ground.words[number]
            items += model.pieces[behind[number]].items if number in behind else (target[word.start : word.end],)
        last, waiting = number, []
    return joined(items)


def _write_between(
    items: list[Item], target: str, found: Sequence[Span], between: tuple[int | None, int], pieces: Sequence[Piece]
) -> None:
    last, following = between
    end = 0 if last is None else found[last].end
    start = found[following].start if following < len(found) else len(target)
    gap = target[end:start]
    for slot, piece in zip(spaces(target[:end][-1:], pieces, target[start:][:1], gap), (*pieces, None), strict=True):
        items.append(slot)
        items.extend(piece.items if piece else ())


def joined(items: Iterable[Item]) -> tuple[Item, ...]:
    """Join neighbouring strings and drop empty ones."""
    joined: list[Item] = []
    for item in items:
        if isinstance(item, str) and joined and isinstance(joined[-1], str):
            joined[-1] += item
        elif item != "":
            joined.append(item)
    return tuple(joined)
