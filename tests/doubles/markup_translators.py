"""Stand-ins for what translates the items of segments, from well-behaved to hostile, and the joining of a document.

They know what every translator must keep: each placeholder once, halves nested. All else may change.
"""

import random
from collections.abc import Callable

from service.text.document import Document, Gap, Item, Part, Placeholder, Segment

Translate = Callable[[tuple[Item, ...]], tuple[Item, ...]]
Tree = list["str | Placeholder | tuple[Placeholder, Tree, Placeholder]"]

HOSTILE = (
    "&",
    "<b>",
    "</p>",
    "</td></table>",
    '"',
    "'",
    "&amp;",
    "<!--",
    "]]>",
    "<script>",
    "\n",
    "\xa0",
    "=",
    "`",
    "日本",
)


def joined(document: Document, translate: Translate) -> str:
    """Put a document together with the translations of its segments and of those inside placeholders."""

    def part_text(part: Part) -> str:
        return part.text if isinstance(part, Gap) else segment_text(part)

    def segment_text(segment: Segment) -> str:
        items = translate(segment.items)
        if items == segment.items:
            return unchanged_text(segment)
        escape = segment.escape or document.escape
        return "".join(escape(item) if isinstance(item, str) else placeholder_text(item) for item in items)

    def unchanged_text(segment: Segment) -> str:
        """The source's own spelling, around the values inside its tags."""
        texts, position = [], 0
        for item in segment.items:
            for nested in item.parts if isinstance(item, Placeholder) else ():
                if isinstance(nested, Segment):
                    start = nested.span.start - segment.span.start
                    texts += [segment.text[position:start], segment_text(nested)]
                    position = start + len(nested.text)
        return "".join([*texts, segment.text[position:]])

    def placeholder_text(placeholder: Placeholder) -> str:
        return "".join(map(part_text, placeholder.parts)) or placeholder.text

    return "".join(map(part_text, document.parts))


def all_segments(document: Document) -> list[Segment]:
    """The segments of a document, those inside placeholders included, in order of their spans."""

    def inside(parts: tuple[Part, ...]) -> list[Segment]:
        found: list[Segment] = []
        for part in parts:
            if isinstance(part, Segment):
                found.append(part)
                found += [one for item in part.items if isinstance(item, Placeholder) for one in inside(item.parts)]
        return found

    return sorted(inside(document.parts), key=lambda segment: segment.span.start)


def told(document: Document) -> list[str]:
    """What each segment says, its placeholders between angle quotes."""

    def item_text(item: Item) -> str:
        if isinstance(item, str):
            return item
        return f"‹{item.text}›"

    return ["".join(map(item_text, segment.items)) for segment in all_segments(document)]


def unchanged(items: tuple[Item, ...]) -> tuple[Item, ...]:
    return items


def upper(items: tuple[Item, ...]) -> tuple[Item, ...]:
    return tuple(item.upper() if isinstance(item, str) else item for item in items)


def one_word(items: tuple[Item, ...]) -> tuple[Item, ...]:
    """Drops every word but one of its own."""
    return ("x ", *(item for item in items if isinstance(item, Placeholder)))


def mangling(seed: int) -> Translate:
    """Shuffles, drops, doubles and invents words, and moves placeholders."""
    rng = random.Random(seed)

    def translate(items: tuple[Item, ...]) -> tuple[Item, ...]:
        return ("x ", *_flat(_shuffled(_tree(list(items)), rng)))

    return translate


def _tree(items: list[Item]) -> Tree:
    levels: list[tuple[Placeholder | None, Tree]] = [(None, [])]
    for item in items:
        if isinstance(item, Placeholder) and item.kind == "open":
            levels.append((item, []))
        elif isinstance(item, Placeholder) and item.kind == "close":
            opening, inside = levels.pop()
            assert opening is not None
            assert opening.pair == item.pair
            levels[-1][1].append((opening, inside, item))
        else:
            levels[-1][1].extend([item] if isinstance(item, Placeholder) else item.split())
    assert len(levels) == 1
    return levels[0][1]


def _shuffled(tree: Tree, rng: random.Random) -> Tree:
    branches: Tree = []
    for branch in tree:
        if isinstance(branch, tuple):
            branches.append((branch[0], _shuffled(branch[1], rng), branch[2]))
        elif isinstance(branch, Placeholder):
            branches.append(branch)
        else:
            branches += rng.choice(([branch], [], [branch, branch], [rng.choice(HOSTILE)]))
    rng.shuffle(branches)
    if len(branches) > 1 and isinstance(branches[0], tuple) and rng.random() < 0.5:
        # Something moves into a pair.
        branches[0][1].append(branches.pop())
    return branches


def _flat(tree: Tree) -> list[Item]:
    items: list[Item] = []
    for branch in tree:
        if isinstance(branch, tuple):
            items += [branch[0], *_flat(branch[1]), branch[2]]
        else:
            items.append(f" {branch} " if isinstance(branch, str) else branch)
    return items
