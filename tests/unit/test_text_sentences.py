"""The guard around the splitting library: what it raises never reaches a caller, what others raise does."""

import time
from collections.abc import Callable
from itertools import pairwise

import pytest
import sentencex

from service.text.sentences import sentence_ends


class PanicException(BaseException):
    """Stands for the exception of the same name, which cannot be imported."""


def raising(error: BaseException) -> Callable[[str, str], list[str]]:
    def segment(language: str, text: str) -> list[str]:
        raise error

    return segment


@pytest.mark.parametrize("error", [PanicException("byte index"), UnicodeError("surrogate"), TypeError("text")])
def test_a_line_the_library_fails_on_is_one_sentence(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    monkeypatch.setattr(sentencex, "segment", raising(error))
    assert sentence_ends("One. Two.", "en") == [9]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(1), GeneratorExit()])
def test_a_call_to_stop_is_not_taken_for_a_panic(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    monkeypatch.setattr(sentencex, "segment", raising(error))
    with pytest.raises(type(error)):
        sentence_ends("One. Two.", "en")


def test_pieces_that_do_not_add_up_to_the_line_are_not_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentencex, "segment", lambda language, text: ["One.", "Two."])
    assert sentence_ends("One. Two.", "en") == [9]


def test_the_library_never_sees_a_space_outside_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def segment(language: str, text: str) -> list[str]:
        seen.append(text)
        return [text]

    monkeypatch.setattr(sentencex, "segment", segment)
    spaces = "\x85\xa0\u1680\u2000\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
    assert sentence_ends(f"B{spaces}.", "en") == [len(spaces) + 2]
    assert seen == ["B" + " " * len(spaces) + "."]


def test_a_year_or_a_long_number_ends_a_german_sentence() -> None:
    assert sentence_ends("Es war 1985. Dann kam er.", "de") == [13, 25]


def test_an_ordinal_right_before_wide_white_space_is_still_an_ordinal() -> None:
    line = "Im 16." + " " * 40 + "Jahrhundert."
    assert sentence_ends(line, "de") == [len(line)]


def test_the_german_rule_does_not_hold_for_english() -> None:
    assert sentence_ends("He was 16. Then he left.", "en") == [11, 24]


def test_a_long_line_is_cut_as_its_sentences_are() -> None:
    sentences = [f"This is sentence number {number} of them. " for number in range(1_000)]
    line = "".join(sentences)
    starts = [0, *sentence_ends(line, "en")]
    assert [line[start:end] for start, end in pairwise(starts)] == sentences


@pytest.mark.parametrize("unit", ["`", "![", "“", "«", "'", "(", ". ", "A. ", '" ', "a"])
def test_time_is_in_proportion_to_the_length_of_a_line(unit: str) -> None:
    line = "word " + unit * (200_000 // len(unit)) + " word"
    started = time.process_time()
    assert sentence_ends(line, "en")[-1] == len(line)
    assert time.process_time() - started < 20
