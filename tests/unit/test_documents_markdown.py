"""Markdown: words change, structure does not, and what a target says is never taken for markup."""

import pytest

from service.documents.markdown import MarkdownFile
from service.documents.markdown_events import markdown_events
from service.documents.units import Cutting
from service.errors import InvalidDocumentError
from tests.doubles.document_translators import identity, mangling, rewritten, shouting, texts_of

PAGE = """\ufeff---
title: Front matter
---

# Head *em* `code` here #

Para one with **bold *x* y** and [link *t*](http://a.b "ti") and ![alt text](i.png)
continued line\x20\x20
hard break <b>html</b> &amp; \\* esc and <code>x <i>y</i></code> end. Second sentence.

> quoted words
> over `co
> de` lines

- item one
  more
- [ ] a task [Rust][] and [Foo] and [bar][r]

| Head | Other |
|------|:-----:|
| c \\| d | *e* `x\\|y` |

<div align="center">
<h1>Title here</h1>
</div>

[^1]: Foot note text

Ref[^1] <http://auto.link> costs $x^2$ ~~del~~.

[r]: http://x.y "Title"
[rust]: http://rust
[foo]: http://foo

Underlined
==========

```py
fence = "code"
```

    indented code
"""


def markdown(text: str) -> MarkdownFile:
    return MarkdownFile(text.encode(), Cutting("en"))


def shouted(text: str) -> str:
    return rewritten(markdown(text), shouting).decode()


def test_an_identity_changes_no_byte():
    assert rewritten(markdown(PAGE), identity).decode() == PAGE
    windows = PAGE.replace("\n", "\r\n")
    assert rewritten(markdown(windows), identity).decode() == windows


def test_only_words_change():
    changed = shouted(PAGE)
    for kept in (
        "---\ntitle: Front matter\n---\n",
        "> de`",
        '```py\nfence = "code"\n```',
        "    indented code\n",
        "[r]: http://x.y",
    ):
        assert kept in changed
    assert "# §HEAD *§EM* `code`§ HERE #\n" in changed
    assert (
        '**§BOLD *§X*§ Y**§ AND [§LINK *§T*](http://a.b "ti")§ AND ![§ALT TEXT](i.png)§ CONTINUED LINE  \n' in changed
    )
    assert "\n§HARD BREAK <b>§HTML</b>§ & * ESC AND <code>x <i>y</i></code>§ END. §SECOND SENTENCE.\n" in changed
    assert "- §ITEM ONE MORE\n- [ ] §A TASK [§RUST][Rust]§ AND [§FOO][Foo]§ AND [§BAR][r]\n" in changed
    assert "| §HEAD | §OTHER |\n|------|:-----:|\n| §C \\| D | *§E* `x\\|y` |\n" in changed
    assert '<div align="center">\n<h1>§TITLE HERE</h1>\n</div>\n' in changed
    assert "[^1]: §FOOT NOTE TEXT\n\n§REF[^1] <http://auto.link>§ COSTS $x^2$ ~~§DEL~~§.\n" in changed
    assert "§UNDERLINED\n==========\n" in changed


def test_code_formulas_addresses_and_comments_are_not_given_to_a_model():
    seen = " ".join(texts_of(markdown(PAGE + "\nText <!-- a comment --> and <kbd>Ctrl</kbd> here\n")))
    for hidden in ("fence", "indented", "x^2", "auto.link", "http", "Front", "comment", "Ctrl", "div"):
        assert hidden not in seen


@pytest.mark.parametrize(
    ("source", "target", "written"),
    [
        ("Words\n", "- not a list", "\\- not a list\n"),
        ("Words\n", "1. not a list", "1\\. not a list\n"),
        ("Words\n", "# no heading", "\\# no heading\n"),
        ("Words\n", "> no quotation", "\\> no quotation\n"),
        ("Words\n", "no *emphasis* here", "no \\*emphasis\\* here\n"),
        ("Words\n", "2 * 3 and a_b_c", "2 * 3 and a_b_c\n"),
        ("Words\n", "<b>no tag</b>", "\\<b\\>no tag\\</b\\>\n"),
        ("Words\n", "&amp; no reference", "\\&amp; no reference\n"),
        ("Words\n", "[no](link) & [none]", "\\[no\\](link) & \\[none\\]\n"),
        ("Words\n", "line\nbreak", "line break\n"),
        ("# Words\n", "ends in #", "# ends in \\#\n"),
        ("# Words\n", "- a dash", "# - a dash\n"),
        ("| Words |\n|---|\n", "a | b", "| a \\| b |\n|---|\n"),
        ("Words\n===\n", "1. one", "1\\. one\n===\n"),
        ("- Words\n", "- not a list", "- \\- not a list\n"),
        ("> Words\n", "> not deeper", "> \\> not deeper\n"),
    ],
)
def test_what_a_target_says_is_never_markup(source, target, written):
    assert markdown(source).put_together([target]).decode() == written


def marked(source: str, *pieces: str) -> str:
    """Puts these texts between the marks of the only run."""
    file = markdown(source)
    (document,) = file.documents
    marks = [piece for piece in document_text(document).split("Q") if piece]
    return file.put_together(["".join(text + mark for text, mark in zip(pieces, [*marks, ""], strict=True))]).decode()


def document_text(document) -> str:
    return "".join(part.text for part in document.parts)


def test_emphasis_that_markdown_would_not_see_is_written_as_html():
    # CommonMark takes no closing mark between punctuation and a letter.
    assert marked("Q**Q**Q\n", "文", "字。", "文") == "文<strong>字。</strong>文\n"
    assert marked("Q**Q**Q\n", "a ", "b", " c") == "a **b** c\n"


def test_white_space_at_the_edge_of_emphasis_moves_out_of_it():
    assert marked("Q *Q* Q\n".replace(" ", ""), "a", " b ", "c") == "a *b* c\n"


def structure(text: str):
    """Blocks in order with the code in them, and how often each link, piece of code or tag is there."""
    blocks, marks = [], []
    emphasis = {
        "<em>": "Emphasis",
        "<strong>": "Strong",
        "<del>": "Strikethrough",
        "</em>": "",
        "</strong>": "",
        "</del>": "",
    }
    verbatim = 0
    for event in markdown_events(text):
        if event.kind in ("enter", "leave"):
            blocks.append((event.kind, event.name))
            verbatim += (event.name in ("CodeBlock", "MetadataBlock")) * (1 if event.kind == "enter" else -1)
        elif event.kind == "text" and verbatim:
            blocks.append(("code", event.text))
        elif event.kind == "open":
            marks.append((event.name, event.text))
        elif event.kind == "html":
            marks.append((emphasis.get(event.text, event.text), ""))
        elif event.kind in ("code", "formula", "footnote"):
            marks.append((event.kind, " ".join(event.text.split())))
    return blocks, sorted(mark for mark in marks if mark != ("", ""))


@pytest.mark.parametrize("seed", range(60))
def test_whatever_a_model_says_the_structure_stays(seed):
    assert structure(rewritten(markdown(PAGE), mangling(seed)).decode()) == structure(PAGE)


def test_blocks_inside_one_another_are_read():
    text = "1. > ## Deep *head*\n   >\n   > - one\n   >   two\n\n   Para\n"
    assert shouted(text) == "1. > ## §DEEP *§HEAD*\n   >\n   > - §ONE TWO\n\n   §PARA\n"


def test_text_without_words_has_no_documents():
    for text in ("", "\n", "---\n", "```\ncode\n```\n", "    code\n", "1 + 2\n", "![](x.png)\n", "<!-- words -->\n"):
        assert markdown(text).documents == ()
        assert rewritten(markdown(text), shouting).decode() == text


def test_what_is_not_utf_8_is_refused():
    with pytest.raises(InvalidDocumentError, match="not UTF-8 at byte 2"):
        MarkdownFile(b"a \xff", Cutting("en"))


@pytest.mark.parametrize(
    "unit",
    ["*a ", "[", "`", "_", "**", "<", "![", "> ", "- ", "|", "[a](", "$", "&", "~~", "\\", "<b>", "</b>", "<!--", "]("],
)
def test_hostile_markdown_takes_linear_time(unit):
    rewritten(markdown("word " + unit * (60_000 // len(unit)) + " word\n"), shouting)
