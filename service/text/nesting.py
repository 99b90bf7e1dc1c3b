"""Items as a forest: strings, atoms, and pairs with what stands between their halves.

A stretch of a segment may begin or end inside pairs. Such a pair has one half here and reaches to the edge of the
stretch on the other side.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from service.text.document import Item, Placeholder


@dataclass(slots=True, eq=False)
class Node:
    """An item, or a pair with its children.

    first, last: the range of items it covers, halves included, last excluded. opening, closing: its halves, None for
    an item and where the half is outside. is_pair: whether it is a pair. top: whether it has no parent.
    """

    first: int
    last: int
    is_pair: bool = False
    opening: Placeholder | None = None
    closing: Placeholder | None = None
    children: "list[Node]" = field(default_factory=list)


def forest(items: Sequence[Item]) -> Node:
    """Return a root whose descendants are the items, each once, in order.

    A half whose partner is missing makes a pair that reaches to the edge of the items.
    """
    root = Node(0, len(items), is_pair=True)
    opened = [root]
    for place, item in enumerate(items):
        kind = "text" if isinstance(item, str) else item.kind
        if kind == "open":
            node = Node(place, len(items), is_pair=True, opening=_half(item))
            opened[-1].children.append(node)
            opened.append(node)
        elif kind != "close":
            opened[-1].children.append(Node(place, place + 1))
        elif len(opened) > 1:
            node = opened.pop()
            node.closing, node.last = _half(item), place + 1
        else:
            root.children = [Node(0, place + 1, is_pair=True, closing=_half(item), children=root.children)]
    return root


def is_well_nested(items: Sequence[Item]) -> bool:
    """Say whether every half has its partner, with whole pairs only between them."""
    opened: list[int] = []
    for item in items:
        if isinstance(item, Placeholder) and item.kind == "open":
            opened.append(item.pair)
        elif isinstance(item, Placeholder) and item.kind == "close" and (not opened or opened.pop() != item.pair):
            return False
    return not opened


def descendants(root: Node) -> Iterator[Node]:
    """Give all nodes under a root, parents before children."""
    waiting = list(root.children)
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(node.children)


def _half(item: Item) -> Placeholder | None:
    return item if isinstance(item, Placeholder) else None
