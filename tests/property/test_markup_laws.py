"""Laws of markup: whatever the source and whatever a translator does, tags stay what and where they were.

Soups are random pieces of tags, pages are well-formed and know which of their words are for translation.
"""

import re
import time
from collections import Counter
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from turbohtml import parse

from service.errors import InvalidRequestError
from service.text.document import Document, Gap, Segment
from service.text.markup.html import parse_html
from service.text.markup.html_elements import level
from service.text.markup.html_tokens import html_tokens
from service.text.markup.tokens import TokenKind
from service.text.markup.xml import parse_xml
from service.text.markup.xml_tokens import xml_tokens
from service.text.segmentation import SegmentationOptions
from service.text.spaces import LINE_BREAKS, WHITE_SPACE
from tests.doubles.markup_pages import Page, page, soup
from tests.doubles.markup_translators import Translate, all_segments, joined, mangling, one_word, unchanged, upper

deterministic = settings(derandomize=True, max_examples=200, deadline=None)

LANGUAGES = st.sampled_from(["en", "de", "zh", "ja", ""])
OPTIONS = st.builds(SegmentationOptions, st.sampled_from(["on", "off", "nonewlines"]))
SEEDS = st.integers(0, 2**32)
SOUPS = SEEDS.map(soup)
PAGES = SEEDS.map(page)
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]))


def assert_lawful(document: Document, text: str) -> None:
    assert "".join(part.text for part in document.parts) == text
    assert all(part.text for part in document.parts)
    assert not any(isinstance(one, Gap) and isinstance(two, Gap) for one, two in pairwise(document.parts))
    for segment in all_segments(document):
        assert text[segment.span.start : segment.span.end] == segment.text
        assert segment.text.strip(WHITE_SPACE) == segment.text
        assert_sound(segment)


def assert_sound(segment: Segment) -> None:
    strings = [item for item in segment.items if isinstance(item, str)]
    assert any(char.isalpha() for string in strings for char in string)
    assert all(string and LINE_BREAKS.search(string) is None for string in strings)
    assert not any(isinstance(one, str) and isinstance(two, str) for one, two in pairwise(segment.items))
    assert (
        segment.items[0] == segment.items[0]
        if not isinstance(segment.items[0], str)
        else segment.items[0][0] not in WHITE_SPACE
    )
    opened: list[tuple[int, int]] = []
    position = seen = 0
    pairs: set[int] = set()
    for item in segment.items:
        if isinstance(item, str):
            seen += bool(item.strip(WHITE_SPACE))
            continue
        position = segment.text.index(item.text, position) + len(item.text)
        assert "".join(part.text for part in item.parts) in ("", item.text)
        if item.kind == "open":
            assert item.pair not in pairs
            pairs.add(item.pair)
            opened.append((item.pair, seen))
        elif item.kind == "close":
            pair, before = opened.pop()
            assert pair == item.pair
            assert seen > before, "a pair without text is one atom"
    assert not opened


def tags(text: str) -> Counter[tuple[str, ...]]:
    """Every tag with the names of its attributes, and every comment."""
    found: Counter[tuple[str, ...]] = Counter()
    for token in html_tokens(text):
        if token.kind in (TokenKind.START, TokenKind.END):
            found[token.kind.value, token.name, *token.attributes] += 1
        elif token.kind in (TokenKind.OTHER, TokenKind.ENTITY, TokenKind.REST):
            found[token.kind.value, text[token.start : token.end]] += 1
    return found


def structure(text: str) -> list[tuple[TokenKind, str]]:
    return [
        (token.kind, token.name)
        for token in html_tokens(text)
        if token.kind in (TokenKind.START, TokenKind.END) and level(token.name)
    ]


def skeleton(text: str) -> list[str]:
    """The blocks of the page that a browser makes of a text."""
    found: list[str] = []

    def walk(node) -> None:
        name = getattr(node, "tag", None)
        found.extend([f"<{name}"] if name and level(name) else [])
        for child in node.children:
            walk(child)
        found.extend([">"] if name and level(name) else [])

    walk(parse(text))
    return found


def assert_same_markup(written: str, text: str) -> None:
    assert tags(written) == tags(text)
    assert structure(written) == structure(text)
    assert skeleton(written) == skeleton(text)


TRANSLATORS = st.sampled_from([upper, one_word]) | SEEDS.map(mangling)


@deterministic
@given(SOUPS | ANY_TEXT, LANGUAGES, OPTIONS)
@example("x</><!", "en", SegmentationOptions())
def test_any_text_is_html_and_comes_back_as_it_was(text: str, language: str, options: SegmentationOptions) -> None:
    document = parse_html(text, language, options)
    assert_lawful(document, text)
    assert joined(document, unchanged) == text


@deterministic
@given(SOUPS, TRANSLATORS)
@example("&copy;</>world.<</body>", one_word)
@example("<q title='A'>a<<code><style>&copy;", mangling(1))
def test_no_translator_breaks_the_markup_of_a_soup(text: str, translate: Translate) -> None:
    assert_same_markup(joined(parse_html(text, "en"), translate), text)


@deterministic
@given(PAGES, TRANSLATORS)
def test_no_translator_breaks_the_markup_of_a_page(page: Page, translate: Translate) -> None:
    document = parse_html(page.html, "en")
    assert_lawful(document, page.html)
    assert joined(document, unchanged) == page.html
    assert_same_markup(joined(document, translate), page.html)


@deterministic
@given(PAGES)
def test_every_word_for_translation_is_translated_once_and_no_other(page: Page) -> None:
    written = joined(parse_html(page.html, "en"), upper)
    for word, translatable in page.words.items():
        assert len(re.findall(word.upper() if translatable else word, written)) == 1


XML_NAMES = st.sampled_from(["a", "b", "par", "x", "ns:y"])
XML_TEXT = st.sampled_from(
    ["Hello ", "One. Two. ", "\n  ", "&amp;", "&#65;", "&nbsp;", "é𝔸", "<!-- c -->", "<x/>", "<![CDATA[a & b]]>", "]"]
)
XML = st.recursive(
    XML_TEXT,
    lambda inside: st.builds(
        lambda name, attribute, content: f"<{name}{attribute}>{''.join(content)}</{name}>",
        XML_NAMES,
        st.sampled_from(["", " t='x>y'", " translate='no'"]),
        st.lists(inside, max_size=4),
    ),
    max_leaves=25,
)


def xml_tags(text: str) -> Counter[tuple[TokenKind, str, str]]:
    return Counter(
        (token.kind, token.name, text[token.start : token.end] if token.kind is TokenKind.OTHER else "")
        for token in xml_tokens(text)
        if token.kind not in (TokenKind.TEXT, TokenKind.REFERENCE, TokenKind.CDATA)
    )


@deterministic
@given(st.lists(XML, max_size=4).map("".join), TRANSLATORS, OPTIONS)
def test_xml_comes_back_as_it_was_or_translated_well_formed(
    text: str, translate: Translate, options: SegmentationOptions
) -> None:
    document = parse_xml(text, "en", options)
    assert_lawful(document, text)
    assert joined(document, unchanged) == text
    written = joined(document, translate)
    parse_xml(written, "en")
    assert xml_tags(written) == xml_tags(text)
    ET.fromstring(f"<r xmlns:ns='n'>{written.replace('&nbsp;', '')}</r>")  # noqa: S314 - generated here


@deterministic
@given(ANY_TEXT | SOUPS)
def test_any_text_is_xml_or_refused(text: str) -> None:
    try:
        document = parse_xml(text, "en")
    except InvalidRequestError:
        return
    assert_lawful(document, text)


MANY = 8_000
HOSTILE = (
    *(
        ("", "<a ", ""),
        ("", "<b>x ", ""),
        ("", "</b>", ""),
        ("", "<p>x", ""),
        ("", "<i><p>x ", ""),
        ("", "<svg><title/>", ""),
    ),
    *(
        ("", "<!--", ""),
        ("", "<", ""),
        ("", "a</>", ""),
        ("", "&rarr; ", "x"),
        ("", "&laquo; ", "x"),
        ("", "&nbsp;<i>", "x"),
    ),
    *(
        ("", "Aa <b>bb. Cc</b> dd ", ""),
        ("<p ", "title='x' ", ">"),
        ("<p title='", "&amp; x. ", "'>"),
        ("<p a", " ", "b title=x>"),
    ),
    *(
        ("", "<table><tr><td>", ""),
        ("", "<div translate=no><p translate=yes>x", ""),
        ("", "\xa0<i></i>", "x"),
        ("", "1. ", "x"),
    ),
    *(
        ("", "<q title='", ""),
        ("", "<code>x</code>", "x"),
        ("", "<img alt=x> ", "x"),
        ("<svg>", "<title/>", ""),
        ("", "\r\n", "x"),
    ),
)
NESTED = (
    *(
        ("<b>", "</b>"),
        ("<b>", "</i>"),
        ("<div>", "</p>"),
        ("<div>", "</div>"),
        ("<i translate=no>", "</i>"),
        ("<b>x ", "</b> y"),
    ),
    *(("<p>Hello <b>there. ", "</b>"), ("<table><tr><td>", "</table>"), ("<a><b>", "</b></a>"), ("<svg>", "</svg>")),
)


@pytest.mark.parametrize(("before", "repeated", "behind"), HOSTILE)
def test_time_stays_in_proportion_to_hostile_text(before: str, repeated: str, behind: str) -> None:
    assert_quick(before + repeated * MANY + behind)


@pytest.mark.parametrize(("opening", "closing"), NESTED)
def test_time_stays_in_proportion_to_depth(opening: str, closing: str) -> None:
    assert_quick(opening * MANY + "Text. More" + closing * MANY)


def assert_quick(text: str) -> None:
    started = time.process_time()
    parse_html(text, "en")
    assert time.process_time() - started < 4, "this is not linear"
