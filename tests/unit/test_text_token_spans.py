"""Tokens and the characters they stand for, also where normalisation, case or placeholders stand between them."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.text.document import Span
from service.text.token_spans import token_spans


def read(pieces: list[str], text: str, holes: tuple[Span, ...] = ()) -> list[str]:
    return [text[span.start : span.end] for span in token_spans(pieces, text, holes)]


def test_pieces_are_found_with_their_marks_of_word_beginnings() -> None:
    assert read(["▁The", "▁hou", "se", "."], "The house.") == ["The", "hou", "se", "."]


@pytest.mark.parametrize(
    ("pieces", "text", "stretches"),
    [
        (["▁Wait", ".", ".", "."], "Wait…", ["Wait", "…", "…", "…"]),
        (["▁stra", "ße"], "STRASSE", ["STRA", "SSE"]),
        (["▁a", "▁", "▁b"], "a   b", ["a", "", "b"]),
        (["▁caf", "", "▁au", "▁lait"], "café au lait", ["caf", "", "au", "lait"]),
        (["▁un", "<x>", "▁known"], "un☃ known", ["un", "", "known"]),
        ([], "text", []),
        (["▁more", "▁here"], "more", ["more", ""]),
    ],
)
def test_what_disagrees_is_skipped(pieces: list[str], text: str, stretches: list[str]) -> None:
    assert read(pieces, text) == stretches


def test_nothing_is_found_inside_holes() -> None:
    text = "See <b>here</b> now"
    assert read(["▁See", "▁here", "▁now"], text, (Span(4, 7), Span(11, 15))) == ["See", "here", "now"]
    assert read(["▁b"], "<b>b</b>", (Span(0, 3), Span(4, 8))) == ["b"]


@given(st.lists(st.text(max_size=5), max_size=30), st.text(max_size=80))
def test_spans_are_inside_the_text_and_in_order(pieces: list[str], text: str) -> None:
    spans = token_spans(pieces, text)
    assert len(spans) == len(pieces)
    assert all(0 <= span.start <= span.end <= len(text) for span in spans)
    assert [span.start for span in spans] == sorted(span.start for span in spans)


@given(st.text("abcXY01ßäé字", max_size=60), st.sets(st.integers(1, 60), max_size=12))
def test_a_text_cut_into_pieces_is_found_again(text: str, cuts: set[int]) -> None:
    places = [0, *sorted(cut for cut in cuts if cut < len(text)), len(text)]
    pieces = [text[start:end] for start, end in pairwise(places)]
    assert token_spans(pieces, text) == tuple(Span(start, end) for start, end in pairwise(places))
