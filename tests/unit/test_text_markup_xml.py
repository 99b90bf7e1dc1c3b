"""XML in place: documents and fragments, which tags cut, what is refused."""

from xml.etree import ElementTree as ET

import pytest

from service.errors import InvalidRequestError
from service.text.document import Placeholder, Segment
from service.text.markup.xml import parse_xml
from service.text.markup.xml_reader import XmlTags
from service.text.segmentation import SegmentationOptions
from tests.doubles.markup_translators import joined, told, unchanged, upper

DOCUMENT = """<?xml version="1.0" encoding="latin-1"?>
<!DOCTYPE document [<!ENTITY co 'Acme <b>Ltd</b>'>]>
<document>
  <!-- about -->
  <meta><title>A title</title></meta>
  <content><par a='x>y'>First <em>sentence</em>. A &amp; b &co; c.</par>\r
    <par><em>Whole.</em></par></content>
</document>
<?end?>
"""


def segments(text: str, tags: XmlTags = XmlTags(), split: str = "nonewlines") -> list[str]:  # noqa: B008 - frozen
    document = parse_xml(text, "en", SegmentationOptions(split), tags)  # type: ignore[arg-type] - a test's short form
    assert joined(document, unchanged) == text
    return told(document)


def test_a_document_is_cut_where_elements_hold_no_text_beside_each_other() -> None:
    assert segments(DOCUMENT) == ["A title", "First ‹<em>›sentence‹</em>›.", "A & b ‹&co;› c.", "Whole."]
    assert "<par a='x>y'>FIRST <em>SENTENCE</em>. A &amp; B &co; C.</par>\r\n" in joined(
        parse_xml(DOCUMENT, "en"), upper
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two <b>three</b>.", ["One.", "Two ‹<b>›three‹</b>›."]),
        ("", []),
        ("<a>One</a><a>Two</a>", ["One", "Two"]),
        ("x &lt; y &#65;&#x42; é&nbsp;z", ["x < y AB é\xa0z"]),
        ("Hello <x id='1'/>, you have <y></y> mails", ["Hello ‹<x id='1'/>›, you have ‹<y></y>› mails"]),
        ("Dear <x/>", ["Dear ‹<x/>›"]),
        ("<Title>One</Title><script>Two</script>", ["One", "Two"]),
        ("é𝔸<b>𝔹x</b> y", ["é𝔸‹<b>›𝔹x‹</b>› y"]),
        ("a <!-- b --> c <?pi d?> e", ["a ‹<!-- b -->› c ‹<?pi d?>› e"]),
        ("a <b>c <p>d</p><p>e</p></b> f", ["a ‹<b>›c ‹<p>›d‹</p>›‹<p>›e‹</p>›‹</b>› f"]),
        ("<a><p>One <i>x</i></p><q>Two</q></a>", ["One ‹<i>›x‹</i>›", "Two"]),
        ("<a>\ufeff<b>One</b>\xa0<b>Two</b></a>", ["One", "Two"]),
        ("<a t='no' translate='no'>One</a><b its:translate='no'>Two</b><c>Three</c>", ["Three"]),
    ],
)
def test_fragments_are_texts_too(text: str, expected: list[str]) -> None:
    assert segments(text) == expected


def test_an_inline_element_around_structure_is_structure() -> None:
    tags = XmlTags(splitting=frozenset({"p"}))
    assert segments("a <b>c <p>d</p> e</b> f", tags) == ["a", "c", "d", "e", "f"]


def test_outline_detection_can_be_switched_off() -> None:
    text = "<d><p>It had been </p><p>going on. Then</p></d>"
    assert segments(text) == ["It had been", "going on.", "Then"]
    without = XmlTags(outline=False)
    assert segments(text, without) == ["‹<p>›It had been ‹</p>›‹<p>›going on. Then‹</p>›"]
    assert segments(text, XmlTags(outline=False, splitting=frozenset({"p"}))) == ["It had been", "going on.", "Then"]


def test_tags_that_never_split_join_what_the_outline_parts() -> None:
    tags = XmlTags(non_splitting=frozenset({"par"}))
    text = "<par>The firm said it had been </par><par>conducting an internal investigation.</par>"
    assert segments(text, tags) == [
        "‹"
        + text.replace(">The", ">›The")
        .replace("been </par><par>", "been ‹</par>›‹<par>›")
        .replace(".</par>", ".‹</par>")
        + "›"
    ]


def test_ignored_tags_are_words_in_a_sentence_and_gaps_alone() -> None:
    tags = XmlTags(ignored=frozenset({"k"}))
    text = "<d><p>Keep <k>me &amp; <b>all</b></k> here</p><k>Not this</k></d>"
    document = parse_xml(text, "en", tags=tags)
    assert told(document) == ["Keep ‹<k>me &amp; <b>all</b></k>› here"]
    (segment,) = (part for part in document.parts if isinstance(part, Segment))
    assert segment.items[1] == Placeholder("<k>me &amp; <b>all</b></k>", shown="me & all")


@pytest.mark.parametrize(
    ("split", "expected"),
    [("on", ["One", "two.", "Three"]), ("nonewlines", ["One two.", "Three"]), ("off", ["One two. Three"])],
)
def test_line_breaks_and_sentences_cut_as_asked(split: str, expected: list[str]) -> None:
    assert segments("<a>One\n  two. Three</a>", split=split) == expected


def test_a_cdata_section_is_translated_by_itself() -> None:
    text = "<a>One <![CDATA[two & <b>three</b>. Four]]> five</a>"
    assert segments(text) == ["One", "two & <b>three</b>.", "Four", "five"]
    assert joined(parse_xml(text, "en"), upper) == "<a>ONE <![CDATA[TWO & <B>THREE</B>. FOUR]]> FIVE</a>"
    written = joined(parse_xml("<a><![CDATA[x]]></a>", "en"), lambda _: ("a]]>b<c>\x00&",))
    assert ET.fromstring(written).text == "a]]>b<c>\ufffd&"  # noqa: S314 - written above


def test_what_a_model_writes_is_well_formed() -> None:
    written = joined(parse_xml("<a>x <b>y</b></a>", "en"), lambda items: ("<&>\x00\x0b\ud800]]>", *items[1:]))
    assert ET.fromstring(written).text == "<&>\ufffd\ufffd\ufffd]]>"  # noqa: S314 - written above


@pytest.mark.parametrize(
    "text",
    ["<a>", "</a>", "a & b", "<a b=c/>", "<a></b>", "a < b", "x\x00", "<a/><?xml version='1.0'?>", "</verso-fragment>"],
)
def test_what_is_not_well_formed_is_refused_without_its_text(text: str) -> None:
    with pytest.raises(InvalidRequestError, match=r"^The text is not well-formed XML \(line 1, column \d+\)\.$"):
        parse_xml(text, "en")


def test_the_place_of_a_fault_counts_from_the_text_itself() -> None:
    with pytest.raises(InvalidRequestError, match="line 1, column 5"):
        parse_xml("ab & c", "en")
    with pytest.raises(InvalidRequestError, match="line 2, column 4"):
        parse_xml("<a>\nb & c</a>", "en")


def test_half_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match="surrogate"):
        parse_xml("<a>\ud800</a>", "en")


def test_entities_are_never_expanded_and_few_may_be_declared() -> None:
    few = "".join(f"<!ENTITY a{n} '{f'&a{n - 1};' * 10}'>" for n in range(1, 20))
    bomb = f"<!DOCTYPE r [<!ENTITY a0 'lol'>{few}]><r>One &a19; two</r>"
    assert segments(bomb) == ["One ‹&a19;› two"]
    with pytest.raises(InvalidRequestError, match="well-formed"):
        parse_xml(bomb.replace("<r>", "<r x='&a19;'>"), "en")
    chain = "".join(f"<!ENTITY a{n} '&a{n - 1};'>" for n in range(1, 60_000))
    with pytest.raises(InvalidRequestError, match="more than 64"):
        parse_xml(f"<!DOCTYPE r [<!ENTITY a0 'x'>{chain}]><r x='&a59999;'>y</r>", "en")


def test_nothing_outside_is_read() -> None:
    text = "<!DOCTYPE r SYSTEM 'file:///etc/passwd' [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><r>One &x; two</r>"
    assert segments(text) == ["One ‹&x;› two"]
