"""ALL CAPS and Title Case: what is recognised, how it is written for the model, and what the translation gets back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.text.case import CaseKind, CasePattern, normalise, restore
from service.text.document import Placeholder

# Words of the vocabulary, each one piece as it stands here; others fall into pieces of two letters.
VOCABULARY = frozenset(
    "the house is small. please buy a new player of flour from my i'm sorry Tom London NASA quick brown over lazy "
    "office getting started with your no smoking live in warning open design mode us be careful i am here today this "
    "iPhone USA save water and".replace(".", "").split()
)
UPPER, TITLE, AS_IS = CaseKind.UPPER, CaseKind.TITLE, CaseKind.AS_IS
ITEMS = st.lists(
    st.text(min_size=1, max_size=30)
    | st.sampled_from(["THE HOUSE IS SMALL", "The Quick Brown Fox Jumps", "kB", "STRASSE", "ΌΛΟΙ ΟΙ ΆΝΘΡΩΠΟΙ", ". "])
    | st.builds(Placeholder, st.sampled_from(["{0}", "<b>", "KEEP me"])),
    min_size=1,
    max_size=6,
).map(tuple)
# Fragments of which some make a text ordinary and others headlines or capitals.
WRITTEN = st.lists(
    st.sampled_from(
        [
            "Old",
            "HOUSE",
            "house",
            "walking",
            "a",
            "with",
            "SMALL.",
            "don't",
            "kB",
            "STRASSE",
            "straße",
            "ΌΛΟΙ",
            "όλοι",
            "(NEW)",
            "x_y",
        ]
    )
    | st.text(max_size=8),
    max_size=24,
).map(" ".join)
LANGUAGES = st.sampled_from(["en", "de", "tr", "el", "nl", "zh", "ka"])


def count_pieces(word):
    return 1 if word in VOCABULARY else (len(word) + 1) // 2


def normal(text, language="en"):
    (changed,), pattern = normalise((text,), language, count_pieces)
    return changed, pattern.kind


def restored(text, kind, language, own=()):
    return "".join(restore((text,), CasePattern(kind, frozenset(own)), language))


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("THE HOUSE IS SMALL.", "The house is small."),
        ("NO SMOKING", "No smoking"),
        ("WARNING!", "Warning!"),
        ("«WARNING»", "«Warning»"),
        ("I'M SORRY, TOM. I AM HERE.", "I'm sorry, Tom. I am here."),
        ("I LIVE IN LONDON", "I live in London"),
        ("NASA IS IN THE USA", "NASA is in the USA"),
        ("BUY A NEW DVD PLAYER", "Buy a new DVD player"),
        ("BUY 20 kg OF FLOUR FROM MY HOUSE", "Buy 20 kg of flour from my house"),
        ("SAVE 5 kB WITH YOUR NEW iPhone", "Save 5 kB with your new iPhone"),
        ("THE MP3 PLAYER IS NEW", "The MP3 player is new"),
        ("OPEN THE MY_FILE TODAY", "Open the MY_FILE today"),
    ],
)
def test_capitals_are_written_as_the_vocabulary_has_the_words(text, written):
    assert normal(text) == (written, UPPER)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "OK",
        "USA",
        "NASA",
        "HTTP API",
        "IBM PC",
        "SUMIFS",
        "I",
        "A",
        "123",
        "The house is small.",
        "the house",
        "NASA and ESA are here",
        "请使用 HTTP API JSON XML",
        "МГУ",
        "iPhone",
        "kB",
        "House",
        "Tom Lives",
        "John Smith",
        "John Fitzgerald Kennedy",
        "The house of Tom London is small today",
    ],
)
def test_what_is_no_sentence_in_capitals_and_no_headline_stays(text):
    assert normal(text) == (text, AS_IS)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("The Quick Brown House Is Small", "The quick brown house is small"),
        ("Getting Started With Your iPhone", "Getting started with your iPhone"),
        ("Open the Office in London Today", "Open the office in London today"),
        ("Be Careful With Brzeszcz and Tom", "Be careful with Brzeszcz and Tom"),
    ],
)
def test_a_headline_is_written_as_a_sentence_but_for_names(text, written):
    assert normal(text) == (written, TITLE)


def test_a_language_whose_nouns_have_capitals_has_no_headlines():
    text = "Große Häuser Kleiner Leute"
    assert normal(text, "de") == (text, AS_IS)


def test_the_small_i_of_turkish_has_no_dot_when_its_capital_had_none():
    assert normal("KIRMIZI DİKKAT İÇİN", "tr")[0] == "Kırmızı dikkat için"


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("Das Haus ist klein.", "de", "DAS HAUS IST KLEIN."),
        ("Die Straße", "de", "DIE STRASSE"),
        ("iyi ışık", "tr", "İYİ IŞIK"),
        ("iyi", "de", "IYI"),
        ("Καλημέρα, προϊόν", "el", "ΚΑΛΗΜΕΡΑ, ΠΡΟΪΟΝ"),
        ("Добрый день", "ru", "ДОБРЫЙ ДЕНЬ"),
        ("小房子", "zh", "小房子"),
        ("البيت صغير", "ar", "البيت صغير"),
        ("სახლი", "ka", "სახლი"),
    ],
)
def test_capitals_are_restored_as_the_target_language_writes_them(text, language, expected):
    assert restored(text, UPPER, language) == expected


def test_words_with_a_case_of_their_own_keep_it():
    assert restored("Sparen Sie 5 kB mit dem iPhone", UPPER, "de", {"kB", "iPhone"}) == "SPAREN SIE 5 kB MIT DEM iPhone"


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("the house of the old man", "en", "The House of the Old Man"),
        ("getting started. the basics", "en", "Getting Started. The Basics"),
        ("erste Schritte mit dem Haus", "de", "Erste Schritte mit dem Haus"),
        ("ijs eten", "nl", "IJs eten"),
        ("ışık ve iyi", "tr", "Işık ve iyi"),
        ("小房子", "zh", "小房子"),
    ],
)
def test_headlines_are_restored_where_the_target_language_has_them(text, language, expected):
    assert restored(text, TITLE, language) == expected


def test_the_pattern_is_of_the_whole_segment_and_placeholders_are_no_part_of_it():
    tag = Placeholder("<b>", "open", 1)
    end = Placeholder("</b>", "close", 1)
    file = Placeholder("{FILE_name}")
    items = ("THE ", tag, "HOUSE", end, " OF ", file, " IS SMALL. NO SMOKING")
    written, pattern = normalise(items, "en", count_pieces)
    assert written == ("The ", tag, "house", end, " of ", file, " is small. No smoking")
    assert restore(written, pattern, "en") == items


def test_the_first_word_begins_a_sentence_behind_a_placeholder_too():
    assert normalise((Placeholder("☺"), " NO SMOKING"), "en", count_pieces)[0] == (Placeholder("☺"), " No smoking")


@given(ITEMS, LANGUAGES)
def test_normalising_changes_nothing_but_case_and_no_placeholder(items, language):
    written, pattern = normalise(items, language, count_pieces)
    assert len(written) == len(items)
    for before, after in zip(items, written, strict=True):
        if isinstance(before, Placeholder):
            assert after is before
        elif language != "tr":
            assert after.casefold() == before.casefold()
    if pattern.kind is AS_IS:
        assert written == items


@given(ITEMS, st.sampled_from(CaseKind), LANGUAGES)
def test_restoring_keeps_placeholders_and_empties_nothing(items, kind, language):
    after = restore(items, CasePattern(kind), language)
    assert [item for item in after if isinstance(item, Placeholder)] == [i for i in items if isinstance(i, Placeholder)]
    assert [bool(item) for item in after] == [bool(item) for item in items]
    assert kind is not AS_IS or after == items


@given(ITEMS, LANGUAGES)
def test_restoring_twice_is_restoring_once(items, language):
    once = restore(items, CasePattern(UPPER), language)
    assert restore(once, CasePattern(UPPER), language) == once


@pytest.mark.parametrize("unit", ["A", "WORD ", "Word Here ", "'", "A'", ". ", "...", "é\u0301", "Σ"])
@pytest.mark.timeout(20)
def test_a_long_repetitive_text_takes_no_time_to_speak_of(unit):
    text = unit * (200_000 // len(unit))
    written, pattern = normalise((text,), "en", count_pieces)
    assert len("".join(restore(written, pattern, "en"))) >= len(text)


@given(WRITTEN, LANGUAGES)
def test_a_text_that_looks_ordinary_at_first_sight_is_so_word_by_word(text, language):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("service.text.case._is_ordinary", lambda text: False)
        word_by_word = normalise((text,), language, count_pieces)
    assert normalise((text,), language, count_pieces) == word_by_word
