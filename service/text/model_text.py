"""What a model is given for the items of a segment: their text, with placeholders left out or replaced by surrogates.

Every piece of the items keeps its place in that text, so that `weaving` can put it into the target. Which surrogates a
model copies is for `surrogates`.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from service.text.document import Item, Placeholder, Span
from service.text.spaces import WHITE_SPACE
from service.text.words import is_word_character

# What parts the words on both sides of it, though it shows no text of its own.
_BREAKING_MARKUP: Final = re.compile(
    r"<(?:br|hr|img|input|video|audio|picture|svg|math|object|iframe|canvas|button|select|textarea)\b", re.IGNORECASE
)

OPENING: Final = frozenset("([{<«„‚“‘¿¡（［「『《")
CLOSING: Final = frozenset(")]}>»“”’.,;:!?…%。，、；：！？）］」』》")
"""Signs that hug the word behind them, and the word before them."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A string, a half of a pair, or atoms that stand together with nothing but white space between them.

    span: where its text or its surrogate stands in the model's text; an empty one is where it was left out.
    beside: what stands before and behind it among the items: the nearest character of text, halves not counted, or ""
    for an atom or the edge. spaced: whether white space touches it on either side.
    """

    items: tuple[Item, ...]
    span: Span
    beside: tuple[str, str] = ("", "")
    spaced: tuple[bool, bool] = (False, False)

    @property
    def text(self) -> str | None:
        """Its string, if it is one."""
        return self.items[0] if isinstance(self.items[0], str) else None

    @property
    def is_atom(self) -> bool:
        """Whether it consists of atoms."""
        return is_atom(self.items[0])

    @property
    def parts_words(self) -> bool:
        """Whether words that touch it on both sides are two words."""
        return any(map(parts_words, self.items))


@dataclass(frozen=True, slots=True)
class ModelText:
    """A text for the model and the pieces it was made of, in order."""

    text: str
    pieces: tuple[Piece, ...]

    @property
    def items(self) -> tuple[Item, ...]:
        """The items it was made of."""
        return tuple(item for piece in self.pieces for item in piece.items)

    def surrogate(self, piece: Piece) -> str:
        """Return what stands for an atom in the text; empty where it was left out."""
        return self.text[piece.span.start : piece.span.end] if piece.is_atom else ""


def is_atom(item: Item) -> bool:
    """Say whether an item is a placeholder that stands alone."""
    return isinstance(item, Placeholder) and item.kind == "atom"


def is_shown(items: Sequence[Item]) -> bool:
    """Say whether one of the items is an atom that reads like a word: what it shows has a letter or a digit."""
    return any(isinstance(item, Placeholder) and any(map(str.isalnum, item.shown)) for item in items)


def grouped(items: Sequence[Item]) -> list[tuple[Item, ...]]:
    """Put atoms together that have nothing but white space between them; every other item is alone."""
    groups: list[list[Item]] = []
    for item in items:
        if is_atom(item) and groups and is_atom(groups[-1][0]):
            groups[-1].append(item)
        elif is_atom(item) and len(groups) > 1 and _is_blank(groups[-1][0]) and is_atom(groups[-2][0]):
            blank = groups.pop()
            groups[-1] += [*blank, item]
        else:
            groups.append([item])
    return list(map(tuple, groups))


def model_text(items: Sequence[Item], surrogates: Sequence[str] = ()) -> ModelText:
    """Write the text for the model.

    surrogates: one for each group of atoms that reads like a word, in order; without any, those are left out too.
    White space doubled by what is left out becomes one, and words are not glued together.
    """
    groups = grouped(items)
    waiting = iter(surrogates)
    text = ""
    spans: list[Span] = []
    omitted: list[Item] = []
    for group in groups:
        written = group[0] if isinstance(group[0], str) else next(waiting, "") if is_shown(group) else ""
        if written:
            text, written = _beside_omitted(text, written, omitted)
        spans.append(Span(len(text), len(text) + len(written)))
        text += written
        if written:
            omitted = []
        elif is_atom(group[0]):
            omitted += group
    return ModelText(text.rstrip(WHITE_SPACE), tuple(_pieces(groups, _apart(spans, len(text.rstrip(WHITE_SPACE))))))


def _beside_omitted(text: str, written: str, omitted: Sequence[Item]) -> tuple[str, str]:
    """Make ends meet where atoms were left out: no doubled space, none before a comma, none less between words."""
    if not text or text[-1] in WHITE_SPACE:
        written = written.lstrip(WHITE_SPACE)
    if not omitted or not text or not written:
        return text, written
    if written[0] in CLOSING:
        return text.rstrip(WHITE_SPACE), written
    if text[-1] in OPENING:
        return text, written.lstrip(WHITE_SPACE)
    glued = is_word_character(text[-1]) and is_word_character(written[0])
    return text + (" " if glued and any(map(parts_words, omitted)) else ""), written


def _apart(spans: Sequence[Span], end: int) -> list[Span]:
    """Take from every span what was taken from the text behind it."""
    apart: list[Span] = []
    for span in reversed(spans):
        end = min(span.end, end)
        apart.append(Span(min(span.start, end), end))
        end = apart[-1].start
    return apart[::-1]


def _pieces(groups: Sequence[tuple[Item, ...]], spans: Sequence[Span]) -> Iterator[Piece]:
    before = [""] * len(groups)
    behind = [""] * len(groups)
    for sides, places, edge in ((before, range(len(groups)), -1), (behind, reversed(range(len(groups))), 0)):
        char = ""
        for place in places:
            sides[place] = char
            item = groups[place][0]
            if isinstance(item, str):
                char = item[edge]
            elif item.kind == "atom":
                char = ""
    for place, (group, span) in enumerate(zip(groups, spans, strict=True)):
        touching = (groups[place - 1][-1] if place else None, groups[place + 1][0] if place + 1 < len(groups) else None)
        spaced = (_ends_blank(touching[0], -1), _ends_blank(touching[1], 0))
        yield Piece(group, span, (before[place], behind[place]), spaced)


def _ends_blank(item: Item | None, edge: int) -> bool:
    return isinstance(item, str) and item[edge] in WHITE_SPACE


def _is_blank(item: Item) -> bool:
    return isinstance(item, str) and not item.strip(WHITE_SPACE)


def parts_words(item: Item) -> bool:
    """Say whether words that touch an atom on both sides are two words: so it is unless it is invisible markup."""
    if not isinstance(item, Placeholder):
        return False
    return bool(item.shown) or not item.text.startswith("<") or _BREAKING_MARKUP.search(item.text) is not None
