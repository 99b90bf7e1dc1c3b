"""Laws of taking text apart, for any Unicode text and for texts rich in what splitters stumble over."""

import re
from collections.abc import Callable, Iterable
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from service.text.clusters import starts_cluster
from service.text.cutting import cut
from service.text.digits import has_digits
from service.text.document import Gap, Item, Part, Placeholder, Segment
from service.text.segmentation import SegmentationOptions, SplitSentences, join, segment
from service.text.spaces import (
    LINE_BREAKS,
    LINE_OR_COLUMN_BREAKS,
    WHITE_SPACE,
    has_odd_white_space,
    is_one_line,
    trim,
    with_single_spaces,
    without_line_breaks,
)

deterministic = settings(derandomize=True, max_examples=200, deadline=None)

LANGUAGES = st.sampled_from(["en", "de", "fr", "es", "zh", "de-AT", "xx", ""])
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]))
FRAGMENTS = (
    *"abcXYÄé字。、，！？.,;:!?…-—*•()[]\"'“”„«»」1٣Ⅷ👍",
    *"\n\r\v\f\x1c\x1d\x1e\x1f\x85\u2028\u2029\x00",
    *" \t\xa0\u1680\u2003\u2009\u202f\u205f\u3000\u200b\u2060\ufeff",
    *"\u0301\u200d\u200c\ufe0f🇩🇪",
    *(
        "\r\n",
        "B\xa0.",
        "A\u3000.",
        "J\u2009. R.",
        "Dr. ",
        "im 16. ",
        "M. ",
        "1. ",
        "- ",
        "a) ",
        "word",
        "👩\u200d👧",
        "...",
    ),
)
ODD_TEXT = st.lists(st.sampled_from(FRAGMENTS), max_size=60).map("".join)
TEXTS = ANY_TEXT | ODD_TEXT


def segments_of(parts: Iterable[Part]) -> list[Segment]:
    return [part for part in parts if isinstance(part, Segment)]


def assert_well_formed(parts: tuple[Part, ...], text: str, offset: int = 0) -> None:
    assert join(parts) == text
    assert all(part.text for part in parts)
    assert not any(isinstance(one, Gap) and isinstance(two, Gap) for one, two in pairwise(parts))
    for part in segments_of(parts):
        assert text[part.span.start - offset : part.span.end - offset] == part.text
        assert part.text.strip(WHITE_SPACE) == part.text.strip() == part.text
        assert any(char.isalpha() for char in part.text)


@deterministic
@given(TEXTS, LANGUAGES)
def test_parts_of_a_document_are_the_document(text: str, language: str) -> None:
    assert_well_formed(segment(text, language).parts, text)


@deterministic
@given(TEXTS, LANGUAGES)
def test_no_segment_has_a_line_break(text: str, language: str) -> None:
    for part in segments_of(segment(text, language).parts):
        assert LINE_BREAKS.search(part.text) is None
        assert len(part.text.splitlines()) == 1


@deterministic
@given(TEXTS, LANGUAGES)
def test_every_letter_outside_a_list_mark_is_in_a_segment(text: str, language: str) -> None:
    for part in segment(text, language).parts:
        if isinstance(part, Gap):
            assert all(len(word.strip("()")) == 1 for word in part.text.split() if any(map(str.isalpha, word)))


@deterministic
@given(TEXTS, TEXTS, LANGUAGES)
def test_lines_do_not_see_each_other(first: str, second: str, language: str) -> None:
    alone = [part.text for text in (first, second) for part in segments_of(segment(text, language).parts)]
    together = [part.text for part in segments_of(segment(f"{first}\n\n{second}", language).parts)]
    assert together == alone


def marked(text: str) -> tuple[Item, ...]:
    """Protects what stands between the first two of each three capital X, and emoji."""
    pieces = re.split("(X[^X]*X|👩\u200d👧|👍)", text)
    return tuple(Placeholder(piece) if index % 2 else piece for index, piece in enumerate(pieces) if piece)


OPTIONS = st.builds(
    SegmentationOptions, st.sampled_from(["on", "off", "nonewlines"]), st.sampled_from([marked, lambda text: (text,)])
)


@deterministic
@given(TEXTS, LANGUAGES, OPTIONS)
def test_parts_are_the_document_however_it_is_cut(text: str, language: str, options: SegmentationOptions) -> None:
    document = segment(text, language, options)
    assert join(document.parts) == text
    assert all(part.text for part in document.parts)
    for part in segments_of(document.parts):
        assert text[part.span.start : part.span.end] == part.text
        assert part.text.strip(WHITE_SPACE) == part.text
        assert any(char.isalpha() for item in part.items if isinstance(item, str) for char in item)


@deterministic
@given(TEXTS, LANGUAGES, OPTIONS)
def test_the_items_of_a_segment_are_its_text_but_for_joined_lines(
    text: str, language: str, options: SegmentationOptions
) -> None:
    for part in segments_of(segment(text, language, options).parts):
        items = "".join(item if isinstance(item, str) else item.text for item in part.items)
        if options.split_sentences == "nonewlines":
            assert "".join(items.split()) == "".join(part.text.split())
        else:
            assert items == part.text
        assert all(LINE_BREAKS.search(item) is None for item in part.items if isinstance(item, str))


@deterministic
@given(TEXTS, LANGUAGES, st.sampled_from(["on", "nonewlines"]))
def test_no_cut_is_made_inside_a_placeholder(text: str, language: str, split_sentences: SplitSentences) -> None:
    options = SegmentationOptions(split_sentences, marked)
    found = [item for part in segments_of(segment(text, language, options).parts) for item in part.items]
    for item in found:
        if isinstance(item, Placeholder):
            assert re.fullmatch("X[^X]*X|👩\u200d👧|👍", item.text)


def code_points(limit: int) -> Callable[[str], bool]:
    return lambda text: len(text) <= limit


def utf8_bytes(limit: int) -> Callable[[str], bool]:
    return lambda text: len(text.encode()) <= limit + 3  # the longest code point has four bytes


def rough_tokens(limit: int) -> Callable[[str], bool]:
    """Counts a token for each three letters of a word, so that a longer text may measure less than its beginning."""
    return lambda text: sum(1 if len(word) == 4 else -(-len(word) // 3) for word in text.split()) <= limit


MEASURES = st.builds(
    lambda measure, limit: measure(limit),
    st.sampled_from([code_points, utf8_bytes, rough_tokens]),
    st.integers(1, 40),
)


@deterministic
@given(TEXTS, MEASURES, st.integers(0, 1_000))
def test_pieces_of_a_cut_are_the_text_and_fit(text: str, fits: Callable[[str], bool], offset: int) -> None:
    parts = cut(text, fits, offset)
    assert_well_formed(parts, text, offset)
    assert all(fits(part.text) for part in segments_of(parts))


@deterministic
@given(TEXTS, MEASURES)
def test_every_letter_of_a_cut_text_is_in_a_piece(text: str, fits: Callable[[str], bool]) -> None:
    assert not any(char.isalpha() for part in cut(text, fits) if isinstance(part, Gap) for char in part.text)


@deterministic
@given(TEXTS, st.integers(1, 30))
def test_a_cut_parts_a_character_only_when_it_does_not_fit(text: str, limit: int) -> None:
    starts = [position for position in range(len(text) + 1) if starts_cluster(text, position)]
    longest = max((end - start for start, end in pairwise(starts)), default=0)
    if longest > limit:
        return
    position = 0
    for part in cut(text, code_points(limit)):
        assert starts_cluster(text, position)
        position += len(part.text)


@deterministic
@given(TEXTS)
def test_a_text_that_fits_is_not_cut(text: str) -> None:
    start, end = trim(text, 0, len(text))
    stripped = text[start:end]
    expected = [stripped] if any(map(str.isalpha, stripped)) else []
    assert [part.text.rstrip() for part in segments_of(cut(text, lambda _: True))] == expected


@deterministic
@given(TEXTS)
def test_what_is_seen_at_first_sight_is_so_character_by_character(text: str) -> None:
    assert has_digits(text) == any(map(str.isdigit, text))
    assert has_odd_white_space(text) == (with_single_spaces(text) != text)
    assert without_line_breaks(text) == "".join(" " if LINE_BREAKS.match(char) else char for char in text)
    assert not (is_one_line(text) and LINE_OR_COLUMN_BREAKS.search(text))


def test_the_space_is_all_the_white_space_that_is_printable() -> None:
    assert [char for char in WHITE_SPACE if char.isprintable()] == [" "]
