"""Cutting by example: where a sentence that is too long is cut, and what becomes of the pieces."""

from collections.abc import Callable

import pytest

from service.errors import UntranslatableError
from service.text.cutting import cut
from service.text.document import Gap, Segment, Span
from service.text.segmentation import join


def at_most(limit: int) -> Callable[[str], bool]:
    return lambda text: len(text) <= limit


def pieces_of(text: str, limit: int) -> list[str]:
    return [part.text for part in cut(text, at_most(limit)) if isinstance(part, Segment)]


class CountingFits:
    """A limit in characters that remembers how much it was asked."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.calls = 0
        self.characters = 0

    def __call__(self, text: str) -> bool:
        self.calls += 1
        self.characters += len(text)
        return len(text) <= self.limit


def test_a_sentence_that_fits_is_one_segment() -> None:
    assert cut("A short one.", at_most(100)) == (Segment("A short one.", Span(0, 12)),)


def test_spans_count_from_the_document_when_an_offset_is_given() -> None:
    assert cut("one two", at_most(4), offset=100) == (
        Segment("one", Span(100, 103)),
        Gap(" "),
        Segment("two", Span(104, 107)),
    )


def test_an_empty_text_has_no_parts() -> None:
    assert cut("", at_most(1)) == ()


def test_white_space_around_and_at_cuts_is_a_gap() -> None:
    assert [part.text for part in cut("  one \t two  ", at_most(4))] == ["  ", "one", " \t ", "two", "  "]


@pytest.mark.parametrize(
    ("text", "limit", "pieces"),
    [
        (
            "He would come if the sun was out; otherwise he would stay at home.",
            45,
            ["He would come if the sun was out;", "otherwise he would stay at home."],
        ),
        (
            "After the long and dark winter, the children went out to play.",
            45,
            ["After the long and dark winter,", "the children went out to play."],
        ),
        (
            '"This is the first sentence. And here is the second one!" she said.',
            50,
            ['"This is the first sentence.', 'And here is the second one!" she said.'],
        ),
        (
            "The old house (with its garden) stood on the green hill.",
            40,
            ["The old house (with its garden)", "stood on the green hill."],
        ),
        ("我们今天去公园散步，孩子们玩得很开心。", 12, ["我们今天去公园散步，", "孩子们玩得很开心。"]),
        ("她说天气很好，我们去公园散步玩吧。他也同意了", 20, ["她说天气很好，我们去公园散步玩吧。", "他也同意了"]),
    ],
)
def test_a_sentence_is_cut_after_a_sentence_or_a_clause(text: str, limit: int, pieces: list[str]) -> None:
    assert pieces_of(text, limit) == pieces


def test_commas_in_numbers_and_short_abbreviations_are_no_better_than_other_places() -> None:
    assert pieces_of("there are 1,000,000 good reasons to ask Dr. Smith again", 30) == [
        "there are 1,000,000 good",
        "reasons to ask Dr. Smith again",
    ]


def test_words_are_kept_whole_and_pieces_are_even() -> None:
    assert pieces_of("aaaa bbbb cccc dddd eeee ffff", 25) == ["aaaa bbbb cccc", "dddd eeee ffff"]


def test_a_no_break_space_is_no_place_to_cut_while_there_are_others() -> None:
    assert pieces_of("it was about 10\xa0km from here", 20) == ["it was about", "10\xa0km from here"]


def test_a_text_without_spaces_is_cut_between_characters() -> None:
    pieces = pieces_of("我们今天去公园散步天气很好", 5)
    assert "".join(pieces) == "我们今天去公园散步天气很好"
    assert all(2 <= len(piece) <= 5 for piece in pieces)


def test_a_word_in_another_script_stays_whole_inside_chinese() -> None:
    assert "Python" in "|".join(pieces_of("我们今天用Python写程序", 8))


def test_a_long_address_is_cut_at_its_marks() -> None:
    assert pieces_of("example.com/abcdefghij/klmnopqrst", 25) == ["example.com/", "abcdefghij/klmnopqrst"]


@pytest.mark.parametrize("cluster", ["e\u0301", "👩\u200d👩\u200d👧\u200d👦", "🇩🇪", "x\ufe0f", "क्षि"], ids=ascii)
def test_what_is_seen_as_one_character_is_not_cut(cluster: str) -> None:
    text = f"a{cluster}" * 30
    for part in cut(text, at_most(10)):
        assert len(part.text.replace(f"a{cluster}", "").replace(cluster, "").replace("a", "")) == 0


def test_a_character_with_endless_marks_is_cut_between_code_points() -> None:
    text = "a" + "\u0301" * 10_000 + "b"
    parts = cut(text, at_most(100))
    assert join(parts) == text
    assert [part.text[0] for part in parts if isinstance(part, Segment)] == ["a", "\u0301"]
    assert parts[-1].text.endswith("b")


def test_a_long_stretch_without_letters_between_words_becomes_a_gap() -> None:
    parts = cut("word" + "." * 2_000 + " word", at_most(50))
    assert sum(len(part.text) for part in parts if isinstance(part, Gap)) > 1_900
    assert all("word" in part.text for part in parts if isinstance(part, Segment))


def test_a_text_without_letters_is_a_gap_and_is_never_measured() -> None:
    fits = CountingFits(10)
    assert cut("." * 2_000, fits) == (Gap("." * 2_000),)
    assert fits.calls == 0


def test_a_letter_that_does_not_fit_alone_is_an_error_without_the_text_in_it() -> None:
    with pytest.raises(UntranslatableError) as caught:
        cut("word", at_most(0))
    assert "word" not in caught.value.message


def test_a_symbol_that_does_not_fit_alone_becomes_a_gap() -> None:
    assert cut("ab😀cd", lambda text: "😀" not in text) == (
        Segment("ab", Span(0, 2)),
        Gap("😀"),
        Segment("cd", Span(3, 5)),
    )


def test_a_part_of_what_fits_that_does_not_fit_is_cut_again() -> None:
    # Subword tokens are such a measure: a word can be one token and its beginning three.
    parts = cut("abcdef ghijkl " * 20, lambda text: len(text) % 7 != 6 and len(text) < 40)
    assert join(parts) == "abcdef ghijkl " * 20
    assert all(len(part.text) % 7 != 6 for part in parts if isinstance(part, Segment))


@pytest.mark.parametrize(
    "text",
    [
        "The quick brown fox, as they say, jumps. " * 500,
        "a" * 20_000,
        "今天天气很好" * 3_000,
        "a, " * 7_000,
        "a" + " " * 20_000 + "b",
    ],
    ids=["sentences", "one word", "no spaces", "commas", "one gap"],
)
@pytest.mark.parametrize("limit", [20, 500, 3_000])
def test_what_is_measured_is_a_small_multiple_of_the_text(text: str, limit: int) -> None:
    fits = CountingFits(limit)
    parts = cut(text, fits)
    assert join(parts) == text
    assert fits.characters <= 6 * len(text) + 2_000
    assert fits.calls <= 6 * len(parts) + 20


@pytest.mark.parametrize("limit", [20, 500])
def test_pieces_are_not_much_more_than_needed(limit: int) -> None:
    text = "the quick brown fox jumps over lazy dogs and runs away " * 200
    assert len(pieces_of(text, limit)) <= 1.5 * len(text) / limit + 1
