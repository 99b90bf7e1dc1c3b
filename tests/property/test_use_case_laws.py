"""Laws of the whole use case, for models that answer anything: what must not change comes back, nothing is lost."""

import asyncio
import random
import re
from collections import Counter
from functools import cache
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.translation.translation import Details, TranslationRequest, TranslationResult
from service.translation.translator import Translator
from tests.doubles.word_model import Mangle, identity, word_translator

few = settings(derandomize=True, max_examples=120, deadline=None)

Said = list[tuple[int, int | None]]


def shuffled(ids: list[int], chance: random.Random) -> Said:
    return chance.sample(identity(ids, chance), len(ids))


def dropping(ids: list[int], chance: random.Random) -> Said:
    return [said for said in identity(ids, chance) if chance.random() < 0.6]


def doubling(ids: list[int], chance: random.Random) -> Said:
    return [said for said in identity(ids, chance) for _ in range(chance.choice([1, 1, 2, 3]))]


def looping(ids: list[int], chance: random.Random) -> Said:
    return identity(ids, chance)[: chance.randint(1, 4)] * 60


def mangling(ids: list[int], chance: random.Random) -> Said:
    return [(chance.randrange(60), chance.choice([None, *range(len(ids))])) for _ in range(chance.randint(0, 30))]


def silent(ids: list[int], chance: random.Random) -> Said:
    return []


def moody(ids: list[int], chance: random.Random) -> Said:
    return chance.choice([identity, shuffled, dropping, doubling, looping, mangling, silent])(ids, chance)


MANGLES: list[Mangle] = [shuffled, dropping, doubling, looping, mangling, silent, moody]

WORDS = (
    "The",
    "house",
    "is",
    "small,",
    "and",
    "WE",
    "LIKE",
    "IT",
    "very",
    "much.",
    "Dr.",
    "No!",
    "No,",
    "3.5",
    "1,000",
    "of",
)
PROTECTED = (
    "https://example.com/a?b=1&c=2",
    "anna@example.com",
    "{name}",
    "{{a.b}}",
    "%1$s",
    "${path}",
    "<<key>>",
    "`a. B`",
    "👩\u200d👩\u200d👧",
    "🇩🇪",
    "v1.2.3",
    "#topic",
    "Acme Inc. Ltd",
    "naïve",
    "☃",
)
BETWEEN = (" ", " ", " ", " ", "  ", "\n", "\n\n", "\r\n- ", ". ", "\u00a0")
PLAIN = st.lists(st.tuples(st.sampled_from((*WORDS, *WORDS, *PROTECTED)), st.sampled_from(BETWEEN)), max_size=30).map(
    lambda pieces: "".join(piece for pair in pieces for piece in pair)
)
ANY = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)

OPENING = ("<b>", "<i class='x'>", '<a href="/x?a=1&amp;b=2" title="Read this">', "<p>", "<div>", "<li>", "<span>")
LONE = ("<br>", '<img src="a.png" alt="A dog">', "<!-- no -->", "&nbsp;", "&amp;", "&eacute;", "<code>f(x)</code>")
HTML = st.recursive(
    PLAIN.map(lambda text: text.replace("&", "&amp;").replace("<", "&lt;")) | st.sampled_from(LONE),
    lambda inner: st.tuples(st.sampled_from(OPENING), st.lists(inner, max_size=4)).map(
        lambda pair: pair[0] + "".join(pair[1]) + "</" + re.match(r"<(\w+)", pair[0])[1] + ">"
    ),
    max_leaves=8,
)


@cache
def translator_of(mangle: Mangle) -> Translator:
    return word_translator(mangle)[0]


def translated(mangle: Mangle, *texts: str, **options) -> TranslationResult:
    request = TranslationRequest(
        texts=texts, source="en", target="de", protect=("Acme Inc. Ltd",), details=Details(segments=True), **options
    )
    return asyncio.run(translator_of(mangle).translate(request))


def target_of(mangle: Mangle, text: str, **options) -> str:
    return translated(mangle, text, **options).translations[0].text


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=False)
        self.seen: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.seen.append(re.sub(r'(title|alt)="[^"]*"', r"\1", self.get_starttag_text()))

    def handle_endtag(self, tag):
        self.seen.append(f"</{tag}>")

    def handle_comment(self, data):
        self.seen.append(data)


@few
@given(PLAIN | ANY, st.sampled_from(["on", "off"]))
def test_a_model_that_repeats_its_source_gives_the_text_back(text, split_sentences):
    assert target_of(identity, text, split_sentences=split_sentences) == text


@few
@given(HTML | ANY | PLAIN, st.sampled_from(["on", "off", "nonewlines"]))
def test_a_model_that_repeats_its_source_gives_the_page_back(text, split_sentences):
    assert target_of(identity, text, format="html", split_sentences=split_sentences) == text


@few
@given(PLAIN)
def test_joined_lines_come_back_but_for_their_white_space(text):
    assert target_of(identity, text, split_sentences="nonewlines").split() == text.split()


@pytest.mark.parametrize("mangle", MANGLES)
@few
@given(PLAIN, st.sampled_from(["on", "off", "nonewlines"]))
def test_what_must_not_change_comes_back_as_often_as_it_was_there(mangle, text, split_sentences):
    target = target_of(mangle, text, split_sentences=split_sentences)
    for stretch in PROTECTED:
        assert target.count(stretch) == text.count(stretch), (stretch, target)


@pytest.mark.parametrize("mangle", MANGLES)
@few
@given(PLAIN)
def test_line_breaks_stay_where_they_are(mangle, text):
    assert re.findall(r"\r\n|\n", target_of(mangle, text)) == re.findall(r"\r\n|\n", text)


@pytest.mark.parametrize("mangle", MANGLES)
@few
@given(HTML)
def test_tags_come_back_as_often_as_they_were_there(mangle, page):
    target = target_of(mangle, page, format="html")
    assert Counter(Tags(target).seen) == Counter(Tags(page).seen), target


@pytest.mark.parametrize("mangle", MANGLES)
@few
@given(ANY | PLAIN | HTML, st.sampled_from(["text", "html"]), st.sampled_from(["on", "off", "nonewlines"]))
def test_no_text_and_no_model_makes_a_request_fail(mangle, text, kind, split_sentences):
    result = translated(mangle, text, format=kind, split_sentences=split_sentences)
    assert bool(result.translations[0].text.strip()) == bool(text.strip())


@pytest.mark.parametrize("mangle", [moody, looping])
@few
@given(st.lists(PLAIN, min_size=2, max_size=4))
def test_a_text_is_translated_the_same_in_any_company(mangle, texts):
    together = translated(mangle, *texts).translations
    assert [one.text for one in together] == [target_of(mangle, text) for text in texts]
    assert [one.segments for one in together] == [translated(mangle, text).translations[0].segments for text in texts]
