"""HTML by its rules: what is a segment, what travels in it, what is left alone, and how white space comes back."""

from xml.etree import ElementTree as ET

import pytest

from service.text.document import Document, Gap, Placeholder, Segment
from service.text.markup.html import parse_html
from service.text.segmentation import SegmentationOptions
from tests.doubles.markup_translators import joined, told, unchanged, upper


def segments(text: str, language: str = "en") -> list[str]:
    document = parse_html(text, language)
    assert joined(document, unchanged) == text
    return told(document)


def upper_case(text: str) -> str:
    return joined(parse_html(text, "en"), upper)


def gaps(document: Document) -> list[str]:
    return [part.text for part in document.parts if isinstance(part, Gap)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<h1>Title</h1><p>First.</p><div>Second</div>third", ["Title", "First.", "Second", "third"]),
        ("<ul><li>One<li>Two</ul>", ["One", "Two"]),
        ("<dl><dt>Term<dd>Meaning</dl>", ["Term", "Meaning"]),
        ("<table><caption>Cap<tr><th>Head<td>Cell</table>", ["Cap", "Head", "Cell"]),
        ("<select><option>Red<option>Blue</select>", ["Red", "Blue"]),
        (
            "<label>Name <input> years</label><button>Save</button><button>Quit</button>",
            ["Name", "years", "Save", "Quit"],
        ),
        ("<p>One<hr>two", ["One", "two"]),
        ("<noscript><p>No <b>script</b> &amp; more</p></noscript>", ["No ‹<b>›script‹</b>› & more"]),
    ],
)
def test_structure_cuts_text(text: str, expected: list[str]) -> None:
    assert segments(text) == expected


def test_a_line_break_element_cuts_because_lines_are_meant() -> None:
    assert segments("<p>1 Main St<br>London<br/>U<br>\nK</br>x</p>") == ["1 Main St", "London", "U", "K", "x"]


def test_inline_elements_travel_as_pairs() -> None:
    (segment,) = (
        part for part in parse_html("<p>A <b>big <i>red</i></b> dog</p>", "en").parts if isinstance(part, Segment)
    )
    assert segment.text == "A <b>big <i>red</i></b> dog"
    assert segment.items == (
        "A ",
        Placeholder("<b>", "open", 1),
        "big ",
        Placeholder("<i>", "open", 2),
        "red",
        Placeholder("</i>", "close", 2),
        Placeholder("</b>", "close", 1),
        " dog",
    )


def test_pairs_that_touch_at_both_ends_are_one() -> None:
    assert segments("A <b><i>big</i></b> dog") == ["A ‹<b><i>›big‹</i></b>› dog"]
    assert segments("A <b><i>big</i>,</b> dog") == ["A ‹<b>›‹<i>›big‹</i>›,‹</b>› dog"]


@pytest.mark.parametrize("name", ["x-icon", "Trans", "foo", "font", "tt", "blink"])
def test_elements_nobody_knows_are_inline(name: str) -> None:
    assert segments(f"A <{name} a=1>big</{name}> dog") == [f"A ‹<{name} a=1>›big‹</{name}>› dog"]
    assert segments(f"A <{name}/> dog") == [f"A ‹<{name}/>› dog"]


def test_pairs_without_text_are_one_atom_and_keep_the_space_in_them() -> None:
    assert segments("A<a id=x></a> dog <i class=icon></i> runs") == ["A‹<a id=x></a>› dog ‹<i class=icon></i>› runs"]
    assert segments("A<b> </b>dog") == ["A‹<b> </b>› dog"]
    assert segments("A <a href=x><code>f()</code></a> dog") == ["A ‹<a href=x><code>f()</code></a>› dog"]


@pytest.mark.parametrize(
    "mark",
    ["<img src=x>", "<wbr>", "<!-- c -->", "<!-- <b> -->", "<![CDATA[ x ]]>", "<!x>", "</ x>", "</>", "<?php x ?>"],
)
def test_what_stands_alone_travels_as_an_atom(mark: str) -> None:
    assert segments(f"A {mark} dog") == [f"A ‹{mark}› dog"]


def test_atoms_that_touch_are_one() -> None:
    assert segments("A <!-- a --><wbr><img> dog") == ["A ‹<!-- a --><wbr><img>› dog"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<p>A <b>big<p>dog</b>", ["A ‹<b>›big", "dog"]),
        ("A </b>dog </span>x", ["A ‹</b>›dog ‹</span>›x"]),
        ("A <i>big <b>red</i> dog</b>", ["A ‹<i>›big ‹<b>›red‹</i>› dog"]),
        ("A</p>dog</div></td>x", ["A", "dog", "x"]),
        ("<div><table><tr><td>A</div>dog</table>x", ["A", "dog", "x"]),
    ],
)
def test_tags_without_their_partner_are_atoms_or_gaps(text: str, expected: list[str]) -> None:
    assert segments(text) == expected


def test_an_inline_element_around_blocks_is_structure() -> None:
    text = "Go <a href=x>in <div>side</div> now</a> please"
    assert segments(text) == ["Go", "in", "side", "now", "please"]
    assert upper_case(text) == "GO <a href=x>IN <div>SIDE</div> NOW</a> PLEASE"
    assert segments("<a href=x><h2>Title</h2><p>Text</p></a>") == ["Title", "Text"]


def test_halves_around_a_whole_segment_stand_outside_of_it() -> None:
    document = parse_html("<p> <b><i> All of it. </i></b> </p>", "en")
    assert told(document) == ["All of it."]
    assert gaps(document) == ["<p> <b><i> ", " </i></b> </p>"]


@pytest.mark.parametrize(
    "name", ["script", "style", "pre", "textarea", "svg", "math", "template", "iframe", "xmp", "noembed"]
)
def test_some_elements_are_never_translated(name: str) -> None:
    text = f"<p>One</p><{name}>two &amp; three. Four</{name}><p>Five</p>"
    assert segments(text) == ["One", "Five"]
    assert upper_case(text) == f"<p>ONE</p><{name}>two &amp; three. Four</{name}><p>FIVE</p>"


@pytest.mark.parametrize("name", ["code", "kbd", "samp", "math"])
def test_inline_code_is_a_word_of_the_sentence(name: str) -> None:
    document = parse_html(f"<p>Call <{name}>get( <mi>x</mi>\n)</{name}>. Then wait.</p>", "en")
    assert told(document) == [f"Call ‹<{name}>get( <mi>x</mi>\n)</{name}>›.", "Then wait."]
    (segment, _) = (part for part in document.parts if isinstance(part, Segment))
    assert segment.items[1] == Placeholder(f"<{name}>get( <mi>x</mi>\n)</{name}>", shown="get( x )")


def test_a_sentence_may_begin_or_end_with_code() -> None:
    assert segments("<code>f()</code> returns <code>x</code>") == ["‹<code>f()</code>› returns ‹<code>x</code>›"]


def test_code_alone_or_around_blocks_is_a_gap() -> None:
    assert segments("<td><code>f</code></td>") == []
    assert segments("Say <code><p>x</p></code> now") == ["Say", "now"]


@pytest.mark.parametrize("says", ["translate=no", "translate='NO'", "class=notranslate", 'class="a notranslate b"'])
def test_authors_say_what_is_not_translated(says: str) -> None:
    assert segments(f"Buy <span {says} title=x>Acme <i>One</i></span> now") == [
        f"Buy ‹<span {says} title=x>Acme <i>One</i></span>› now"
    ]
    assert segments(f"<p>A</p><div {says}><p>b</p> <span>c</span></div><p>D</p>") == ["A", "D"]
    assert segments(f"<html {says}><p>A</p></html>") == []


def test_translation_can_be_switched_on_again_inside() -> None:
    assert segments("<div translate=no>a <p translate=yes>Change <b>this</b></p> b</div> c") == [
        "Change ‹<b>›this‹</b>›",
        "c",
    ]
    assert segments("<div translate=no>a <b translate>B</b> <i translate=yes>C</i> d</div>") == ["B", "C"]
    assert segments("<pre>a <b translate=yes>b</b></pre>") == []


def test_unclosed_elements_that_are_kept_end_with_what_is_around_them() -> None:
    assert segments("<p>Say <code>x <b>y<p>More") == ["Say", "More"]
    assert segments("<ul><li translate=no>a<li>Two</ul>") == ["Two"]
    assert segments("One<script>two") == ["One"]


def test_titles_of_drawings_swallow_nothing() -> None:
    assert segments("<svg><title/><style/><g/></svg><p>One</p>") == ["One"]
    assert segments("<svg><title>a<b></title></svg>One") == ["One"]
    assert segments("<svg/>One <math/>two") == ["One ‹<math/>›two"]


def test_html_breaks_out_of_an_unclosed_drawing() -> None:
    assert segments("<svg><g><p>One</p>") == ["One"]
    assert segments("<svg><foreignObject><p>a</p></foreignObject></svg><p>One</p>") == ["One"]
    assert segments("<div><svg><g></div>One") == ["One"]


def test_a_drawing_stands_between_words() -> None:
    assert segments("Press <svg><title>x</title><path d=''/></svg> now") == [
        "Press ‹<svg><title>x</title><path d=''/></svg>› now"
    ]


def test_how_words_are_spoken_is_left_alone() -> None:
    assert segments("<ruby>漢字<rp>(</rp><rt>kanji</rt><rp>)</rp></ruby>です。", "ja") == [
        "‹<ruby>›漢字‹<rp>(</rp><rt>kanji</rt><rp>)</rp>›‹</ruby>›です。"
    ]


def test_references_are_read_for_the_model_and_written_as_characters() -> None:
    assert segments("R&amp;D &lt;b&gt; &copy; &eacute;&#65;&#x42; &notit; &bogus; &ampx") == [
        "R&D <b> © éAB ¬it; &bogus; &x"
    ]
    assert upper_case("a&amp;b &lt;c&gt; &eacute; \"d'") == "A&amp;B &lt;C&gt; É \"D'"


def test_what_a_model_writes_is_never_markup() -> None:
    document = parse_html("<p>Text</p>", "en")
    assert joined(document, lambda _: ("<script>&amp;",)) == "<p>&lt;script&gt;&amp;amp;</p>"


def test_white_references_at_edges_keep_their_spelling() -> None:
    document = parse_html("<p>&nbsp;Two&nbsp;words&#160; &nbsp;</p>", "en")
    assert told(document) == ["Two\xa0words"]
    assert gaps(document) == ["<p>&nbsp;", "&#160; &nbsp;</p>"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("&copy; 2024 Acme &rarr;", ["2024 Acme"]),
        ("Next &raquo;", ["Next"]),
        ("&mdash; Yes", ["Yes"]),
        ("&laquo; Oui &raquo;", ["« Oui »"]),
        ("&quot; Oui &quot;", ['" Oui "']),
        ("It costs 5 &euro;", ["It costs 5 €"]),
        ("&iquest;Si?", ["¿Si?"]),
        ("&rarr; &rarr; &rarr;", []),
    ],
)
def test_a_sign_that_stands_apart_at_an_edge_keeps_its_spelling(text: str, expected: list[str]) -> None:
    assert segments(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<h2><a href=x>§</a>Title<a class=headerlink>¶</a></h2>", ["Title"]),
        ("<p><span>👩‍💻</span> Hello</p>", ["Hello"]),
        ("<p>Read on <i>→</i></p>", ["Read on"]),
        ("<p><b>5</b> dogs <i>!</i></p>", ["‹<b>›5‹</b>› dogs ‹<i>›!‹</i>›"]),
    ],
)
def test_signs_in_a_pair_of_their_own_at_an_edge_are_gaps(text: str, expected: list[str]) -> None:
    assert segments(text) == expected


@pytest.mark.parametrize(
    ("text", "word", "expected"),
    [
        ("&#160Hello", "5 x", "5 x"),
        ("<p title='&nbspHello'>x</p>", "x", "<p title='x'>x</p>"),
        ("<p title='&nbsp(a)'>x</p>", "x", "<p title='x'>x</p>"),
        ("<math>a <<<b>Hello</b>", "x", "<math>a x<b>x</b>"),
    ],
)
def test_nothing_that_was_let_go_reads_on_into_the_target(text: str, word: str, expected: str) -> None:
    assert joined(parse_html(text, "en"), unchanged) == text
    assert joined(
        parse_html(text, "en"), lambda items: tuple(word if isinstance(one, str) else one for one in items)
    ) == (expected)


def test_sentences_are_not_parted_where_the_first_would_read_on() -> None:
    text = "中文。<u>中</u>。<<u>𝕏</u>。"
    assert joined(parse_html(text, "zh"), lambda _: ("x",)).count("<x") == 0


def test_list_marks_are_gaps() -> None:
    assert segments("<p>1. First</p><p>&bull; Second</p><p>- <b>Third</b></p><p>•\n  Fourth.</p>") == [
        "First",
        "Second",
        "Third",
        "Fourth.",
    ]


def test_white_space_inside_is_an_ordinary_space_and_outside_stays() -> None:
    text = "<p>\r\n\t One\r\n\ttwo <b> three</b>\n</p>\n\n<p>  </p>"
    document = parse_html(text, "en")
    assert told(document) == ["One two ‹<b>›three‹</b>›"]
    assert gaps(document) == ["<p>\r\n\t ", "\n</p>\n\n<p>  </p>"]
    assert joined(document, upper) == "<p>\r\n\t ONE TWO <b>THREE</b>\n</p>\n\n<p>  </p>"


def test_images_keep_the_space_on_both_sides() -> None:
    assert segments("A <img> dog") == ["A ‹<img>› dog"]


def test_wrapped_lines_of_languages_without_spaces_are_joined_without_one() -> None:
    assert segments("<p>今天\n  天气 好</p>", "zh") == ["今天天气 好"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<p>One. Two! Three?</p>", ["One.", "Two!", "Three?"]),
        ("<p><b>One. Two.</b> Three.</p>", ["One.", "Two.", "Three."]),
        ("<p><b>One.</b> <i>Two.</i></p>", ["One.", "Two."]),
        ("<p><b>One. </b><i>Two</i> x.</p>", ["One.", "‹<i>›Two‹</i>› x."]),
        ("<p>Note: <b>One. Two.</b> Three.</p>", ["Note: ‹<b>›One. Two.‹</b>›", "Three."]),
        ("<p>We <i>go. They</i> stay. All.</p>", ["We ‹<i>›go. They‹</i>› stay.", "All."]),
        ("<p>One.<!-- c --> Two.</p>", ["One.", "Two."]),
        ("<p>See <a>Dr. X</a> now. Go.</p>", ["See ‹<a>›Dr. X‹</a>› now.", "Go."]),
        (
            "<p>Use <code>a.b</code>. <code>c</code> is new.</p>",
            ["Use ‹<code>a.b</code>›.", "‹<code>c</code>› is new."],
        ),
    ],
)
def test_sentences_are_cut_with_halves_on_the_right_side(text: str, expected: list[str]) -> None:
    assert segments(text) == expected


def test_an_element_that_holds_many_sentences_together_is_parted_from_them() -> None:
    sentences = [f"This is sentence number {number} of a long list." for number in range(20)]
    assert segments(f"<p>Note: <b>{' '.join(sentences)}</b> end.</p>") == ["Note:", *sentences, "end."]


def test_a_block_is_one_segment_when_sentences_are_not_to_be_cut() -> None:
    document = parse_html("<p>One. <b>Two.</b></p><p>Three.</p>", "en", SegmentationOptions("off"))
    assert told(document) == ["One. ‹<b>›Two.‹</b>›", "Three."]


def test_no_sentence_ends_inside_what_is_protected() -> None:
    def protect(text: str) -> tuple[str | Placeholder, ...]:
        before, found, behind = text.partition("Acme. Inc")
        return tuple(item for item in (before, Placeholder(found) if found else "", behind) if item)

    document = parse_html("<p>Buy <b>Acme.</b> Inc now. Go.</p>", "en", SegmentationOptions(protect=protect))
    assert told(document) == ["Buy ‹<b>›Acme.‹</b>› Inc now.", "Go."]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a < b and c <3", ["a < b and c <3"]),
        ("One <b", ["One"]),
        ("One <b title='x", ["One"]),
        ("One </b", ["One"]),
        ("One <!-- two", ["One"]),
        ("a &", ["a &"]),
        ("<!DOCTYPE html><p>One", ["One"]),
        ("<!--[if IE]><p>a</p><![endif]-->One <![if !IE]>two<![endif]>", ["One ‹<![if !IE]>›two"]),
        ("<svg><![CDATA[ <b> ]]></svg>One", ["One"]),
        ("One\x00<b\x00>two</b\x00>", ["One\x00‹<b\x00>›two‹</b\x00>›"]),
        ("<plaintext>One<b>", []),
        ("𝔸b<b>c𝔹</b> d&#x1d538;", ["𝔸b‹<b>›c𝔹‹/b>› d𝔸".replace("‹/b", "‹</b")]),
        ("<p>One\r\ntwo\r<b\r\n>three</b>\r", ["One two ‹<b\r\n>›three‹</b>›"]),
        ("<P>One</p><TITLE>Two</title><SCRIPT>a</Script>", ["One", "Two"]),
        ("\ufeff<p>One", ["One"]),
        ("", []),
        ("<>", []),
    ],
)
def test_odd_and_broken_html_loses_nothing(text: str, expected: list[str]) -> None:
    assert segments(text) == expected


def test_xhtml_is_read_as_xml() -> None:
    text = (
        "<?xml version='1.0'?>\n<!DOCTYPE html>\n<html xmlns='http://www.w3.org/1999/xhtml'><head><title/></head>"
        "<body><p/><p title='Read &amp; go'>One<br/>two&nbsp;<a id='x'/>three <code>c</code></p>"
        "<style><![CDATA[ p > b {} ]]></style></body></html>"
    )
    assert segments(text) == ["Read & go", "One", "two\xa0‹<a id='x'/>›three ‹<code>c</code>›"]
    written = joined(parse_html(text, "en"), lambda items: ("<&'\"\x00>", *items[1:])).replace("&nbsp;", "")
    assert len(list(ET.fromstring(written).iter())) == 10  # noqa: S314 - written above
    broken = text.replace("</html>", "</htm>")
    assert joined(parse_html(broken, "en"), unchanged) == broken


def test_sentence_marks_of_text_before_a_comment_at_the_edge_are_gaps() -> None:
    document = parse_html("<p><!-- a --> One <!-- b --></p>", "en")
    assert gaps(document) == ["<p><!-- a --> ", " <!-- b --></p>"]
