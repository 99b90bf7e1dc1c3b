"""Files of localisers (PO, XLIFF, JSON): what is to be translated is filled in or rewritten, and all else stays."""

import json

import pytest

from service.documents.json_strings import JsonFile
from service.documents.po_catalogue import PoFile
from service.documents.units import Cutting
from service.documents.xliff import XliffFile
from service.errors import InvalidDocumentError
from tests.doubles.document_translators import identity, mangling, rewritten, shouting, texts_of

EN = Cutting("en")

PO = r"""# A comment
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\n"

#: a.c:3
#, c-format
msgctxt "menu"
msgid "Open \"%s\" now"
msgstr ""

msgid ""
"First line\n"
"second line\n"
msgstr ""
#~ msgid "old"
#~ msgstr "alt"

msgid "%d file"
msgid_plural "%d files"
msgstr[0] ""
msgstr[1] ""

#, fuzzy, c-format
msgid "Unsure"
msgstr ""
msgid "Done"
msgstr "Fertig"
msgid "12"
msgstr ""
msgid "Last"
msgstr ""
"""


def test_messages_without_a_translation_get_one_and_nothing_else_changes():
    expected = (
        PO.replace('now"\nmsgstr ""', 'now"\nmsgstr "§OPEN \\"%S\\" NOW"')
        .replace('second line\\n"\nmsgstr ""', 'second line\\n"\nmsgstr ""\n"§FIRST LINE\\n"\n"§SECOND LINE\\n"')
        .replace('msgstr[0] ""', 'msgstr[0] "§%D FILE"')
        .replace('msgstr[1] ""', 'msgstr[1] "§%D FILES"')
        .replace('"Last"\nmsgstr ""', '"Last"\nmsgstr "§LAST"')
    )
    assert rewritten(PoFile(PO.encode(), EN), shouting).decode() == expected


def test_a_catalogue_that_is_complete_comes_back_to_the_byte():
    content = "\ufeff" + PO.replace('"Done"\nmsgstr "Fertig"', '"Fertig"\nmsgstr "x"').replace("\n", "\r\n")
    filled = rewritten(PoFile(content.encode(), EN), shouting)
    assert rewritten(PoFile(filled, EN), shouting) == filled
    assert b"\r\n" in filled
    assert filled.count(b"\n") == filled.count(b"\r\n")


@pytest.mark.parametrize("seed", range(20))
def test_whatever_a_model_says_the_catalogue_can_be_read(seed):
    filled = rewritten(PoFile(PO.encode(), EN), mangling(seed)).decode()
    PoFile(filled.encode(), EN)
    kept = [line for line in PO.splitlines() if line.startswith(("#", "msgid", "msgctxt"))]
    assert [line for line in filled.splitlines() if line.startswith(("#", "msgid", "msgctxt"))] == kept


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"hello", "line 1"),
        (b'msgid "a"\nmsgstr "b\n', "line 2"),
        (b'"a"\n', "line 1"),
        (b"\xff", "not UTF-8 at byte 0"),
        (b'msgid ""\nmsgstr "Content-Type: text/plain; charset=ISO-8859-1\\n"\n', "ISO-8859-1"),
    ],
)
def test_what_is_no_catalogue_is_refused(content, problem):
    with pytest.raises(InvalidDocumentError, match=problem):
        PoFile(content, EN)


XLIFF = """<?xml version="1.0" encoding="UTF-8"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
 <file original="a" source-language="en" datatype="plaintext"><body>
  <trans-unit id="1">
   <source>Hello <g id="1">big</g> <x id="2"/>world &#38; <bpt id="3">&lt;b></bpt>you<ept id="3">&lt;/b></ept>.</source>
  </trans-unit>
  <trans-unit id="2"><source>Second</source><target state="new"/></trans-unit>
  <trans-unit id="3"><source>Third</source><target></target><note>Keep</note></trans-unit>
  <trans-unit id="4"><source>Done</source><target>Fertig</target>
   <alt-trans><source>x y</source></alt-trans></trans-unit>
  <trans-unit id="5" translate="no"><source>Never</source></trans-unit>
 </body></file></xliff>
"""


def test_targets_that_are_missing_or_empty_are_filled():
    changed = rewritten(XliffFile(XLIFF.encode(), EN, "de_DE"), shouting).decode()
    assert changed == XLIFF.replace(' datatype="plaintext"', ' datatype="plaintext" target-language="de-DE"').replace(
        "</ept>.</source>",
        '</ept>.</source>\n   <target>§HELLO <g id="1">§BIG</g> <x id="2"/>§WORLD &amp; '
        '<bpt id="3">&lt;b></bpt>§YOU<ept id="3">&lt;/b></ept>§.</target>',
    ).replace('<target state="new"/>', '<target state="new">§SECOND</target>').replace(
        "<target></target>", "<target>§THIRD</target>"
    )


def test_an_unchanged_source_is_a_target_to_the_byte():
    changed = rewritten(XliffFile(XLIFF.encode(), EN, "de"), identity).decode()
    assert changed.count("world &#38; ") == 2
    again = rewritten(XliffFile(changed.encode(), EN, "de"), shouting)
    assert again.decode() == changed


def test_xliff_2_names_its_target_language_at_the_root():
    unit = '<unit id="1"><segment><source>Hello <pc id="1">you</pc><ph id="2"/>.</source></segment></unit>'
    text = f'<xliff xmlns="urn:x" version="2.0" srcLang="en"><file id="f">{unit}</file></xliff>'
    changed = rewritten(XliffFile(text.encode(), EN, "de"), shouting).decode()
    assert 'srcLang="en" trgLang="de">' in changed
    assert '<target>§HELLO <pc id="1">§YOU</pc><ph id="2"/>§.</target></segment>' in changed


@pytest.mark.parametrize("seed", range(20))
def test_whatever_a_model_says_xliff_stays_well_formed(seed):
    changed = rewritten(XliffFile(XLIFF.encode(), EN, "de"), mangling(seed))
    XliffFile(changed, EN, "de")
    target = changed.decode().partition("<target>")[2].partition("</target>")[0]
    if target:
        for tag in ('<g id="1">', "</g>", '<x id="2"/>', '<bpt id="3">&lt;b></bpt>', '<ept id="3">&lt;/b></ept>'):
            assert target.count(tag) == 1
        assert target.index("<bpt") < target.index("<ept")


@pytest.mark.parametrize(
    ("content", "problem"),
    [(b"<a/>", "not an XLIFF"), (b"<xliff>", "not well-formed"), (XLIFF.encode("utf-16"), "another encoding")],
)
def test_what_is_no_xliff_is_refused(content, problem):
    with pytest.raises(InvalidDocumentError, match=problem):
        XliffFile(content, EN, "de")


JSON = """\ufeff{ "key one" : "Hello \\"you\\".  Two." ,
\t"list":[1.50, -0e3, true, null, "a\\nb", "\\ud800 broken", "12"],
  "deep" : {"Hello":"w\\u00f6rld", "": "é\\/x"} }
"""


def test_strings_that_are_values_are_rewritten_where_they_stand():
    file = JsonFile(JSON.encode(), EN)
    assert rewritten(file, identity).decode() == JSON
    assert texts_of(file) == ['Hello "you".', "Two.", "a", "b", "wörld", "é/x"]
    changed = rewritten(file, shouting).decode()
    assert changed == JSON.replace('Hello \\"you\\".  Two.', '§HELLO \\"YOU\\".  §TWO.').replace(
        '"a\\nb"', '"§A\\n§B"'
    ).replace('"w\\u00f6rld"', '"§WÖRLD"').replace('"é\\/x"', '"§É/X"')


def test_a_file_in_ascii_stays_in_ascii():
    assert rewritten(JsonFile(b'["caf\\u00e9"]', EN), shouting) == b'["\\u00a7CAF\\u00c9"]'
    assert rewritten(JsonFile(b'["word"]', EN), shouting).decode() == '["§WORD"]'


@pytest.mark.parametrize("seed", range(20))
def test_whatever_a_model_says_json_keeps_its_shape(seed):
    def shape(value):
        if isinstance(value, dict):
            return {key: shape(inner) for key, inner in value.items()}
        return [shape(inner) for inner in value] if isinstance(value, list) else type(value)

    changed = rewritten(JsonFile(JSON.encode(), EN), mangling(seed)).decode()
    assert shape(json.loads(changed[1:])) == shape(json.loads(JSON[1:]))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b'{"a": 1,}', "not JSON: line 1, column"),
        (b'{"a": "x', "not JSON"),
        (b"", "not JSON: line 1, column 1"),
        (b"[" * 100_000, "nested too deeply"),
        (b'"\xff"', "not UTF-8 at byte 1"),
    ],
)
def test_what_is_no_json_is_refused(content, problem):
    with pytest.raises(InvalidDocumentError, match=problem):
        JsonFile(content, EN)
