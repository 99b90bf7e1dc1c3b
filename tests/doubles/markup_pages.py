"""Random HTML for laws: soups of tag pieces, and pages whose every word is known to be for translation or not."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

_BLOCKS = ("p", "div", "ul", "li", "table", "tr", "td", "th", "h1", "section", "br", "hr", "dd", "button", "option")
_INLINE = (
    "b",
    "i",
    "a",
    "span",
    "code",
    "u",
    "font",
    "sup",
    "img",
    "wbr",
    "x-y",
    "svg",
    "math",
    "script",
    "style",
    "kbd",
)
_ATTRIBUTES = (
    *(
        "",
        "",
        "/",
        " title='A title'",
        ' alt="An & alt. Two."',
        " translate=no",
        " class=notranslate",
        " translate=yes",
    ),
    *(" class='a b'", " href=x", " title=bare", " title", " alt='&amp;&copy=1'", ' placeholder="a\nb"'),
)
_TEXTS = (
    *("Hello", "world.", "One. Two.", " ", "\n  ", "\r\n", "&amp;", "&nbsp;", "&lt;", "<", "&", "&copy;", "a", "Dr. X"),
    *("é", "&rarr;", "\x00", "\u2028", ". ", "! ", "1. ", "- ", "'", '"', "&bogus;", "&#10;", "\U0001d54f", "\u0301"),
    *("中文。", "\xa0", "<!-- c -->", "</>"),
)
_ODD = (
    *("<!doctype html>", "<?php x ?>", "<![CDATA[ x ]]>", "</ x>", "<!>", "<!--", "-->", "<", "</", "<b ", '"', "<rt>"),
    *("<textarea>", "</textarea>", "<pre>", "</pre>", "<template>", "</template>", "<noscript>", "</noscript>"),
    *("<!--[if IE]>", "<![endif]>", "<iframe>", "</iframe>", "<plaintext>", "<foreignObject>", "</foreignObject>"),
    *(
        "<title>",
        "</title>",
        "<title/>",
        "<desc>",
        "<body>",
        "</html>",
        "<html translate=no>",
        "<p title='",
        "<select>",
    ),
)


def soup(seed: int) -> str:
    """Pieces of tags and text in any order."""
    rng = random.Random(seed)

    def piece() -> str:
        kind = rng.random()
        if kind < 0.45:
            return rng.choice(_TEXTS)
        if kind > 0.92:
            return rng.choice(_ODD)
        name = rng.choice(_BLOCKS if kind < 0.65 else _INLINE)
        return f"</{name}>" if rng.random() < 0.4 else f"<{name}{rng.choice(_ATTRIBUTES)}>"

    return "".join(piece() for _ in range(rng.choice((4, 12, 40))))


@dataclass
class Page:
    """Well-formed HTML, and for each of its words whether it is for translation."""

    rng: random.Random
    words: dict[str, bool] = field(default_factory=dict)
    html: str = ""

    def word(self, is_read: bool) -> str:
        name = "w" + "".join("abcdefghij"[int(digit)] for digit in str(len(self.words))) + "q"
        self.words[name] = is_read
        return name

    def kept(self) -> str:
        is_read = False
        return self.word(is_read)

    def text(self, is_read: bool) -> str:
        words = " ".join(self.word(is_read) for _ in range(self.rng.randint(1, 3)))
        return self.rng.choice(("", " ", "\n  ")) + words + self.rng.choice(("", ". ", "!\n", "&nbsp;", " &lt; ", ", "))

    def attributes(self, is_read: bool) -> str:
        quote = self.rng.choice("\"'")
        kinds: tuple[Callable[[], str], ...] = (
            lambda: "",
            lambda: "",
            lambda: f" title={quote}{self.word(is_read)} &amp; {self.word(is_read)}{quote}",
            lambda: f" data-x='{self.kept()}'",
            lambda: f" aria-label={self.word(is_read)}",
        )
        return self.rng.choice(kinds)()

    def several(self, make: Callable[[bool, int], str], is_read: bool, depth: int) -> str:
        return "".join(make(is_read, depth) for _ in range(self.rng.randint(0, 4)))

    def inline(self, is_read: bool, depth: int) -> str:
        if depth == 0 or self.rng.random() < 0.45:
            return self.text(is_read)
        name, code = self.rng.choice(("b", "a", "x-y")), self.rng.choice(("code", "kbd", "samp"))
        never = False
        kinds: tuple[Callable[[], str], ...] = (
            lambda: f"<{name}{self.attributes(is_read)}>{self.several(self.inline, is_read, depth - 1)}</{name}>",
            lambda: f'<img{self.attributes(is_read)} alt="{self.word(is_read)}">',
            lambda: f"<!-- {self.kept()} <b> -->",
            lambda: f"<{code}{self.attributes(is_read)}>{self.several(self.inline, never, 1)}</{code}>",
            lambda: f"<i class='x notranslate' title={self.kept()}>{self.kept()} <b>{self.kept()}</b></i>",
            lambda: f"<script>'{self.kept()}<b>'</script>",
            lambda: f"<svg{self.attributes(is_read)}><title>{self.kept()}</title><style>{self.kept()}</style></svg>",
            lambda: "<br>",
            lambda: f"<input placeholder='{self.word(is_read)}'>",
        )
        return self.rng.choice((kinds[0], *kinds))()

    def block(self, is_read: bool, depth: int) -> str:
        if depth == 0 or self.rng.random() < 0.5:
            name = self.rng.choice(("p", "h1", "li", "td", "dd"))
            return f"<{name}{self.attributes(is_read)}>{self.several(self.inline, is_read, 2)}</{name}>"
        outer = self.rng.choice(("div", "ul", "table", "tr", "section", "noscript"))
        never = False
        kinds: tuple[Callable[[], str], ...] = (
            lambda: f"<{outer}>\n  {self.several(self.block, is_read, depth - 1)}</{outer}>",
            lambda: f"<pre>{self.kept()} <b>{self.kept()}</b></pre>",
            lambda: f"<textarea placeholder='{self.word(is_read)}'>{self.kept()} &amp; <p></textarea>",
            lambda: f"<div translate=no title={self.kept()}>{self.several(self.block, never, depth - 1)}</div>",
            lambda: f"<a href=x>{self.text(is_read)}<div>{self.text(is_read)}</div>{self.text(is_read)}</a>",
            lambda: self._switched_on_again() if is_read else "",
        )
        return self.rng.choice((kinds[0], *kinds))()

    def _switched_on_again(self) -> str:
        always = True
        return f"<div translate=no>{self.kept()}<p translate=yes>{self.inline(always, 1)}</p>{self.kept()}</div>"


def page(seed: int) -> Page:
    """A page of a few blocks."""
    made = Page(random.Random(seed))
    always = True
    made.html = made.several(made.block, always, 3)
    return made
