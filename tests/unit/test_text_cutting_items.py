"""Cutting items by example: placeholders stay whole, pairs stay together as long as they fit."""

from itertools import pairwise

import pytest

from service.errors import UntranslatableError
from service.text.cutting_items import cut_items
from service.text.document import Item, Placeholder

ATOM = Placeholder("{name. with, marks}")


def opened(pair: int) -> Placeholder:
    return Placeholder(f"<{pair}>", "open", pair)


def closed(pair: int) -> Placeholder:
    return Placeholder(f"</{pair}>", "close", pair)


def at_most(limit: int):
    """A limit in characters of text; an atom counts as three."""
    return lambda items: (
        sum(len(item) if isinstance(item, str) else 3 * (item.kind == "atom") for item in items) <= limit
    )


def joined(pieces: tuple[tuple[Item, ...], ...]) -> str:
    return "".join(item if isinstance(item, str) else item.text for piece in pieces for item in piece)


def test_items_that_fit_are_one_piece() -> None:
    items = ("Hello ", ATOM, "!")
    assert cut_items(items, at_most(20)) == (items,)


def test_text_without_placeholders_is_cut_like_any_sentence() -> None:
    text = "After the long and dark winter, the children went out to play."
    assert cut_items((text,), at_most(45)) == (
        ("After the long and dark winter,",),
        (" ",),
        ("the children went out to play.",),
    )


def test_an_atom_is_never_cut_however_long() -> None:
    items = ("one two three ", ATOM, " four five six seven eight")
    pieces = cut_items(items, at_most(16))
    assert joined(pieces) == joined((items,))
    assert sum(ATOM in piece for piece in pieces) == 1


def test_a_pair_stays_together_while_it_fits() -> None:
    items = ("one two three four ", opened(1), "five six ", ATOM, closed(1), " seven eight nine ten")
    pieces = cut_items(items, at_most(24))
    assert joined(pieces) == joined((items,))
    (piece,) = (piece for piece in pieces if opened(1) in piece)
    assert closed(1) in piece


def test_the_halves_of_a_pair_that_does_not_fit_stay_where_they_are() -> None:
    inner = "After the long and dark winter, the children went out to play."
    assert cut_items(("See: ", opened(1), inner, closed(1), "!"), at_most(45)) == (
        ("See:",),
        (" ",),
        (opened(1),),
        ("After the long and dark winter,",),
        (" ",),
        ("the children went out to play.",),
        (closed(1),),
        ("!",),
    )


def test_many_pairs_around_the_same_text_are_asked_about_once() -> None:
    calls = []

    def fits(items: tuple[Item, ...]) -> bool:
        calls.append(items)
        return at_most(30)(items)

    depth = 3_000
    items = (*map(opened, range(depth)), "word " * 100, *map(closed, reversed(range(depth))))
    pieces = cut_items(items, fits)
    assert joined(pieces) == joined((items,))
    assert len(calls) < 300


def test_characters_that_stand_for_placeholders_inside_may_be_in_the_text() -> None:
    text = "𠀀𠀁 \U000f0000 " * 20
    items = (text, opened(1), "𠀀x", closed(1), ATOM, text)
    pieces = cut_items(items, at_most(30))
    assert joined(pieces) == joined((items,))
    assert all(not (isinstance(one, str) and isinstance(two, str)) for piece in pieces for one, two in pairwise(piece))


def test_a_letter_that_does_not_fit_is_an_error() -> None:
    with pytest.raises(UntranslatableError):
        cut_items((ATOM, "word"), at_most(0))
