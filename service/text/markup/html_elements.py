"""What the elements of HTML are to the text in them: which cut it, which are never translated, which end by themselves.

Names are in lower case. An element that is not named here is inline, as browsers show it.
"""

from typing import Final


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


VOID: Final = _names(
    "area base basefont bgsound br col embed frame hr image img input keygen link meta param source track wbr"
)
"""Elements without content or end tag."""

_CELLS: Final = _names("caption colgroup tbody td tfoot th thead tr")
_SCOPES: Final = _names("body html marquee object table template")
_BLOCKS: Final = _names(
    "address article aside audio blockquote br button canvas center col datalist dd details dialog dir div dl dt "
    "fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr iframe input label "
    "legend li listing main menu meter nav noembed noframes noscript ol optgroup option p plaintext pre progress "
    "search section select summary textarea title ul video xmp"
)

INLINE_LEVEL: Final = 0


def level(name: str) -> int:
    """Return how far an end tag of a name reaches: never through an open element of a higher level.

    0 is inline; everything above cuts text: 1 blocks, 2 parts of tables, 3 tables and what else stands for itself.
    """
    if name in _BLOCKS:
        return 1
    if name in _CELLS:
        return 2
    return 3 if name in _SCOPES else INLINE_LEVEL


FOREIGN: Final = _names("math svg")
"""Elements whose content follows rules of its own."""

HOLDING_HTML: Final = _names("annotation-xml desc foreignobject mi mn mo ms mtext title")
"""Elements of SVG and MathML inside which HTML may stand."""

BREAKING_OUT: Final = _names(
    "b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing menu meta "
    "nobr ol p pre ruby s small span strong strike sub sup table tt u ul var"
)
"""Start tags that end SVG or MathML where they stand directly in it (HTML standard, "parsing foreign content")."""

UNSEEN: Final = _names("rp rt rtc script style svg")
"""Never translated, and no word of the sentence around them; how a word is spoken (<rt>) is none beside it."""

QUOTED: Final = _names("code kbd math samp")
"""Never translated, but a word of the sentence around them."""

VERBATIM: Final = _names("iframe listing noembed noframes plaintext pre template textarea xmp")
"""Never translated, and never part of a sentence."""

_CLOSING_PARAGRAPHS: Final = _names(
    "address article aside blockquote center details dialog dir div dl fieldset figcaption figure footer form header "
    "hgroup hr listing main menu nav ol plaintext pre search section summary table ul xmp"
)
_HEADINGS: Final = _names("h1 h2 h3 h4 h5 h6")


def _implied() -> dict[str, frozenset[str]]:
    ended = dict.fromkeys(_CLOSING_PARAGRAPHS, _names("p"))
    ended |= dict.fromkeys(_HEADINGS, _HEADINGS | {"p"})
    ended |= dict.fromkeys(("td", "th"), _names("p td th"))
    ended |= dict.fromkeys(("tbody", "tfoot", "thead"), _names("p td th tr tbody tfoot thead caption colgroup"))
    ended |= dict.fromkeys(("dd", "dt"), _names("p dd dt"))
    return ended | {
        "p": _names("p"),
        "li": _names("p li"),
        "tr": _names("p td th tr caption colgroup"),
        "option": _names("option"),
        "optgroup": _names("option optgroup"),
        "body": _names("head"),
    }


ENDED_BY: Final = _implied()
"""Start tag -> elements that it ends where they are the innermost open block, one after the other."""
