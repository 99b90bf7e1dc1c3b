"""Segmentation by example: what becomes a segment, what stays a gap, and where sentences end."""

import time

import pytest

from service.text.document import Gap, Placeholder, Segment, Span
from service.text.segmentation import SegmentationOptions, is_translatable, join, segment


def segments_of(text: str, language: str = "en") -> list[str]:
    return [part.text for part in segment(text, language).parts if isinstance(part, Segment)]


def gaps_of(text: str, language: str = "en") -> list[str]:
    return [part.text for part in segment(text, language).parts if isinstance(part, Gap)]


def test_two_sentences_become_two_segments_with_the_space_between_as_a_gap() -> None:
    assert segment("One day. Another day.", "en").parts == (
        Segment("One day.", Span(0, 8)),
        Gap(" "),
        Segment("Another day.", Span(9, 21)),
    )


def test_spans_count_code_points_even_behind_emoji() -> None:
    text = "Hi 👩‍👩‍👧 there. Bye."
    for part in segment(text, "en").parts:
        if isinstance(part, Segment):
            assert text[part.span.start : part.span.end] == part.text
    assert segments_of(text) == ["Hi 👩‍👩‍👧 there.", "Bye."]


def test_an_empty_document_has_no_parts() -> None:
    assert segment("", "en").parts == ()


@pytest.mark.parametrize("text", [" ", "-", "\n\n", "3.5", "16.", "* * *", "{ }", "✓", "👍👍", "\u0301", "Ⅷ", "①", "…"])
def test_a_document_without_a_letter_is_one_gap(text: str) -> None:
    assert segment(text, "en").parts == (Gap(text),)


@pytest.mark.parametrize(
    "line_break",
    ["\n", "\r\n", "\r", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029", "\n\n", "\r\n\r\n"],
)
def test_every_kind_of_line_break_is_a_gap_even_inside_a_sentence(line_break: str) -> None:
    assert segment(f"first half{line_break}second half", "en").parts == (
        Segment("first half", Span(0, 10)),
        Gap(line_break),
        Segment("second half", Span(10 + len(line_break), 21 + len(line_break))),
    )


@pytest.mark.parametrize(
    "space", [" ", "\t", "\xa0", "\u3000", "\u200b", "\ufeff", "\u2060", "\u202f", "\x1f", " \t \xa0"]
)
def test_white_space_around_a_line_is_a_gap(space: str) -> None:
    assert segment(f"{space}Word{space}", "en").parts == (
        Gap(space),
        Segment("Word", Span(len(space), len(space) + 4)),
        Gap(space),
    )


@pytest.mark.parametrize(
    "mark",
    [
        *("- ", "* ", "+ ", "• ", "– ", "1. ", "12) ", "(3) ", "a) ", "(b) ", "> ", "- [x] ", "- 1.\t", "•\xa0"),
        *("1.1. ", "2.10.3) ", "II. ", "IV) ", "XII. "),
    ],
)
def test_a_list_mark_before_text_is_a_gap(mark: str) -> None:
    assert segment(f"  {mark}Milk and bread", "en").parts == (
        Gap(f"  {mark}"),
        Segment("Milk and bread", Span(2 + len(mark), 16 + len(mark))),
    )


@pytest.mark.parametrize(
    "text", ["-5 degrees", "A. Smith came", "3.5 litres of milk", "(see below) Word", "V. Putin came", "IV fluids help"]
)
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
        ("en", "See vol. 3, ch. 2, eq. 6 and no. 7."),
        ("fr-CA", "La Gaule est conquise en 50 av. J.-C."),
        ("fr", "Vers 4 av. J.-C. à Bethléem."),
        ("fr", "Le Dr. House, Mme. Dupont et J.-J. Rousseau mangent."),
        ("es", "El año 44 a. C. y el 50 d. C. pasaron."),
        ("it", "Nel 44 a.C. morì."),
        ("pt", "No ano 44 a.C. morreu."),
        ("nl", "Hij zag mevr. de Vries, d.w.z. haar."),
        ("pl", "W 44 r. p.n.e. umarł."),
        ("ru", "В 5 г. до н. э. был г. Москва."),
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
        ("fr", ["La Gaule est conquise en 50 av. J.-C.", "Les Romains arrivent."]),
        ("en", ["Version 2.0.1 is out.", "It costs $3.50.", "He is so.", "5 men came."]),
        ("en", ["Wait… what?", "In the U.S.", "It rained."]),
        ("xx", ["An unknown language.", "Still two sentences."]),
        ("", ["No language.", "Still two sentences."]),
    ],
)
def test_sentences_end_where_a_reader_ends_them(language: str, sentences: list[str]) -> None:
    assert segments_of(" ".join(sentences), language) == sentences


def test_chinese_sentences_end_without_spaces() -> None:
    assert segments_of("你好。我们去公园！你呢？", "zh") == ["你好。", "我们去公园！", "你呢？"]


def test_white_space_takes_the_marks_that_combine_with_it_along() -> None:
    assert segment("One. \u0301\u0302 Two. \u0301", "en").parts == (
        Segment("One.", Span(0, 4)),
        Gap(" \u0301\u0302 "),
        Segment("Two.", Span(8, 12)),
        Gap(" \u0301"),
    )


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r", "\x85", "\u2028", "  \n\t"])
def test_wrapped_lines_are_joined_on_request_and_their_break_is_a_space(line_break: str) -> None:
    text = f"The house{line_break}is small. It is{line_break}old.{line_break}Really."
    joined = SegmentationOptions("nonewlines")
    segments = [part for part in segment(text, "en", joined).parts if isinstance(part, Segment)]
    assert [part.items for part in segments] == [("The house is small.",), ("It is old.",), ("Really.",)]
    assert [part.text for part in segments][:2] == [f"The house{line_break}is small.", f"It is{line_break}old."]
    assert join(segment(text, "en", joined).parts) == text


@pytest.mark.parametrize("split_sentences", ["on", "off", "nonewlines"])
@pytest.mark.parametrize("between", ["\t", "\t\t", "   ", " \t "])
def test_columns_of_a_table_keep_the_white_space_between_them(split_sentences, between: str) -> None:
    parts = segment(f"Name{between}Age of dog", "en", SegmentationOptions(split_sentences)).parts
    assert [part.text for part in parts] == ["Name", between, "Age of dog"]


def test_nothing_stands_between_joined_lines_of_a_script_without_spaces() -> None:
    (part,) = segment("我们今天\n去公园。", "zh", SegmentationOptions("nonewlines")).parts
    assert isinstance(part, Segment)
    assert part.items == ("我们今天去公园。",)


@pytest.mark.parametrize("split_sentences", ["off", "nonewlines"])
@pytest.mark.parametrize(
    "between", ["\n\n", "\n \n", "\n- ", "\n2. ", "\f", "\u2029", "\n---\n", "\n```\nx = y\n```\n"]
)
def test_blank_lines_list_marks_and_rules_end_a_paragraph(split_sentences, between: str) -> None:
    parts = segment(f"The house{between}is small", "en", SegmentationOptions(split_sentences)).parts
    assert [part.text for part in parts] == ["The house", between, "is small"]


def test_without_splitting_a_paragraph_is_one_segment_whose_line_breaks_are_kept() -> None:
    (part,) = segment("One. Two,\n  three. Four", "en", SegmentationOptions("off")).parts
    assert isinstance(part, Segment)
    assert part.items == ("One. Two,", Placeholder("\n  "), "three. Four")


def test_a_block_of_code_is_a_gap_and_an_open_fence_is_none() -> None:
    text = "Do this.\n```python\nif a:\n    print('Hello. World.')\n```\nThen that.\n"
    assert [part.text for part in segment(text, "en").parts] == [
        "Do this.",
        "\n```python\nif a:\n    print('Hello. World.')\n```\n",
        "Then that.",
        "\n",
    ]
    assert segments_of("Do this.\n```\nThen that.") == ["Do this.", "Then that."]
    assert segments_of("~~~~\nCode\n~~~\nCode\n~~~~~\nText") == ["Text"]


def marked(text: str) -> tuple[str | Placeholder, ...]:
    """Protects what stands between hash marks."""
    pieces = text.split("#")
    return tuple(Placeholder(f"#{piece}#") if index % 2 else piece for index, piece in enumerate(pieces) if piece)


def test_no_sentence_ends_inside_a_placeholder_and_one_alone_is_a_gap() -> None:
    text = "Run #a. B c. D# now. It works. #Really. Yes#. Fine #x#."
    parts = segment(text, "en", SegmentationOptions(protect=marked)).parts
    assert [part.text for part in parts] == ["Run #a. B c. D# now.", " ", "It works.", " #Really. Yes#. ", "Fine #x#."]
    assert [part.items for part in parts if isinstance(part, Segment)] == [
        ("Run ", Placeholder("#a. B c. D#"), " now."),
        ("It works.",),
        ("Fine ", Placeholder("#x#"), "."),
    ]


@pytest.mark.parametrize("split_sentences", ["on", "off", "nonewlines"])
@pytest.mark.parametrize(
    "unit", ["a", "a ", "a. ", "- ", "1. ", "\n", "a\n", " ", "\t", "```\n", "\u0301", " \u0301", "a\t", "II. ", "."]
)
def test_time_is_in_proportion_to_the_length_of_a_text(split_sentences, unit: str) -> None:
    text = "word" + unit * (200_000 // len(unit)) + "word"
    started = time.process_time()
    assert join(segment(text, "en", SegmentationOptions(split_sentences)).parts) == text
    assert time.process_time() - started < 20


def test_a_sentence_without_letters_joins_the_gap_around_it() -> None:
    assert segment("Great. 👍 !!! Bye.", "en").parts == (
        Segment("Great.", Span(0, 6)),
        Gap(" 👍 !!! "),
        Segment("Bye.", Span(13, 17)),
    )


@pytest.mark.parametrize("text", ["Plan B\xa0.", "A\u3000.", "J\u2009. R."])
@pytest.mark.parametrize("language", ["en", "de", "fr", "es", "zh", "xx"])
def test_a_capital_and_a_full_stop_around_an_odd_space_do_not_stop_the_service(text: str, language: str) -> None:
    assert join(segment(text, language).parts) == text


def test_a_lone_surrogate_is_kept_and_its_line_is_one_segment() -> None:
    text = "One \ud800. Two.\nThree. Four."
    assert join(segment(text, "en").parts) == text
    assert segments_of(text) == ["One \ud800. Two.", "Three.", "Four."]


@pytest.mark.parametrize("text", ["a", "Ä", "字", "ア", "أ", "ª", "ʰ", "𝐀", "7 km", "…x"])
def test_a_text_with_a_letter_is_translatable(text: str) -> None:
    assert is_translatable(text)


@pytest.mark.parametrize("text", ["", " ", "42", "½", "Ⅷ", "①", "〇", "👍", "❤️", "$", "\u0301", "--", "🇩🇪"])
def test_a_text_without_a_letter_is_not_translatable(text: str) -> None:
    assert not is_translatable(text)
