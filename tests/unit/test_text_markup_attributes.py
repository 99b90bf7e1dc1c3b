"""Values inside tags that are read: which, and how they are read and written in each kind of quotes."""

from html import unescape

import pytest
from turbohtml import parse

from service.text.document import Placeholder, Segment
from service.text.markup.html import parse_html
from tests.doubles.markup_translators import all_segments, joined, told, unchanged, upper

NASTY = "\"'<b>&amp; =`\t\n\x00x"


def values(text: str) -> list[str]:
    document = parse_html(text, "en")
    assert joined(document, unchanged) == text
    return told(document)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<p title='Read me'></p>", ["Read me"]),
        ("<img alt=Dog>", ["Dog"]),
        ("<input placeholder='Your name'>", ["Your name"]),
        ("<textarea placeholder='Your text'>x y</textarea>", ["Your text"]),
        ("<a aria-label='Go home' href=a></a>", ["Go home"]),
        ("<i aria-description='An icon'></i>", ["An icon"]),
        ("<meta name=description content='A page.'><meta name=Keywords content='cat, dog'>", ["A page.", "cat, dog"]),
        ("<meta property='og:title' content='A page'><meta property='og:type' content='site'>", ["A page"]),
        ("<meta name=viewport content='width=1'><meta charset=utf content=x>", []),
        ("<optgroup label=Colours><option label=Red><track label=Dutch>", ["Colours", "Red", "Dutch"]),
        ("<input type=button value=Press><input type=RESET value=Clear>", ["Press", "Clear"]),
        ("<input type=submit value=Send><input value=text>", []),
        ("<link title=Blue><style title=Red></style><script title=x></script>", []),
        ("<p class=text id=text data-title=text lang=en href=text></p>", []),
        ("<p translate=no title=Word></p><p class=notranslate title=Word></p>", []),
        ("<p title></p><p title=''></p><p title='12'></p><p title>", []),
        ("<title>Page &amp; more</title>", ["Page & more"]),
        ("<svg aria-label=Close><g aria-label=Inner /></svg>", ["Close"]),
        ("<code title=Word>x</code>", ["Word"]),
    ],
)
def test_values_that_are_read_are_segments(text: str, expected: list[str]) -> None:
    assert values(text) == expected


def test_values_have_sentences_and_lines() -> None:
    assert values("<p title='One. Two.'></p>") == ["One.", "Two."]
    assert values("<p title=' One\n  two&#10;three '></p>") == ["One two three"]


def test_values_inside_a_sentence_travel_with_its_placeholders() -> None:
    document = parse_html("See <a title='Read &amp; go' href=x>the <img alt='A dog'> site</a> now", "en")
    (segment,) = document.parts
    assert isinstance(segment, Segment)
    opening, image = segment.items[1], segment.items[3]
    assert isinstance(opening, Placeholder)
    assert isinstance(image, Placeholder)
    assert [part.text for part in opening.parts] == ["<a title='", "Read &amp; go", "' href=x>"]
    assert [part.text for part in image.parts] == ["<img alt='", "A dog", "'>"]
    assert [one.text for one in all_segments(document)] == [segment.text, "Read &amp; go", "A dog"]
    assert joined(document, upper) == "SEE <a title='READ &amp; GO' href=x>THE <img alt='A DOG'> SITE</a> NOW"


def test_values_of_tags_that_became_one_atom_stay_in_it() -> None:
    text = "A <a title=One><img alt=Two></a><img alt=Three> dog"
    assert values(text) == [f"A ‹{text[2:-4]}› dog", "One", "Two", "Three"]
    assert joined(parse_html(text, "en"), upper) == "A <a title=ONE><img alt=TWO></a><img alt=THREE> DOG"


@pytest.mark.parametrize("quotes", ['"', "'", ""])
def test_what_a_model_writes_stays_inside_its_quotes(quotes: str) -> None:
    document = parse_html(f"<p id=a title={quotes}Word{quotes} lang=en>", "en")
    written = joined(document, lambda _: (NASTY,))
    (tag,) = parse(written).find_all("p")
    assert (tag.attrs["title"], tag.attrs["id"], tag.attrs["lang"]) == (NASTY.replace("\x00", "\ufffd"), "a", "en")


@pytest.mark.parametrize(
    "value",
    [
        "a&amp;b",
        "x&copy=1",
        "x&copyy",
        "x&copy; &nbsp;y",
        "a&notit;b",
        "&#65;&#x42;x",
        "a&b",
        "&bogus;x",
        "a&amp",
        "a&lt b",
    ],
)
def test_references_in_values_follow_their_own_rules(value: str) -> None:
    (tag,) = parse(f'<p title="{value}">').find_all("p")
    (segment,) = all_segments(parse_html(f'<p title="{value}">', "en"))
    assert "".join(map(str, segment.items)).strip() == tag.attrs["title"].strip()


@pytest.mark.parametrize(
    "tag",
    [
        "<p title='x\x00y'>",
        "<p title=a title=b>",
        "<p/title='Word'/alt=x>",
        "<p title = 'Word'>",
        "<p\ntitle='Word'\n>",
        "<p TITLE=Word>",
        "<p title=Wo'rd>",
        "<p =x title=Word>",
        "<p title='a' b=\">\" alt=Word/>",
    ],
)
def test_odd_tags_come_back_as_they_are(tag: str) -> None:
    assert values(f"{tag}x")[-1:] == ["x"]


def test_what_the_two_readings_disagree_on_is_left_alone() -> None:
    assert values("<p title='x\x00y'>") == []


def test_a_value_reads_the_same_after_it_was_written() -> None:
    text = "<p title=\"a &quot;b&quot; 'c' &lt;d&gt; &amp;amp;\">"
    once = joined(parse_html(text, "en"), upper)
    assert unescape(once) == unescape(text).upper().replace("<P TITLE", "<p title")
