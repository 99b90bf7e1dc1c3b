"""The tokenizer behind its wrapper: what it does with lines, unfinished tags and raw text must not move a position."""

import random
from itertools import pairwise

import pytest

from service.text.markup.html_tokens import html_tokens
from service.text.markup.tokens import Token, TokenKind


def slices(text: str) -> list[tuple[str, str]]:
    return [(token.kind.value, text[token.start : token.end]) for token in html_tokens(text)]


def assert_covers(text: str, tokens: list[Token]) -> None:
    assert [token.start for token in tokens[:1]] == [0] * bool(text)
    assert all(one.end == two.start for one, two in pairwise(tokens))
    assert all(token.start < token.end for token in tokens)
    assert [token.end for token in tokens[-1:]] == [len(text)] * bool(text)


def test_positions_count_line_breaks_as_they_are_in_the_source() -> None:
    assert slices("a\r\nb<b\r\n>c\rd</b>\r\n<i>") == [
        ("text", "a\r\nb"),
        ("start", "<b\r\n>"),
        ("text", "c\rd"),
        ("end", "</b>"),
        ("text", "\r\n"),
        ("start", "<i>"),
    ]


@pytest.mark.parametrize("rest", ["<b", "</b", "<b title='", "<b title", "<?", "</b x"])
def test_an_unfinished_tag_at_the_end_is_a_rest(rest: str) -> None:
    assert slices(f"a{rest}") == [("text", "a"), ("rest", rest)]
    assert slices(f"<i>{rest}") == [("start", "<i>"), ("rest", rest)]
    assert slices(rest) == [("rest", rest)]


def test_what_the_standard_drops_from_text_is_a_token() -> None:
    assert slices("</>a</></>b<i></></i></>") == [
        ("other", "</>"),
        ("text", "a"),
        ("other", "</>"),
        ("other", "</>"),
        ("text", "b"),
        ("start", "<i>"),
        ("other", "</>"),
        ("end", "</i>"),
        ("other", "</>"),
    ]
    assert slices("x </><</i>") == [("text", "x "), ("other", "</>"), ("text", "<"), ("end", "</i>")]
    assert slices("<title>a</>b</title>") == [("start", "<title>"), ("text", "a</>b"), ("end", "</title>")]


@pytest.mark.parametrize("name", ["script", "style", "textarea", "title", "iframe", "xmp", "noembed", "noframes"])
def test_raw_text_is_one_text(name: str) -> None:
    assert slices(f"<{name}>a<b>c</{name} >d") == [
        ("start", f"<{name}>"),
        ("text", "a<b>c"),
        ("end", f"</{name} >"),
        ("text", "d"),
    ]
    assert slices(f"<{name}>a</>b</{name}") == [("start", f"<{name}>"), ("text", f"a</>b</{name}")]


def test_noscript_is_markup() -> None:
    tokens = list(html_tokens("<NoScript><b>a</b></noscript>"))
    assert [(token.kind.value, token.name) for token in tokens] == [
        ("start", "noscript"),
        ("start", "b"),
        ("text", ""),
        ("end", "b"),
        ("end", "noscript"),
    ]


def test_drawings_hold_no_raw_text() -> None:
    text = "<svg><TITLE>a<b></b></TITLE><script/></svg><math><style>x</style></math><title>c<d></title>"
    assert [token.name for token in html_tokens(text) if token.name] == [
        *("svg", "title", "b", "b", "title", "script", "svg", "math", "style", "style", "math", "title", "title"),
    ]


def test_references_are_tokens_with_what_they_say() -> None:
    text = "&amp;&nbsp;&copy b&notit;&#0;&#x80;&#xD800;&bogus;&"
    found = [(text[token.start : token.end], token.text) for token in html_tokens(text) if token.text]
    assert found == [
        ("&amp;", "&"),
        ("&nbsp;", "\xa0"),
        ("&copy", "©"),
        ("&notit", "¬it"),
        ("&#0;", "\ufffd"),
        ("&#x80;", "€"),
        ("&#xD800;", "\ufffd"),
    ]


def test_attributes_are_decoded_and_the_first_of_a_name_counts() -> None:
    (tag,) = html_tokens("<P a=1 B='x &amp; y' a=2 c>")
    assert (tag.name, dict(tag.attributes)) == ("p", {"a": "1", "b": "x & y", "c": ""})


PIECES = (
    *(
        "<",
        "</",
        ">",
        "</>",
        "<b>",
        "</b>",
        "a",
        "&amp;",
        "&",
        "<!",
        "<!--",
        "-->",
        "<?",
        "?>",
        "\r",
        "\n",
        "\r\n",
        "\0",
        " ",
    ),
    *(
        "<title>",
        "</title>",
        "<script>",
        "</script>",
        "<svg>",
        "</svg>",
        "<math>",
        "<noscript>",
        "<title/>",
        "<p>",
        "]]>",
    ),
    *(
        "<![CDATA[",
        "=",
        "'",
        '"',
        "/",
        "<plaintext>",
        "<p a='",
        "é",
        "𝔸",
        "\ufeff",
        "<svg a='<title>'>",
        "\u2028",
        "\ud800",
    ),
)


def test_tokens_cover_any_soup() -> None:
    rng = random.Random(7)
    for _ in range(2_000):
        text = "".join(rng.choices(PIECES, k=rng.randint(0, 14)))
        tokens = list(html_tokens(text))
        assert_covers(text, tokens)
        for token in tokens:
            source = text[token.start : token.end]
            if token.kind in (TokenKind.START, TokenKind.END):
                assert source.startswith("<")
                assert source.endswith(">")
                assert source.lstrip("</").lower().startswith(token.name[:1])
            elif token.kind is TokenKind.REFERENCE:
                assert source.startswith("&")
