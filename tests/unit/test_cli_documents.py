"""`verso translate` on files that are documents: formats, outputs, and failures that leave nothing behind."""

from dataclasses import replace

import pytest
from click.testing import CliRunner

import service.loading
import service.translation.translator
from service.cli import main
from service.cli.lines import Line, paragraphs
from service.cli.windows import translate_documents
from service.documents.formats import FORMATS, format_of, unsupported_kind
from service.errors import DeadlineExceededError
from service.text.document import Document, Gap, Segment, Span
from service.text.segmentation import segment
from service.translation.registry import LanguagePairInfo
from service.translation.translation import Translation, TranslationRequest
from tests.contract.scripted_backend import ScriptedRegistry, result_of
from tests.doubles.document_translators import packed, shouting, translated, unpacked

TEMPLATE = TranslationRequest(texts=(), source="en", target="de")


class ShoutingTranslator:
    """Shouts documents and texts; remembers requests, and fails at the one that is numbered."""

    def __init__(self):
        self.requests = []
        self.fails_at = None

    async def translate(self, request):
        self.requests.append(request)
        if len(self.requests) == self.fails_at:
            raise DeadlineExceededError("too late")
        texts = [
            translated(text if isinstance(text, Document) else segment(text, "en"), shouting) for text in request.texts
        ]
        empty = result_of(replace(request, texts=()))
        return replace(empty, translations=tuple(Translation(text, (), (), None) for text in texts))


class OnePair(ScriptedRegistry):
    def languages(self):
        return (LanguagePairInfo("en", "de", "scripted"),)


@pytest.fixture
def translator():
    return ShoutingTranslator()


@pytest.fixture
def run(monkeypatch, translator):
    monkeypatch.setattr(service.loading, "open_models", lambda settings, sink: OnePair())
    monkeypatch.setattr(service.translation.translator, "Translator", lambda registry: translator)

    def invoke(*arguments, **options):
        return CliRunner().invoke(main, ["translate", *map(str, arguments)], **options)

    return invoke


XLIFF_TARGET = (
    '<xliff><file target-language="de"><trans-unit><source>words</source>'
    "<target>§WORDS</target></trans-unit></file></xliff>\n"
)
SAMPLES = {
    "page.md": ("# Head *here*\n", "# §HEAD *§HERE*\n"),
    "page.html": ("<p>Some <b>words</b></p>\n", "<p>§SOME <b>§WORDS</b></p>\n"),
    "film.srt": ("1\n00:00:01,000 --> 00:00:02,000\nWords\n", "1\n00:00:01,000 --> 00:00:02,000\n§WORDS\n"),
    "film.vtt": ("WEBVTT\n\n00:01.000 --> 00:02.000\nWords\n", "WEBVTT\n\n00:01.000 --> 00:02.000\n§WORDS\n"),
    "texts.json": ('{"key": "words"}\n', '{"key": "§WORDS"}\n'),
    "texts.po": ('msgid "words"\nmsgstr ""\n', 'msgid "words"\nmsgstr "§WORDS"\n'),
    "texts.xlf": (
        "<xliff><file><trans-unit><source>words</source></trans-unit></file></xliff>\n",
        XLIFF_TARGET,
    ),
    "corpus.en": ("one\ntwo\n", "§ONE\n§TWO\n"),
    "notes": ("* one\n", "* §ONE\n"),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_a_file_is_translated_by_what_its_suffix_says(run, tmp_path, name):
    source, target = SAMPLES[name]
    path = tmp_path / name
    path.write_bytes(b"\xef\xbb\xbf" * (not name.endswith("xlf")) + source.encode())
    result = run(path, "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "out").read_bytes() == b"\xef\xbb\xbf" * (not name.endswith("xlf")) + target.encode()
    assert run(path).stdout_bytes == (tmp_path / "out").read_bytes()
    assert path.read_bytes().endswith(source.encode())


def test_standard_input_is_what_format_says(run):
    assert run("--format", "html", input="<p>Words</p>").stdout == "<p>§WORDS</p>"
    assert run("--format", "json", "-", input='["Words"]').stdout == '["§WORDS"]'
    assert run(input="<p>\n").stdout == "§<P>\n"


def test_format_wins_over_the_suffix(run, tmp_path):
    path = tmp_path / "page.md"
    path.write_text("a &amp; b\n")
    assert run(path, "--format", "text").stdout == "§A &AMP; B\n"
    page = tmp_path / "page.txt"
    page.write_text("<b>words</b>")
    assert run(page, "--format", "html").stdout == "<b>§WORDS</b>"


def test_containers_go_to_a_file(run, tmp_path):
    page = '<p xmlns="http://www.w3.org/1999/xhtml">Words</p>'
    book = packed(
        {
            "META-INF/container.xml": '<c><rootfile full-path="b.opf"/></c>',
            "b.opf": '<p><item href="a.xhtml" media-type="application/xhtml+xml"/></p>',
            "a.xhtml": page,
        }
    )
    path = tmp_path / "book.epub"
    path.write_bytes(book)
    refused = run(path)
    assert (refused.exit_code, "give --output" in refused.stderr) == (2, True)
    assert run(path, "--output", tmp_path / "out.epub").exit_code == 0
    assert unpacked((tmp_path / "out.epub").read_bytes())["a.xhtml"].decode() == page.replace("Words", "§WORDS")


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.json", b"{", "a.json: not JSON: line 1, column 2"),
        ("a.docx", b"PK", "a.docx: the document is not a zip file"),
        ("a.srt", b"no cues", "a.srt: not a SubRip file"),
        ("a.md", b"\xff", "a.md: not UTF-8 at byte 0"),
        ("a.xliff", b"<xliff>", "a.xliff: not well-formed XML"),
    ],
)
def test_a_broken_file_is_one_message_and_leaves_nothing(run, tmp_path, name, content, problem):
    path = tmp_path / name
    path.write_bytes(content)
    result = run(path, "-o", tmp_path / "out")
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: ")
    assert problem in result.stderr
    assert "Traceback" not in result.output
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_while_translating_leaves_nothing(run, translator, tmp_path):
    path = tmp_path / "a.md"
    path.write_text("word " * 30_000)
    translator.fails_at = 1
    assert run(path, "-o", tmp_path / "out").exit_code == 1
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["a.pdf", "A.DOC", "a.xlsx", "a.rtf", "a.odp"])
def test_kinds_that_are_not_supported_are_told_what_is(run, tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"x")
    result = run(path)
    assert result.exit_code == 2
    assert "are not supported; supported formats: text, markdown, html, srt" in result.stderr
    assert run(path, "--format", "text").exit_code == 0


def test_a_file_is_never_written_over_itself(run, tmp_path):
    for name in ("a.txt", "a.md"):
        path = tmp_path / name
        path.write_text("words\n")
        for output in (path, tmp_path / "x" / ".." / name):
            (tmp_path / "x").mkdir(exist_ok=True)
            result = run(path, "-o", output)
            assert (result.exit_code, "is the file to translate" in result.stderr) == (2, True)
        (tmp_path / "link").unlink(missing_ok=True)
        (tmp_path / "link").symlink_to(path)
        assert run(path, "-o", tmp_path / "link").exit_code == 2
        assert path.read_text() == "words\n"


def test_documents_go_one_at_a_time(run, tmp_path):
    for name in ("a.md", "b.txt"):
        (tmp_path / name).write_text("words\n")
    result = run(tmp_path / "a.md", tmp_path / "b.txt")
    assert (result.exit_code, "one file at a time" in result.stderr) == (2, True)


def test_options_of_the_text_reach_the_translator(run, translator, tmp_path):
    path = tmp_path / "a.json"
    path.write_text('["At Acme Inc. Ltd we work. Here too."]')
    assert run(path, "--split-sentences", "off", "--protect", "Acme Inc. Ltd", "--protect", "Verso").exit_code == 0
    (request,) = translator.requests
    assert (request.split_sentences, request.protect) == ("off", ("Acme Inc. Ltd", "Verso"))
    (document,) = request.texts
    assert len(document.parts) == 1
    assert run(path, "--protect", "Acme Inc. Ltd").exit_code == 0
    assert [part.text for part in translator.requests[1].texts[0].parts if isinstance(part, Segment)] == [
        "At Acme Inc. Ltd we work.",
        "Here too.",
    ]


def test_hard_wrapped_text_is_given_by_paragraphs(run, translator):
    text = "one two\nthree.\n\n\nfour\r\nfive"
    assert run("--split-sentences", "nonewlines", input=text).exit_code == 0
    assert [text for request in translator.requests for text in request.texts] == [
        "one two\nthree.\n",
        "",
        "four\r\nfive",
    ]


def line(text, ending="\n"):
    return Line("", text, ending, len(text) + len(ending))


def test_paragraphs_are_lines_up_to_a_blank_one():
    lines = [line("a"), line("b", "\r\n"), line(""), line(" "), line("c", "")]
    joined = list(paragraphs(lines))
    assert [one.text for one in joined] == ["a\nb\r\n", " ", "c"]
    assert "".join(one.text + one.ending for one in joined) == "".join(one.text + one.ending for one in lines)
    assert sum(one.num_bytes for one in joined) == sum(one.num_bytes for one in lines)
    long = list(paragraphs([line("x" * 15_000)] * 5))
    assert [len(one.text) for one in long] == [30_001, 30_001, 15_000]


def test_every_suffix_stands_for_one_format():
    suffixes = [suffix for found in FORMATS.values() for suffix in found.suffixes]
    assert len(set(suffixes)) == len(suffixes)
    assert all(format_of("A" + suffix.upper()) == found.name for found in FORMATS.values() for suffix in found.suffixes)
    assert not any(unsupported_kind("a" + suffix) for suffix in suffixes)
    assert format_of("a.txt") == format_of("a") == format_of("a.de") == "text"


def long_document(num_segments: int) -> Document:
    parts = []
    position = 0
    for number in range(num_segments):
        text = f"sentence {number} " + "x" * 990
        parts += [Segment(text, Span(position, position + len(text))), Gap("\n")]
        position += len(text) + 1
    return Document(tuple(parts))


def test_a_long_document_is_translated_in_pieces_of_bounded_size():
    document = long_document(200)
    translator = ShoutingTranslator()
    short = Document((Gap("-"),))
    pieces = list(translate_documents([short, document, short], translator.translate, TEMPLATE))
    sizes = [sum(len(part.text) for text in one.texts for part in text.parts) for one in translator.requests]
    assert max(sizes) < 52_000
    assert len(sizes) > 3
    assert sum(length for _, _, length in pieces) == sum(len(part.text) for part in document.parts) + 2
    assert "".join(text for index, text, _ in pieces if index == 1) == translated(document, shouting)
    assert [index for index, _, _ in pieces][0 :: len(pieces) - 1] == [0, 2]


def test_pieces_are_never_parted_between_two_segments():
    text = "字。" * 30_000
    segments = tuple(Segment("字。", Span(start, start + 2)) for start in range(0, len(text), 2))
    translator = ShoutingTranslator()
    list(translate_documents([Document(segments)], translator.translate, TEMPLATE))
    assert len(translator.requests) == 1


def test_documents_at_work_are_given_up_when_one_fails():
    translator = ShoutingTranslator()
    translator.fails_at = 2
    with pytest.raises(DeadlineExceededError):
        list(translate_documents([long_document(500)], translator.translate, TEMPLATE))
    assert len(translator.requests) <= 4
