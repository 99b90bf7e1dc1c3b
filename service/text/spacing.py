"""White space around placeholders that are put between two words of a target: as in the source where the target allows.

Never are two words glued together, and never do two spaces touch.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from service.text.document import Placeholder
from service.text.model_text import CLOSING, OPENING, Piece
from service.text.spaces import WHITE_SPACE
from service.text.words import is_word_character


@dataclass(frozen=True, slots=True)
class _Seam:
    """Two words of a target, by the characters where they face each other, and the white space between them."""

    left: str
    right: str
    gap: str


def spaces(left: str, pieces: Sequence[Piece], right: str, gap: str) -> list[str]:
    """Return what to write before each piece and behind the last: one more string than there are pieces.

    left, right: the characters of the target on both sides, "" at its edges. gap: the white space between them there.
    pieces: halves and atoms, in the order in which they are put between.
    """
    atoms = [place for place, piece in enumerate(pieces) if piece.is_atom]
    edges = [-1, *atoms, len(pieces)]
    slots = [""] * (len(pieces) + 1)
    for before, behind in pairwise(edges):
        # The slots between two things that can be seen; at most one of them gets a space.
        stretch = range(before + 1, behind + 1)
        first = pieces[before] if before >= 0 else None
        last = pieces[behind] if behind < len(pieces) else None
        if (first is None and not left) or (last is None and not right):
            continue
        wished = [slot for slot in stretch if _is_spaced(pieces, slot) and (gap or atoms)]
        if _needs_space(first, last, _Seam(left, right, gap), wished=bool(wished)):
            slots[wished[0] if wished else _usual(pieces, stretch)] = " "
    if gap and not any(slots) and left and right and _must_part(pieces, atoms):
        slots[_usual(pieces, range(edges[-2] + 1, len(pieces) + 1))] = gap
    elif gap and slots.count(" ") == 1:
        slots[slots.index(" ")] = gap
    return slots


def _is_spaced(pieces: Sequence[Piece], slot: int) -> bool:
    """Say whether there was white space in a slot in the source, next to either of its pieces."""
    return (slot > 0 and pieces[slot - 1].spaced[1]) or (slot < len(pieces) and pieces[slot].spaced[0])


def _needs_space(first: Piece | None, last: Piece | None, seam: _Seam, *, wished: bool) -> bool:
    """Say whether there is to be white space between two atoms, or an atom (None: a word) and a word."""
    if first is None and last is None:
        return bool(seam.gap)
    if first is None and last is not None:
        return _beside_word(last, 0, seam, wished=wished)
    if last is None and first is not None:
        return _beside_word(first, 1, seam, wished=wished)
    return wished


def _beside_word(atom: Piece, side: int, seam: _Seam, *, wished: bool) -> bool:
    word, hugging = ((seam.left, OPENING), (seam.right, CLOSING))[side]
    if not seam.gap and word in hugging:
        return False
    beside = atom.beside[side]
    if wished or (beside and beside in WHITE_SPACE):
        return True
    return atom.parts_words and is_word_character(word) and not (beside and is_word_character(beside))


def _must_part(pieces: Sequence[Piece], atoms: Sequence[int]) -> bool:
    """Say whether the two words would be read as one without a space somewhere."""
    return not any(pieces[place].parts_words for place in atoms)


def _usual(pieces: Sequence[Piece], stretch: range) -> int:
    """Return the slot behind the halves that close what is before, and before those that open what comes."""
    for slot in stretch:
        piece = pieces[slot] if slot < stretch[-1] else None
        half = piece.items[0] if piece else None
        if not (isinstance(half, Placeholder) and half.kind == "close"):
            return slot
    return stretch[-1]
