"""What a request names is found where a text says exactly that; what a model cannot express is told apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.text.document import Placeholder
from service.translation.known_characters import KnownCharacters
from service.translation.opening import Protector, protected_items
from tests.doubles.word_model import WordModel


def everything(text: str) -> bool:
    return True


def found(text: str, *literals: str) -> list[str]:
    items = Protector(everything, literals)(text)
    assert "".join(item if isinstance(item, str) else item.text for item in items) == text
    return [item.text for item in items if isinstance(item, Placeholder)]


@pytest.mark.parametrize(
    ("text", "literals", "expected"),
    [
        ("The ACME GmbH is here", ["ACME GmbH"], ["ACME GmbH"]),
        ("Go is no Google, Golang or ergo", ["Go"], ["Go"]),
        ("acme", ["ACME"], []),
        ("ACME, ACME's (ACME)", ["ACME"], ["ACME"] * 3),
        ("Red Apple and Red", ["Red", "Red Apple"], ["Red Apple", "Red"]),
        ("我用Verso写字", ["Verso"], ["Verso"]),
        ("我们写字", ["写"], ["写"]),
        ("C++ and C+++", ["C++"], ["C++", "C++"]),
        ("a.b axb", ["a.b"], ["a.b"]),
        ("nothing here", ["x"], []),
        ("Ünal, Ünals", ["Ünal"], ["Ünal"]),
        ("two\nlines", ["two\nlines"], ["two\nlines"]),
    ],
)
def test_a_name_is_found_as_a_word_of_its_own(text, literals, expected):
    assert found(text, *literals) == expected


@given(
    st.lists(st.sampled_from(["pH", "kB", "Tom", "mcTom", "a", "B", "iPhone", "-", ".", "'", "?", " ", "@", "ß"])).map(
        "".join
    )
)
def test_a_text_in_which_nothing_is_found_at_first_sight_has_nothing_to_find(text):
    # With a name to look for, no text is passed over.
    assert Protector(everything, ())(text) == Protector(everything, ("no such name",))(text)


def test_what_is_found_in_decoded_text_is_written_as_the_document_writes_it():
    items = tuple(
        protected_items(("See AT&T now",), Protector(everything, ["AT&T"]), lambda text: text.replace("&", "&amp;"))
    )
    assert items == ("See ", Placeholder("AT&amp;T", shown="AT&T"), " now")


def test_many_names_in_a_long_text_are_found_in_time():
    literals = [f"name{number}" for number in range(100)]
    assert len(found("name7 and name99 " * 5_000, *literals)) == 10_000


@pytest.mark.parametrize(
    ("text", "is_known"),
    [("abc", True), ("a b\n", True), ("ä", True), ("ï", False), ("☃", False), ("{", False), ("½", False)],
)
def test_a_character_is_known_when_it_can_be_read_and_written(text, is_known):
    known = WordModel().known_characters
    assert known(text) == is_known
    assert known(text) == is_known


def test_a_symbol_that_can_be_read_and_not_written_is_not_known():
    model = WordModel()
    model.package.target_tokenizer.pieces = lambda ids: ["▁a"]
    known = KnownCharacters(model.package)
    assert known("b")
    assert not known("+")
