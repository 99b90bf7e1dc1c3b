"""Segmentation by example: what becomes a segment, what stays a gap, and where sentences end."""

import pytest

from service.text.segmentation import Gap, Segment, Span, is_translatable, join, segment


def segments_of(text: str, language: str = "en") -> list[str]:
    return [part.text for part in segment(text, language) if isinstance(part, Segment)]


def gaps_of(text: str, language: str = "en") -> list[str]:
    return [part.text for part in segment(text, language) if isinstance(part, Gap)]


def test_two_sentences_become_two_segments_with_the_space_between_as_a_gap() -> None:
    assert segment("One day. Another day.", "en") == (
        Segment("One day.", Span(0, 8)),
        Gap(" "),
        Segment("Another day.", Span(9, 21)),
    )


def test_spans_count_code_points_even_behind_emoji() -> None:
    text = "Hi 👩‍👩‍👧 there. Bye."
    for part in segment(text, "en"):
        if isinstance(part, Segment):
            assert text[part.span.start : part.span.end] == part.text
    assert segments_of(text) == ["Hi 👩‍👩‍👧 there.", "Bye."]


def test_an_empty_document_has_no_parts() -> None:
    assert segment("", "en") == ()


@pytest.mark.parametrize("text", [" ", "-", "\n\n", "3.5", "16.", "* * *", "{ }", "✓", "👍👍", "\u0301", "Ⅷ", "①", "…"])
def test_a_document_without_a_letter_is_one_gap(text: str) -> None:
    assert segment(text, "en") == (Gap(text),)


@pytest.mark.parametrize(
    "line_break",
    ["\n", "\r\n", "\r", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029", "\n\n", "\r\n\r\n"],
)
def test_every_kind_of_line_break_is_a_gap_even_inside_a_sentence(line_break: str) -> None:
    assert segment(f"first half{line_break}second half", "en") == (
        Segment("first half", Span(0, 10)),
        Gap(line_break),
        Segment("second half", Span(10 + len(line_break), 21 + len(line_break))),
    )


@pytest.mark.parametrize(
    "space", [" ", "\t", "\xa0", "\u3000", "\u200b", "\ufeff", "\u2060", "\u202f", "\x1f", " \t \xa0"]
)
def test_white_space_around_a_line_is_a_gap(space: str) -> None:
    assert segment(f"{space}Word{space}", "en") == (
        Gap(space),
        Segment("Word", Span(len(space), len(space) + 4)),
        Gap(space),
    )


@pytest.mark.parametrize(
    "mark", ["- ", "* ", "+ ", "• ", "– ", "1. ", "12) ", "(3) ", "a) ", "(b) ", "> ", "- [x] ", "- 1.\t", "•\xa0"]
)
def test_a_list_mark_before_text_is_a_gap(mark: str) -> None:
    assert segment(f"  {mark}Milk and bread", "en") == (
        Gap(f"  {mark}"),
        Segment("Milk and bread", Span(2 + len(mark), 16 + len(mark))),
    )


@pytest.mark.parametrize("text", ["-5 degrees", "A. Smith came", "3.5 litres of milk", "(see below) Word"])
def test_what_only_looks_like_a_list_mark_stays_in_the_sentence(text: str) -> None:
    assert segments_of(text) == [text]


def test_a_mark_is_no_list_mark_when_nothing_with_letters_follows() -> None:
    assert segments_of("a) 5") == ["a) 5"]


@pytest.mark.parametrize("line", ["3. Oktober 1990", "16. Jahrhundert", "1. Mai und 2. Mai"])
def test_a_german_ordinal_at_the_start_of_a_line_is_no_list_mark(line: str) -> None:
    assert segments_of(line, "de") == [line]


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("en", "Dr. Smith met Mrs. Jones."),
        ("en", "It weighs 3.5 kg or 1,000.25 pounds."),
        ("en", "Install v1.2.3 from example.com today."),
        ("en", "He waited... and waited… and left."),
        ("en", "J. R. R. Tolkien wrote it."),
        ("de", "Die Stadt wurde im 16. Jahrhundert gebaut."),
        ("de-AT", "Der 1. FC spielt am 3. Oktober."),
        ("de_DE", "Das ist z.B. ein Satz."),
        ("fr", "M. Dupont et MM. Durand lisent l'art. 3 du code."),
        ("fr-CA", "La Gaule est conquise en 50 av. J.-C."),
    ],
)
def test_a_full_stop_inside_a_sentence_does_not_end_it(language: str, sentence: str) -> None:
    assert segments_of(sentence, language) == [sentence]


@pytest.mark.parametrize(
    ("language", "sentences"),
    [
        ("en", ["He left.", "She stayed!", "Why?", "Nobody knows…"]),
        ("en", ['He said "No. Never." and went.', "She stayed."]),
        ("de", ["Das war 1985.", "Dann kam er.", "Version 3.5.", "Ende."]),
        ("fr", ["Il est parti.", "Voilà !", "Fin."]),
        ("xx", ["An unknown language.", "Still two sentences."]),
        ("", ["No language.", "Still two sentences."]),
    ],
)
def test_sentences_end_where_a_reader_ends_them(language: str, sentences: list[str]) -> None:
    assert segments_of(" ".join(sentences), language) == sentences


def test_chinese_sentences_end_without_spaces() -> None:
    assert segments_of("你好。我们去公园！你呢？", "zh") == ["你好。", "我们去公园！", "你呢？"]


def test_a_sentence_without_letters_joins_the_gap_around_it() -> None:
    assert segment("Great. 👍 !!! Bye.", "en") == (
        Segment("Great.", Span(0, 6)),
        Gap(" 👍 !!! "),
        Segment("Bye.", Span(13, 17)),
    )


@pytest.mark.parametrize("text", ["Plan B\xa0.", "A\u3000.", "J\u2009. R."])
@pytest.mark.parametrize("language", ["en", "de", "fr", "es", "zh", "xx"])
def test_a_capital_and_a_full_stop_around_an_odd_space_do_not_stop_the_service(text: str, language: str) -> None:
    assert join(segment(text, language)) == text


def test_a_lone_surrogate_is_kept_and_its_line_is_one_segment() -> None:
    text = "One \ud800. Two.\nThree. Four."
    assert join(segment(text, "en")) == text
    assert segments_of(text) == ["One \ud800. Two.", "Three.", "Four."]


@pytest.mark.parametrize("text", ["a", "Ä", "字", "ア", "أ", "ª", "ʰ", "𝐀", "7 km", "…x"])
def test_a_text_with_a_letter_is_translatable(text: str) -> None:
    assert is_translatable(text)


@pytest.mark.parametrize("text", ["", " ", "42", "½", "Ⅷ", "①", "〇", "👍", "❤️", "$", "\u0301", "--", "🇩🇪"])
def test_a_text_without_a_letter_is_not_translatable(text: str) -> None:
    assert not is_translatable(text)
