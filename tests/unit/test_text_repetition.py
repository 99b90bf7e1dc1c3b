"""Loops in targets, honest repetition in sources: real loops of the bundled model, real translations, any input."""

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.text.repetition import is_runaway, kept_places, retry_ngram_size, source_repeats, tail_period

TOKENS = st.lists(st.integers(0, 6), max_size=60)
REPEATS = st.integers(1, 6)


def tokens(text):
    """Characters stand for tokens."""
    return [ord(character) for character in text]


def cut(text, honest_repeats=1):
    return "".join(text[place] for place in kept_places(tokens(text), honest_repeats))


@pytest.mark.parametrize(
    ("source", "repeats"),
    [
        ("", 1),
        ("The house is small.", 1),
        ("It is what it is.", 1),
        ("Bye bye!", 1),
        ("No, no, no, no.", 4),
        ("NO! No. no?", 3),
        ("Ha ha ha ha ha!", 5),
        ("hahahaha", 4),
        ("Try, try, try again.", 3),
        ("10 10 10 10", 4),
        ("| 0 | 0 | 0 | 0 | 0 |", 5),
        ("0000011", 5),
        ("1,000,000,000", 3),
        ("255.255.255.0", 3),
        ("-----", 5),
        ("👍👍👍", 3),
        ("我很高兴我很高兴我很高兴", 3),
        ("I am so happy today! I am so happy today! I am so happy today!", 3),
    ],
)
def test_a_source_is_asked_how_often_in_a_row_it_repeats_something(source, repeats):
    assert source_repeats(source) == repeats


@pytest.mark.parametrize(
    "target",
    ["abcxxxxxx", "abcxyxyxyxy", "the cat the cat the cat ", "Sträträträträt", "nein, nein, nein, nein, nein, "],
)
def test_a_target_that_ends_in_a_loop_is_seen_at_its_tail_and_as_a_whole(target):
    assert tail_period(tokens(target), 1) > 0
    assert is_runaway(tokens(target), 1)


@pytest.mark.parametrize("target", ["", "a", "abcdef", "xxxxx", "nein nein", "ababab", "255.255.255", "hahaha"])
def test_what_translations_repeat_by_themselves_is_no_loop(target):
    assert tail_period(tokens(target), 1) == 0
    assert not is_runaway(tokens(target), 1)


def test_a_loop_that_ended_is_seen_in_the_whole_but_not_at_the_tail():
    target = tokens("das zeichenzeichenzeichenzeichen ist tot")
    assert is_runaway(target, 1)
    assert tail_period(target, 1) == 0


def test_honest_repetition_is_kept_and_more_than_that_is_not():
    assert not is_runaway(tokens("Nein, " * 8), source_repeats("No, no, no, no."))
    assert is_runaway(tokens("Nein, " * 30), source_repeats("No, no, no, no."))


def test_the_period_is_the_shortest():
    assert tail_period(tokens("xyxyxyxyxyxyxyxy"), 1) == 2
    assert tail_period(tokens("......................"), 1) == 1


def test_a_ban_stops_the_loop_and_allows_what_the_source_repeats():
    assert retry_ngram_size(tokens("abc" * 9), 1) == 3
    # Four copies of a period of three need an n-gram of ten not to be banned.
    assert retry_ngram_size(tokens("abc" * 9), 4) == 10
    assert retry_ngram_size(tokens("no loop"), 1) == 3


def test_a_cut_target_keeps_one_copy_or_as_many_as_the_source_has():
    assert cut("Teppppppppich") == "Tepich"
    assert cut("und so weiter, " * 3) == "und so weiter, "
    assert cut("ha" * 20, honest_repeats=3) == "hahaha"
    assert cut("plain") == "plain"


@given(TOKENS, REPEATS)
def test_a_loop_at_the_tail_is_a_runaway(target, honest_repeats):
    period = tail_period(target, honest_repeats)
    if period:
        assert is_runaway(target, honest_repeats)
        assert target[-period:] == target[-2 * period : -period] == target[-3 * period : -2 * period]


@given(TOKENS, st.lists(st.integers(0, 6), min_size=1, max_size=5), REPEATS)
def test_whatever_comes_before_a_long_loop_it_is_found(start, period, honest_repeats):
    assert tail_period(start + period * 13, honest_repeats) > 0


@given(TOKENS, REPEATS)
def test_a_cut_target_is_no_runaway_and_in_order(target, honest_repeats):
    places = kept_places(target, honest_repeats)
    assert places == sorted(set(places))
    assert not is_runaway([target[place] for place in places], honest_repeats)
    assert len(places) == len(target) or is_runaway(target, honest_repeats)
    assert bool(places) == bool(target)


@given(TOKENS)
def test_more_honest_repeats_never_find_more(target):
    found = [is_runaway(target, honest_repeats) for honest_repeats in range(1, 8)]
    assert found == sorted(found, reverse=True)


@given(st.text(max_size=80))
def test_any_text_repeats_at_least_once_and_not_more_than_it_is_long(text):
    assert 1 <= source_repeats(text) <= max(1, len(unicodedata.normalize("NFKC", text).casefold()))


def test_case_and_the_way_an_ellipsis_is_written_make_no_difference():
    assert source_repeats("Ha HA ha hA") == source_repeats("ha ha ha ha") == 4
    assert source_repeats("Wait……") == source_repeats("Wait......") == 6


@pytest.mark.parametrize("unit", ["a", "ab ", "no, ", "aaab", "\n", "的", "👍🏽 ", "a\u0301"])
def test_a_long_repetitive_text_takes_no_time_to_speak_of(unit):
    started = time.perf_counter()
    assert source_repeats(unit * (200_000 // len(unit))) > 1
    assert not is_runaway(range(100_000), 1)
    assert time.perf_counter() - started < 10
