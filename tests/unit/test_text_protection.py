"""What is protected inside a text, what is left to be translated, and how long finding it takes."""

import time

import pytest

from service.text.digits import check_digits
from service.text.document import Placeholder, Span
from service.text.protection import protect


def everything(text: str) -> bool:
    return True


def protected(text: str, unknown: str = "") -> list[str]:
    items = protect(text, lambda part: not set(part) & set(unknown))
    assert "".join(item if isinstance(item, str) else item.text for item in items) == text
    return [item.text for item in items if isinstance(item, Placeholder)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Visit https://example.com/a?b=1, or www.x.org.", ["https://example.com/a?b=1", "www.x.org"]),
        ("(See http://a.b/c_(d).)", ["http://a.b/c_(d)"]),
        ("Mail me@x.org now.", ["me@x.org"]),
        (
            "{{a.b}} {0} {name} %1$s %d ${x} <<x>> $VAR",
            ["{{a.b}}", "{0}", "{name}", "%1$s", "%d", "${x}", "<<x>>", "$VAR"],
        ),
        ("{n, plural, one {# item} other {# items}} left", ["{n, plural, one {# item} other {# items}}"]),
        ("Edit /etc/ssh/sshd_config and C:\\Temp\\a.txt.", ["/etc/ssh/sshd_config", "C:\\Temp\\a.txt"]),
        ("Run `git push` or ``a`b``.", ["`git push`", "``a`b``"]),
        ("Version v2.1.3 or 1.2.3 fixes ABC-123.", ["v2.1.3", "1.2.3", "ABC-123"]),
        ("Say /həˈloʊ/ or [ˈhaʊs].", ["/həˈloʊ/", "[ˈhaʊs]"]),
        ("#tag by @me :smile:", ["#tag", "@me", ":smile:"]),
        ("I ❤️ 👨‍👩‍👧‍👦 and 🇩🇪 1️⃣ 👍🏽", ["❤️", "👨‍👩‍👧‍👦", "🇩🇪", "1️⃣", "👍🏽"]),
        ("Read src/main/app.py or README.md. Use .NET.", ["src/main/app.py", "README.md", ".NET"]),
        ("The pH of an iPhone in kB", ["pH", "iPhone", "kB"]),
        ("See {a}/{b}, file{n}.txt and {n}th.", ["{a}/{b}", "file{n}.txt", "{n}th"]),
        ('Click <a href="https://x">here</a> as <user>', ['<a href="https://x">', "</a>", "<user>"]),
    ],
)
def test_what_is_the_same_in_every_language_is_protected(text: str, expected: list[str]) -> None:
    assert protected(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "100% of the 50% discount on 12.11.2023 for 1.234.567 people",
        "Tom & Jerry like AT&T, and/or he/she; e.g. this, i.e. that.",
        "It costs $5 in 3D, H2O, 250GB, the 1990s, 3.14, 10:30.",
        "A well-known a <b and c> - dash. Don't!",
    ],
)
def test_ordinary_text_stays_text(text: str) -> None:
    assert protected(text) == []


def test_what_the_vocabulary_cannot_express_is_protected_by_words_and_signs() -> None:
    text = "The word привет from Beyoncé, AT&T — ✓"
    assert protected(text, "приветé&—") == ["привет", "Beyoncé", "AT&T", "—", "✓"]


def test_a_full_stop_without_a_space_parts_an_unknown_word_from_the_next() -> None:
    assert protected("black。The", "。") == ["。"]


def test_marked_stretches_are_protected_exactly() -> None:
    assert protect("Buy ACME now", everything, [Span(4, 8)]) == ("Buy ", Placeholder("ACME", shown="ACME"), " now")


def test_pictures_are_no_words_of_their_sentence() -> None:
    assert protect("Hi 😀", everything) == ("Hi ", Placeholder("😀"))


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "a.",
        "a-",
        "a/",
        "{",
        "{{",
        "%",
        "$",
        "<a b='",
        "`",
        "\\",
        "a@",
        "#a",
        "1.",
        "[",
        "&#",
        "--a",
        "{a,plural{",
        "{}.a.",
    ],
)
def test_time_stays_in_proportion_to_the_text(unit: str) -> None:
    started = time.process_time()
    protect(unit * (40_000 // len(unit)), str.isascii)
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("source", "target", "kept"),
    [
        ("1,234.56", "1.234,56", True),
        ("1,000,000 x", "1 000 000 x", True),
        ("12/25/2023", "25.12.2023", True),
        ("5 and 10", "10 und 5", True),
        ("٣٤", "34", True),
        ("5", "fünf", False),
        ("7", "17", False),
        ("1 5", "15", False),
        ("none", "1", True),
    ],
)
def test_numbers_survive_with_other_separators_in_any_order(source: str, target: str, kept: bool) -> None:
    assert check_digits(source, target) is kept
