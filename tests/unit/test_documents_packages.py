"""OpenDocument texts and EPUB books: only the words of their paragraphs and pages change."""

import pytest

from service.documents.epub import read_epub
from service.documents.opendocument import read_opendocument
from service.documents.units import Cutting
from service.errors import InvalidDocumentError
from tests.doubles.document_translators import identity, mangling, packed, rewritten, shouting, texts_of, unpacked

SPACES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{uri}:1.0"'
    for name, uri in (("office", "office"), ("text", "text"), ("draw", "drawing"))
)


def odt(body: str, styles: str = "") -> bytes:
    def part(content):
        return f'<?xml version="1.0" encoding="UTF-8"?>\n<office:document {SPACES}>{content}</office:document>'

    members = {"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": part(body)}
    return packed(members | {"styles.xml": part(styles), "Pictures/1.png": b"\x00"}, stored={"mimetype"})


def shouted(body: str) -> str:
    content = odt(body)
    file = read_opendocument(content, Cutting("en"))
    assert rewritten(file, identity) == content
    members = unpacked(rewritten(file, shouting))
    assert list(members) == list(unpacked(content))
    return members["content.xml"].decode().partition(f"{SPACES}>")[2].removesuffix("</office:document>")


def test_spans_and_links_travel_with_their_words():
    body = (
        '<text:p text:style-name="P1">Some <text:span text:style-name="T1">bold</text:span> &amp; '
        '<text:a href="u">linked</text:a> words.</text:p>'
    )
    assert shouted(body) == (
        '<text:p text:style-name="P1">§SOME <text:span text:style-name="T1">§BOLD</text:span>§ &amp; '
        '<text:a href="u">§LINKED</text:a>§ WORDS.</text:p>'
    )


def test_breaks_part_texts_and_spaces_fields_and_marks_stay():
    body = (
        "<text:h>Title<text:tab/>here</text:h><text:p>Two<text:line-break/>lines</text:p>"
        '<text:p>On <text:date office:date-value="2020">1 May</text:date> there'
        '<text:bookmark text:name="b"/> was.</text:p>'
    )
    assert texts_of(read_opendocument(odt(body), Cutting("en"))) == ["Title", "here", "Two", "lines", "On  there was."]
    changed = shouted(body)
    assert "<text:h>§TITLE<text:tab/>§HERE</text:h><text:p>§TWO<text:line-break/>§LINES</text:p>" in changed
    assert '<text:date office:date-value="2020">1 May</text:date>' in changed
    assert '<text:bookmark text:name="b"/>' in changed


def test_notes_are_translated_and_remarks_and_deleted_text_are_not():
    number = "<text:note-citation>1</text:note-citation>"
    note = f"<text:note>{number}<text:note-body><text:p>A note.</text:p></text:note-body></text:note>"
    remark = "<office:annotation><text:p>A remark.</text:p></office:annotation>"
    gone = "<text:tracked-changes><text:deletion><text:p>Gone.</text:p></text:deletion></text:tracked-changes>"
    changed = shouted(f"{gone}<text:p>Some{note} words{remark} here.</text:p>")
    assert gone in changed
    assert remark in changed
    assert "<text:note-body><text:p>§A NOTE.</text:p></text:note-body></text:note>" in changed
    assert "§SOME" in changed


def test_headers_in_the_styles_are_read():
    content = odt("<text:p>Body</text:p>", "<text:p>Header</text:p>")
    assert texts_of(read_opendocument(content, Cutting("en"))) == ["Body", "Header"]


@pytest.mark.parametrize("seed", range(20))
def test_whatever_a_model_says_an_odt_stays_well_formed(seed):
    note = "<text:note><text:p>x y</text:p></text:note>"
    link = "<text:a>f<text:span>o</text:span></text:a>"
    body = f"<text:p>One <text:span>two</text:span> <text:s/>three{note} {link}.</text:p>"
    changed = rewritten(read_opendocument(odt(body), Cutting("en")), mangling(seed))
    assert rewritten(read_opendocument(changed, Cutting("en")), identity) == changed
    text = unpacked(changed)["content.xml"].decode()
    for tag in ("<text:span>", "</text:span>", "<text:p>", "</text:p>"):
        assert text.count(tag) == 2
    assert text.count("<text:note>") == text.count("<text:a>") == text.count("<text:s/>") == 1


CONTAINER = (
    '<container xmlns="c"><rootfiles><rootfile full-path="OEBPS/book.opf" media-type="x"/></rootfiles></container>'
)
PAGE = (
    '<?xml version="1.0"?>\n<!DOCTYPE html>\n<html xmlns="http://www.w3.org/1999/xhtml"><head><title/></head>'
    "<body><p>Hello <b>you</b>.&nbsp;<br/>1 &lt; 2, he said.</p></body></html>"
)
CONTENTS = (
    '<?xml version="1.0"?>\n<!DOCTYPE ncx PUBLIC "-//NISO//DTD ncx 2005-1//EN" "http://localhost:1/ncx.dtd">\n'
    '<ncx><navLabel><text>Chapter &amp; verse</text></navLabel><content src="a%20b.xhtml"/></ncx>'
)


def epub(page: str = PAGE, **others: str) -> bytes:
    items = (
        '<item href="a%20b.xhtml" media-type="application/xhtml+xml"/>'
        '<item href="toc.ncx" media-type="application/x-dtbncx+xml"/>'
        '<item href="s.css" media-type="text/css"/><item href="../gone.xhtml" media-type="application/xhtml+xml"/>'
    )
    members = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": CONTAINER,
        "OEBPS/book.opf": f'<package xmlns="o"><metadata>A title</metadata><manifest>{items}</manifest></package>',
        "OEBPS/a b.xhtml": page,
        "OEBPS/toc.ncx": CONTENTS,
        "OEBPS/s.css": "p { content: 'Words' }",
    }
    return packed(members | others, stored={"mimetype"})


def test_pages_and_labels_of_a_book_are_translated():
    content = epub()
    file = read_epub(content, Cutting("en"))
    assert rewritten(file, identity) == content
    before, after = unpacked(content), unpacked(rewritten(file, shouting))
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"OEBPS/a b.xhtml", "OEBPS/toc.ncx"}
    assert list(before) == list(after)
    assert b"<p>\xc2\xa7HELLO <b>\xc2\xa7YOU</b>\xc2\xa7.&nbsp;<br/>" in after["OEBPS/a b.xhtml"]
    assert b"<title/></head><body>" in after["OEBPS/a b.xhtml"]
    assert b"<text>\xc2\xa7CHAPTER &amp; VERSE</text>" in after["OEBPS/toc.ncx"]


@pytest.mark.parametrize("declaration", ['<?xml version="1.0"?>\n', ""])
@pytest.mark.parametrize("empty", ["<title/>", '<script src="x.js"/>', "<p/>"])
def test_empty_elements_of_xhtml_take_nothing_in(declaration, empty):
    page = (
        f'{declaration}<html xmlns="http://www.w3.org/1999/xhtml"><head>{empty}</head><body><p>Hello.</p></body></html>'
    )
    file = read_epub(epub(page), Cutting("en"))
    assert texts_of(file)[0] == "Hello."
    assert rewritten(file, identity) == epub(page)
    assert unpacked(rewritten(file, shouting))["OEBPS/a b.xhtml"].decode() == page.replace("Hello.", "§HELLO.")


def test_a_page_that_is_not_well_formed_is_read_as_html():
    page = "<p>Hello<br>you"
    file = read_epub(epub(page), Cutting("en"))
    assert rewritten(file, identity) == epub(page)
    assert unpacked(rewritten(file, shouting))["OEBPS/a b.xhtml"].decode() == "<p>§HELLO<br>§YOU"


@pytest.mark.parametrize("seed", range(10))
def test_whatever_a_model_says_pages_stay_readable(seed):
    changed = rewritten(read_epub(epub(), Cutting("en")), mangling(seed))
    assert rewritten(read_epub(changed, Cutting("en")), identity) == changed
    page = unpacked(changed)["OEBPS/a b.xhtml"].decode()
    assert [page.count(tag) for tag in ("<b>", "</b>", "<br/>", "<p>", "</p>")] == [1] * 5


@pytest.mark.parametrize(
    ("read", "content", "problem"),
    [
        (read_opendocument, packed({"mimetype": "text/plain"}), "not an OpenDocument text"),
        (read_opendocument, packed({"a": "1"}), "not an OpenDocument text"),
        (read_opendocument, odt("<text:p>"), "not well-formed XML"),
        (read_epub, packed({"a": "1"}), "not an EPUB book"),
        (read_epub, packed({"META-INF/container.xml": CONTAINER}), "lacks a part"),
        (read_epub, epub(b"\xff"), "not UTF-8 at byte 0"),
    ],
)
def test_a_file_that_is_none_is_refused(read, content, problem):
    with pytest.raises(InvalidDocumentError, match=problem):
        read(content, Cutting("en"))


def test_a_book_whose_pages_are_encrypted_is_refused_but_not_one_with_encrypted_fonts():
    rights = '<encryption><CipherReference URI="OEBPS/{}"/></encryption>'
    fonts = epub(**{"META-INF/encryption.xml": rights.format("f.otf")})
    assert len(read_epub(fonts, Cutting("en")).documents) == 2
    with pytest.raises(InvalidDocumentError, match="encrypted"):
        read_epub(epub(**{"META-INF/encryption.xml": rights.format("a b.xhtml")}), Cutting("en"))
