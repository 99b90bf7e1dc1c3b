"""Word and PowerPoint: paragraphs as words and marks, written again as runs that say the same in the same formats."""

import re

import pytest

from service.documents.office import read_office
from service.documents.units import Cutting
from service.errors import InvalidDocumentError
from tests.doubles.document_translators import identity, mangling, packed, rewritten, shouting, texts_of, unpacked

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
A = "http://schemas.openxmlformats.org/drawingml/2006/main"
WORD_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml."
SLIDE_TYPE = "application/vnd.openxmlformats-officedocument.presentationml."
PROLOG = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\r\n'


def types(parts: dict[str, str]) -> str:
    overrides = "".join(f'<Override PartName="/{name}" ContentType="{kind}"/>' for name, kind in parts.items())
    return f'{PROLOG}<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">{overrides}</Types>'


def word(body: str, others: dict[str, tuple[str, str]] | None = None) -> bytes:
    """A Word document with this body; others: name -> kind of part and content."""
    named = {"word/document.xml": WORD_TYPE + "document.main+xml"}
    named |= {name: WORD_TYPE + kind for name, (kind, _) in (others or {}).items()}
    members = {"[Content_Types].xml": types(named), "word/document.xml": in_document(body)}
    members |= {name: content for name, (_, content) in (others or {}).items()}
    return packed(members | {"word/media/image1.png": "\x00png", "docProps/app.xml": "<Properties/>"})


def in_document(body: str, root: str = "document") -> str:
    return f'{PROLOG}<w:{root} xmlns:w="{W}" xmlns:r="r" xmlns:mc="mc" xmlns:m="m"><w:body>{body}</w:body></w:{root}>'


def run(text: str, run_format: str = "") -> str:
    return f'<w:r w:rsidR="00AB">{run_format}<w:t xml:space="preserve">{text}</w:t></w:r>'


def paragraph(*inside: str) -> str:
    return f'<w:p w:rsidR="1"><w:pPr><w:pStyle w:val="Body"/></w:pPr>{"".join(inside)}</w:p>'


BOLD = "<w:rPr><w:b/></w:rPr>"
LANGUAGE = '<w:rPr><w:lang w:val="en-US"/></w:rPr>'
FIELD = {part: f'<w:r><w:fldChar w:fldCharType="{part}"/></w:r>' for part in ("begin", "separate", "end")} | {
    "page": "<w:r><w:instrText> PAGE </w:instrText></w:r>",
    "link": '<w:r><w:instrText> HYPERLINK "u" </w:instrText></w:r>',
}


def shouted(body: str) -> str:
    """The body of a Word document after a translator has shouted."""
    content = word(body)
    file = read_office(content, Cutting("en"), "docx")
    assert rewritten(file, identity) == content
    changed = unpacked(rewritten(file, shouting))
    assert {name for name, data in unpacked(content).items() if changed[name] != data} <= {"word/document.xml"}
    text = changed["word/document.xml"].decode()
    assert text.startswith(PROLOG)
    return text[text.index("<w:body>") + 8 : text.index("</w:body>")]


def bare(xml: str) -> str:
    """XML without what every run and text has."""
    return xml.replace(' xml:space="preserve"', "").replace(' w:rsidR="00AB"', "")


def test_runs_of_one_look_are_one_text():
    body = paragraph(run("One sen"), "<w:proofErr/>", run("tence, ", LANGUAGE), run("cut."))
    assert texts_of(read_office(word(body), Cutting("en"), "docx")) == ["One sentence, cut."]
    assert bare(shouted(body)) == paragraph("<w:r><w:t>§ONE SENTENCE, CUT.</w:t></w:r>")


def test_another_format_travels_with_its_words():
    body = paragraph(run("Some "), run("bold", BOLD), run(" words &amp; more."))
    assert bare(shouted(body)) == paragraph(
        "<w:r><w:t>§SOME </w:t></w:r>",
        f"<w:r>{BOLD}<w:t>§BOLD</w:t></w:r>",
        "<w:r><w:t>§ WORDS &amp; MORE.</w:t></w:r>",
    )


def test_the_usual_format_of_a_paragraph_is_that_of_most_of_it():
    body = paragraph(run("All of this is bold, ", BOLD), run("not this."))
    assert bare(shouted(body)) == paragraph(
        f"<w:r>{BOLD}<w:t>§ALL OF THIS IS BOLD, </w:t></w:r>", "<w:r><w:t>§NOT THIS.</w:t></w:r>"
    )


def test_links_and_what_stands_between_words_stay():
    link = f'<w:hyperlink r:id="rId4">{run("the page", BOLD)}</w:hyperlink>'
    note = '<w:r><w:footnoteReference w:id="2"/></w:r>'
    body = paragraph(run("See "), link, note, run(" today."), '<w:bookmarkStart w:id="0"/><w:bookmarkEnd w:id="0"/>')
    assert bare(shouted(body)) == paragraph(
        "<w:r><w:t>§SEE </w:t></w:r>",
        f'<w:hyperlink r:id="rId4"><w:r>{BOLD}<w:t>§THE PAGE</w:t></w:r></w:hyperlink>',
        note,
        "<w:r><w:t>§ TODAY.</w:t></w:r>",
        '<w:bookmarkStart w:id="0"/><w:bookmarkEnd w:id="0"/>',
    )


def test_tabs_and_line_breaks_part_texts_and_never_move():
    body = paragraph("<w:r><w:t>Name</w:t><w:tab/><w:t>Value</w:t><w:br/><w:t>Next line</w:t></w:r>")
    assert texts_of(read_office(word(body), Cutting("en"), "docx")) == ["Name", "Value", "Next line"]
    assert bare(shouted(body)) == paragraph(
        *("<w:r><w:t>§NAME</w:t></w:r>", "<w:r><w:tab/></w:r>", "<w:r><w:t>§VALUE</w:t></w:r>"),
        *("<w:r><w:br/></w:r>", "<w:r><w:t>§NEXT LINE</w:t></w:r>"),
    )


def test_a_field_is_one_word_and_a_link_field_has_its_text_translated():
    page = FIELD["begin"] + FIELD["page"] + FIELD["separate"] + run("3") + FIELD["end"]
    body = paragraph(run("Page "), page, run(" of the book"))
    assert texts_of(read_office(word(body), Cutting("en"), "docx")) == ["Page  of the book"]
    assert bare(page) in bare(shouted(body))
    link = FIELD["begin"] + FIELD["link"] + FIELD["separate"] + run("a link") + FIELD["end"]
    assert bare(FIELD["separate"] + run("§A LINK") + FIELD["end"]) in bare(shouted(paragraph(run("Here is "), link)))


def test_a_field_over_several_paragraphs_never_moves():
    first = paragraph(FIELD["begin"], FIELD["page"], FIELD["separate"], run("Chapter one"))
    second = paragraph(run("Chapter two"), FIELD["end"], run(" and more"))
    changed = bare(shouted(first + second))
    assert changed == bare(first + second).replace("Chapter one", "§CHAPTER ONE").replace(
        "Chapter two", "§CHAPTER TWO"
    ).replace(" and more", " §AND MORE")


def test_deleted_text_instructions_and_formulas_stay():
    deleted = '<w:del w:id="1"><w:r><w:delText>gone words</w:delText></w:r></w:del>'
    inserted = f'<w:ins w:id="2">{run("new words")}</w:ins>'
    formula = "<m:oMath><m:r><m:t>x = y</m:t></m:r></m:oMath>"
    changed = bare(shouted(paragraph(run("Some "), deleted, inserted, run(" for "), formula, run("."))))
    assert deleted in changed
    assert formula in changed
    assert '<w:ins w:id="2"><w:r><w:t>§NEW WORDS</w:t></w:r></w:ins>' in changed


def test_a_text_box_in_a_paragraph_is_translated_with_it():
    box = f"<mc:AlternateContent><w:txbxContent>{paragraph(run('In the box.'))}</w:txbxContent></mc:AlternateContent>"
    changed = bare(shouted(paragraph(run("Outside "), f"<w:r>{box}</w:r>", run("of it."))))
    assert "§IN THE BOX." in changed
    assert "§OUTSIDE " in changed
    assert changed.count("<w:txbxContent>") == 1


def test_tables_headers_footers_and_notes_are_read():
    table = f"<w:tbl><w:tr><w:tc>{paragraph(run('A cell'))}</w:tc></w:tr></w:tbl>"
    others = {
        f"word/{name}.xml": (f"{kind}+xml", in_document(paragraph(run(f"In the {name}")), kind))
        for name, kind in (
            ("header1", "header"),
            ("footer1", "footer"),
            ("footnotes", "footnotes"),
            ("endnotes", "endnotes"),
        )
    }
    others["word/comments.xml"] = ("comments+xml", in_document(paragraph(run("A remark")), "comments"))
    content = word(table, others)
    expected = ["A cell", "In the header1", "In the footer1", "In the footnotes", "In the endnotes"]
    assert texts_of(read_office(content, Cutting("en"), "docx")) == expected


def test_white_space_that_word_ignores_is_not_text():
    body = paragraph("\n  <w:r>\n    <w:t> padded </w:t>\n  </w:r>\n")
    assert bare(shouted(body)) == paragraph("<w:r><w:t>§PADDED</w:t></w:r>")


@pytest.mark.parametrize("seed", range(30))
def test_whatever_a_model_says_the_document_keeps_its_form(seed):
    body = paragraph(
        run("First "),
        run("bold", BOLD),
        run(" and "),
        f'<w:hyperlink r:id="a">{run("link", BOLD)}{run(" text")}</w:hyperlink>',
        "<w:r><w:drawing/></w:r>",
        run(". Second one."),
        "<w:r><w:tab/></w:r>",
        run("Third"),
    )
    content = word(body)
    changed = rewritten(read_office(content, Cutting("en"), "docx"), mangling(seed))
    again = read_office(changed, Cutting("en"), "docx")
    assert rewritten(again, identity) == changed
    xml = unpacked(changed)["word/document.xml"].decode()
    for kept in ('<w:hyperlink r:id="a">', "</w:hyperlink>", "<w:drawing/>", "<w:tab/>"):
        assert xml.count(kept) == 1
    # Text stands in runs only, and runs in paragraphs or links only.
    inside = re.sub(
        r"<w:r>(?:<w:rPr>.*?</w:rPr>)?(?:<w:t(?: xml:space=\"preserve\")?>[^<]*</w:t>|<w:\w+/>)</w:r>", "", xml
    )
    assert re.sub(r"</?w:hyperlink[^>]*>", "", inside).endswith("</w:pPr></w:p></w:body></w:document>")


def slides(*paragraphs: str) -> bytes:
    text = f'<p:sld xmlns:a="{A}" xmlns:p="p"><p:txBody>{"".join(paragraphs)}</p:txBody></p:sld>'
    named = {
        "ppt/presentation.xml": SLIDE_TYPE + "presentation.main+xml",
        "ppt/slides/slide1.xml": SLIDE_TYPE + "slide+xml",
    }
    return packed({"[Content_Types].xml": types(named), "ppt/presentation.xml": "<p/>", "ppt/slides/slide1.xml": text})


def test_slides_keep_their_formats_breaks_and_fields():
    small = '<a:rPr lang="en-US" sz="800" dirty="0"/>'
    number = '<a:fld id="{1}" type="slidenum"><a:rPr/><a:t>4</a:t></a:fld>'
    end = '<a:endParaRPr lang="en-US"/>'
    content = slides(
        '<a:p><a:pPr lvl="1"/><a:r><a:rPr lang="en-US"/><a:t>Big </a:t></a:r>'
        '<a:r><a:rPr err="1"/><a:t>text, </a:t></a:r>'
        f"<a:r>{small}<a:t>small</a:t></a:r><a:br/><a:r><a:t>Slide </a:t></a:r>{number}{end}</a:p>"
    )
    file = read_office(content, Cutting("en"), "pptx")
    assert texts_of(file) == ["Big text, small", "Slide "]
    assert rewritten(file, identity) == content
    changed = unpacked(rewritten(file, shouting))["ppt/slides/slide1.xml"].decode()
    assert (
        '<a:p><a:pPr lvl="1"/><a:r><a:rPr lang="en-US"/><a:t>§BIG TEXT, </a:t></a:r>'
        f"<a:r>{small}<a:t>§SMALL</a:t></a:r><a:br/>"
        f'<a:r><a:rPr lang="en-US"/><a:t>§SLIDE </a:t></a:r>{number}{end}</a:p>'
    ) in changed


@pytest.mark.parametrize(
    ("content", "kind", "problem"),
    [
        (packed({"a": "1"}), "docx", "does not say what its parts are"),
        (slides(), "docx", "not a Word document"),
        (word(""), "pptx", "not a PowerPoint presentation"),
        (word("<w:p>"), "docx", "not well-formed XML"),
        (packed({"[Content_Types].xml": "<Types"}), "docx", "not well-formed XML"),
    ],
)
def test_a_file_that_is_none_is_refused(content, kind, problem):
    with pytest.raises(InvalidDocumentError, match=problem):
        read_office(content, Cutting("en"), kind)
