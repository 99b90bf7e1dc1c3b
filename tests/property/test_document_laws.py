"""Laws of files taken apart, for any content: nothing changes by itself, and no target breaks what it is put into."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.documents.formats import FORMATS
from service.documents.json_strings import JsonFile
from service.documents.pairing import nested_pairs
from service.documents.subtitle_cues import read_srt, read_vtt
from service.documents.units import Cutting, Mark, Unit, is_nested
from service.errors import InvalidDocumentError
from tests.doubles.document_translators import identity, mangling, packed, rewritten, translated, unpacked

deterministic = settings(derandomize=True, max_examples=150, deadline=None)

EN = Cutting("en")
SEEDS = st.integers(0, 10_000)
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


def made_of(*fragments: str, most: int = 25):
    return st.lists(st.sampled_from(fragments), max_size=most).map("".join)


MARKDOWN = made_of(
    *(
        "# ",
        " #\n",
        "\n",
        "\n\n",
        "  \n",
        "\\\n",
        "> ",
        "- ",
        "1. ",
        "**",
        "*",
        "_",
        "`",
        "``",
        "```\n",
        "~~~\n",
        "[",
        "]",
        "](u)",
    ),
    *(
        "![",
        "![a](b)",
        "[r]",
        "[r]: http://x\n",
        "[^1]",
        "[^1]: note\n",
        "<b>",
        "</b>",
        "<br>",
        "<div>\n",
        "</div>\n",
        "<code>",
    ),
    *(
        "</code>",
        "|",
        "| a | b |\n|---|---|\n| c | d |\n",
        "$x$",
        "~~",
        "&amp;",
        "&lt;",
        "\\*",
        "---\n",
        "+++\n",
        "===\n",
    ),
    *(
        "Term\n: def\n",
        "word ",
        "Hello there. ",
        "字。",
        "\r\n",
        "\t",
        "    ",
        "- [ ] ",
        "<http://a.b>",
        "\x00",
        "\ufdd0",
        "<!-- c -->",
    ),
)
SUBTITLE_LINES = (
    *(
        "\n",
        "\r\n",
        "Hello there.\n",
        "and so on\n",
        "<i>",
        "</i>",
        "<b>",
        "</b>",
        "{\\an8}",
        "- Hi\n",
        "<v Bob>",
        "</v>",
    ),
    *(
        "<00:00:01.500>",
        "&amp;",
        "&lt;",
        "字\n",
        "a < b\n",
        "NAME: x\n",
        "1\n",
        "NOTE x\n",
        "\ufeff",
        "\u2028",
        "-->\n",
    ),
)
SRT = made_of("00:00:01,000 --> 00:00:02,000\n", "00:00:02,000 --> 00:00:03,000 X1:1\n", *SUBTITLE_LINES)
VTT = made_of("00:01.000 --> 00:02.000\n", "00:00:02.000 --> 00:00:03.000 line:0\n", *SUBTITLE_LINES).map(
    "WEBVTT\n\n".__add__
)
PO = made_of(
    *(
        'msgid "Hello there. "\n',
        'msgid ""\n',
        '"more text\\n"\n',
        'msgstr ""\n',
        'msgstr[0] ""\n',
        'msgstr[1] ""\n',
        "\r\n",
        "\n",
    ),
    *(
        'msgid_plural "%d files"\n',
        'msgctxt "x"\n',
        "#, fuzzy\n",
        "# c\n",
        '#~ msgid "old"\n',
        'msgstr "x"\n',
        '"\\"q\\" \\\\ \\t"\n',
    ),
)
HTML = made_of(
    *(
        "<p>",
        "</p>",
        "<b>",
        "</b>",
        "<i>",
        "<br>",
        "<img alt='A dog'>",
        "Hello there. ",
        "&amp;",
        "&nbsp;",
        "<script>x</script>",
    ),
    *(
        "<",
        "\n",
        "<!-- c -->",
        '<a title="T x" href=u>',
        "</a>",
        "<div>",
        "word ",
        "字。",
        "<code>c</code>",
        "\x00",
        "\ufeff",
    ),
)
CONTENTS = st.one_of(
    *(
        st.tuples(st.just(name), texts | ANY_TEXT)
        for name, texts in (("markdown", MARKDOWN), ("srt", SRT), ("vtt", VTT), ("po", PO), ("html", HTML))
    )
)
XML_TEXT = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Co", "Cn"], exclude_characters="<&\r"), max_size=12
)


def read(name: str, content: bytes):
    return FORMATS[name].read(content, EN, "de")


@deterministic
@given(CONTENTS)
def test_an_identity_changes_no_byte(sample):
    name, text = sample
    try:
        file = read(name, text.encode())
    except InvalidDocumentError:
        return
    written = rewritten(file, identity)
    if name == "po":
        # Empty targets are filled; what is full stays.
        assert rewritten(read(name, written), identity) == written
    else:
        assert written == text.encode()


@deterministic
@given(CONTENTS, SEEDS)
def test_no_target_breaks_a_file(sample, seed):
    name, text = sample
    try:
        file = read(name, text.encode())
    except InvalidDocumentError:
        return
    read(name, rewritten(file, mangling(seed)))


@deterministic
@given(VTT, SEEDS)
def test_cues_keep_their_times_places_and_settings(text, seed):
    changed = rewritten(read("vtt", text.encode()), mangling(seed)).decode()
    before, after = read_vtt(text), read_vtt(changed)
    assert [(cue.start, cue.end, bool(cue.lines)) for cue in before] == [
        (cue.start, cue.end, bool(cue.lines)) for cue in after
    ]
    assert between(text, before) == between(changed, after)


def between(text, cues):
    """All of a text but the lines of its cues."""
    kept, position = [], 0
    for cue in cues:
        if cue.lines:
            kept.append(text[position : cue.lines[0].start])
            position = cue.lines[-1].end
    return [*kept, text[position:]]


@deterministic
@given(st.lists(st.tuples(XML_TEXT, st.booleans()), max_size=6), SEEDS)
def test_subrip_keeps_its_times_for_any_words(lines, seed):
    text = "".join(
        f"{number}\n00:00:{number:02},000 --> 00:00:{number:02},900\n{words}{'.' if ends else ''} x\n\n"
        for number, (words, ends) in enumerate(lines, 1)
    )
    changed = rewritten(read("srt", text.encode()), mangling(seed)).decode()
    times = [(cue.start, cue.end, bool(cue.lines)) for cue in read_srt(text)]
    assert [(cue.start, cue.end, bool(cue.lines)) for cue in read_srt(changed)] == times


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@deterministic
@given(JSON_VALUES, st.booleans(), st.sampled_from([None, 1, "\t"]), SEEDS)
def test_json_keeps_everything_but_the_words_of_its_strings(value, is_ascii, indent, seed):
    text = json.dumps(value, ensure_ascii=is_ascii, indent=indent)
    try:
        content = text.encode()
    except UnicodeEncodeError:
        return
    assert rewritten(JsonFile(content, EN), identity) == content
    changed = json.loads(rewritten(JsonFile(content, EN), mangling(seed)))
    assert shape(changed) == shape(value)


def shape(value):
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [shape(inner) for inner in value]
    return str if isinstance(value, str) else value


W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
WORD_TYPES = (
    '<Types><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.'
    'wordprocessingml.document.main+xml"/></Types>'
)
FORMATTED = st.tuples(
    XML_TEXT, st.sampled_from(["", "<w:rPr><w:b/></w:rPr>", '<w:rPr><w:lang w:val="x"/></w:rPr>', "<w:rPr/>"])
)
RUN = FORMATTED.map(lambda one: f'<w:r>{one[1]}<w:t xml:space="preserve">{one[0]}</w:t></w:r>')
OTHER = st.sampled_from(
    ["<w:r><w:tab/></w:r>", "<w:r><w:drawing/></w:r>", '<w:bookmarkStart w:id="1"/>', "<w:proofErr/>"]
)
FIELD = st.sampled_from([f'<w:r><w:fldChar w:fldCharType="{part}"/></w:r>' for part in ("begin", "separate", "end")])
INLINE = st.recursive(
    RUN | RUN | OTHER | FIELD, lambda inner: inner.map(lambda xml: f"<w:hyperlink>{xml}</w:hyperlink>"), max_leaves=3
)


@deterministic
@given(st.lists(INLINE, max_size=9).map("".join), SEEDS)
def test_word_paragraphs_keep_all_that_is_no_text(inside, seed):
    body = f'<w:document xmlns:w="{W}"><w:body><w:p><w:pPr/>{inside}</w:p></w:body></w:document>'
    content = packed({"[Content_Types].xml": WORD_TYPES, "word/document.xml": body})
    file = read("docx", content)
    assert rewritten(file, identity) == content
    changed = rewritten(file, mangling(seed))
    assert rewritten(read("docx", changed), identity) == changed
    text = unpacked(changed)["word/document.xml"].decode()
    for kept in ("<w:tab/>", "<w:drawing/>", "<w:bookmarkStart", "<w:hyperlink>", "</w:hyperlink>", "w:fldChar "):
        assert text.count(kept) == body.count(kept)


ODT_INLINE = st.recursive(
    XML_TEXT
    | st.sampled_from(
        ["<t:s/>", "<t:tab/>", "<t:bookmark/>", "<!-- c -->", "&amp;", "<![CDATA[<]]>", "<t:date>1 May</t:date>"]
    ),
    lambda inner: st.lists(inner, max_size=3).map(lambda many: f"<t:span>{''.join(many)}</t:span>"),
    max_leaves=8,
)


@deterministic
@given(st.lists(ODT_INLINE, max_size=6).map("".join), SEEDS)
def test_opendocument_keeps_all_that_is_no_text(inside, seed):
    body = f'<o xmlns:t="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><t:p>{inside}</t:p></o>'
    content = packed({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": body})
    file = read("odt", content)
    assert rewritten(file, identity) == content
    changed = rewritten(file, mangling(seed))
    assert rewritten(read("odt", changed), identity) == changed
    text = unpacked(changed)["content.xml"].decode()
    for kept in (
        "<t:s/>",
        "<t:tab/>",
        "<t:bookmark/>",
        "<!-- c -->",
        "<t:span>",
        "</t:span>",
        "<t:date>1 May</t:date>",
    ):
        assert text.count(kept) == body.count(kept)


@st.composite
def unit_items(draw):
    """Words and marks, halves nested."""
    items, number = [], 0
    opened = []
    for kind in draw(st.lists(st.sampled_from(["text", "text", "mark", "word", "cut", "open", "close"]), max_size=14)):
        if kind == "text":
            items.append(draw(ANY_TEXT | st.sampled_from(["word ", "One. Two. ", "\ufdd0", "字。"])))
        elif kind == "open":
            number += 1
            opened.append(number)
            items.append(Mark("open", number))
        elif kind == "close":
            if opened:
                items.append(Mark("close", opened.pop()))
        else:
            items.append(Mark(kind, shown=draw(st.sampled_from(["", "f()"]))))
    return items + [Mark("close", opened.pop()) for _ in range(len(opened))]


@deterministic
@given(unit_items(), SEEDS)
def test_marks_of_a_unit_come_back_once_and_nested(items, seed):
    unit = Unit(items, EN)
    assert "".join(part.text for part in unit.document.parts) == unit.text
    assert unit.read(translated(unit.document, identity)) is None
    read_back = unit.read(translated(unit.document, mangling(seed)))
    if read_back is not None:
        marks = [item for item in items if isinstance(item, Mark)]
        assert sorted(map(id, marks)) == sorted(id(item) for item in read_back if isinstance(item, Mark))
        assert is_nested(read_back)
        cuts = [item for item in items if isinstance(item, Mark) and item.kind == "cut"]
        assert [item for item in read_back if isinstance(item, Mark) and item.kind == "cut"] == cuts


@pytest.mark.parametrize(
    "target", ["", "no marks", "<\ufdd00>x", "<\ufdd07>", "\ufdd0", "<\ufdd0x>", "<\ufdd01>x<\ufdd00>"]
)
def test_a_target_whose_marks_are_not_the_source_s_is_not_used(target):
    unit = Unit([Mark("open", 1), "word", Mark("close", 1)], EN)
    assert unit.read(target) is None


@deterministic
@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=20))
def test_pairs_of_tags_are_nested_and_of_one_name(tags):
    pairs = nested_pairs((place, name, closes) for place, (name, closes) in enumerate(tags))
    for first, second in pairs:
        assert (tags[first], tags[second]) == ((tags[first][0], False), (tags[first][0], True))
        for other, end in pairs:
            assert (other, end) == (first, second) or end < first or second < other or (first < other) == (end < second)
    assert len({place for pair in pairs for place in pair}) == 2 * len(pairs)
