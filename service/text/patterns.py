"""What is written the same in every language, as one regular expression: addresses, paths, tokens of templates, ids.

Every quantifier that could run on is bounded, so that a search takes time in proportion to the text. Emoji are for
`emoji`; which of these stretches become placeholders is for `protection`.
"""

import re
from typing import Final

# Scripts that put no space between an address and what follows it.
_UNSPACED: Final = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3000-\u30ff\u3400-\u9fff\uf900-\uffef"
_URL_CHARACTER: Final = rf"[^\s<>\"`|\\^“”„«»{_UNSPACED}]"
_TOP_LEVEL: Final = (
    "com|org|net|edu|gov|int|info|biz|io|dev|app|eu|"
    "de|at|ch|fr|es|it|nl|be|pl|cz|se|no|dk|fi|pt|uk|us|ca|cn|jp|kr|ru|br|in"
)
_FILE_ENDING: Final = (
    "txt|md|rst|pdf|docx?|xlsx?|pptx?|csv|tsv|json|ya?ml|toml|xml|html?|css|jsx?|tsx?|py|rb|rs|go|java|kt|swift|cpp|hpp|cs|"
    "php|sh|bat|ps1|exe|dll|so|log|ini|cfg|conf|zip|gz|tar|7z|png|jpe?g|gif|svg|webp|mp3|mp4|wav|sql|db|lock|ipynb"
)
_IPA: Final = "ˈˌːəɪʊæɑɒɔɛɜʌʃʒθðŋɹʁɾβɣɡʔɲʎɕʑʂʐɖʈɟɨʉɯɤɵɘœøɶɸʋɻɰʀʕʢɬɮ"

# What begins with a letter or a digit.
_ADDRESSES: Final = rf"""
    (?:[a-zA-Z][a-zA-Z0-9+.-]{{1,20}}://|www\.|(?:mailto|tel|urn|doi):(?=[^\s])){_URL_CHARACTER}{{1,4000}}
  | (?<![.+-])[\w.+%-]{{1,64}}@[\w-]{{1,63}}(?:\.[\w-]{{1,63}}){{1,8}}
  | (?<![.@-])(?:[a-zA-Z0-9-]{{1,63}}\.){{1,6}}(?:{_TOP_LEVEL})\b(?![.@]?\w)(?:/{_URL_CHARACTER}{{0,4000}})?
"""
_PATHS: Final = rf"""
    (?<![.\\])(?:[A-Za-z]:[\\/](?![\\/]))[^\s"<>|*?]{{0,400}}
  | (?<![\\])[\w.$-]{{1,100}}\\[\w.$-]{{1,100}}(?:\\[\w.$-]{{0,100}}){{0,30}}
  | (?<![./~-])[\w-][\w.-]{{0,60}}(?:/[\w.-]{{1,60}}){{1,20}}\.[A-Za-z0-9]{{1,8}}(?![\w/])
  | (?<![./~-])[\w-]{{1,60}}(?:\.[\w-]{{1,30}}){{0,3}}\.(?:{_FILE_ENDING})(?![\w/]|\.\w)
"""
_IDS: Final = r"""
    [0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b
  | (?=[0-9a-f]{0,63}[a-f])(?=[a-f]{0,63}[0-9])[0-9a-f]{7,64}\b
  | 0x[0-9a-fA-F]{1,32}\b
  | [A-Z][A-Z0-9]{1,9}-\d{1,10}\b
  | (?=[A-Z0-9]{0,39}\d[A-Z]{0,39}\d)(?=\d{0,39}[A-Z])[A-Z0-9]{6,40}\b
  | [vV]\d{1,5}(?:\.\d{1,5}){0,4}(?:-[a-z]{1,10}\.?\d{0,4})?\b
  | (?<![.,])\d{1,5}(?:\.\d{1,5}){2,4}(?:[-+][0-9A-Za-z.-]{1,40})?(?!\w)
  | [a-z]{1,3}[A-Z]\w{0,60}(?!\w)
  | [A-Za-z]\w{0,60}_\w{1,60}(?:\(\))?(?!\w) | [A-Za-z_][\w.]{0,80}\(\) | __[A-Za-z]\w{0,60}__
"""
# What begins with a sign.
_TOKENS: Final = r"""
    \{\{[^{}\n]{0,200}\}\} | \{%[^{}\n]{0,200}%\} | \[\[[^\[\]\n]{1,100}\]\]
  | \{\s?\w{1,60},\s?(?:plural|select|selectordinal|number|date|time)\b
      (?:[^{}]{1,400}|\{(?:[^{}]{1,400}|\{[^{}]{0,400}\}){0,20}\}){0,40}\}
  | [$#%@]?\{[^\s{}]{0,100}\} | [$#%]\{[^{}\n]{0,100}\}
  | %\([\w.-]{1,60}\)[\#0+-]{0,3}\d{0,3}(?:\.\d{1,2})?[a-zA-Z] | \$\([^\s()]{1,100}\)
  | <<[\w.\ -]{1,60}>> | <%[^<>\n]{0,200}%>
  | (?<![\w$])\$[A-Za-z_]\w{0,60}(?:(?:\.|->|::)\w{1,60}){0,6}
  | %[A-Za-z_]\w{0,60}%
  | (?<![\w%])%(?:\d{1,2}\$)?[\#0+-]{0,3}(?:\d{1,3}|\*)?(?:\.(?:\d{1,2}|\*))?(?:hh?|ll?|[Lqjzt])?[a-zA-Z@]
  | (?<![\w%])%[1-9](?!\d)
  | (?<![\w:]):[a-z][a-z0-9_+-]{1,40}:(?![\w:])
  | &(?:[A-Za-z]{2,31}|\#\d{1,7}|\#[xX][0-9a-fA-F]{1,6});
  | (?<![\w@./])@[A-Za-z_]\w{1,38}(?:/[\w.-]{1,60})?(?!\w)
  | (?<![\w&\#/])\#(?=\w{0,60}[^\W\d])\w{1,100}
  | (?<![\w-])--?[a-z][a-z0-9]{1,30}(?:-[a-z0-9]{1,30}){0,6}(?:=[^\s,;"']{1,200})?(?=[\s,;.)\]]|$)
"""
_ROOTED: Final = rf"""
    \\\\(?=\w)[^\s"<>|*?]{{0,400}}
  | /(?=[^/\n]{{0,60}}[{_IPA}])[^/\s][^/\n]{{0,60}}/ | \[(?=[^\[\]\n]{{0,60}}[{_IPA}])[^\[\]\n]{{1,60}}\]
  | (?<![\w./~])(?:~|\.{{1,2}})?/(?:bin|boot|dev|etc|home|lib|media|mnt|opt|proc|root|run|sbin|srv|sys|tmp|usr|var)
      (?:/[\w.+@~-]{{0,100}}){{0,30}}(?![\w/])
  | (?<![\w./~])(?:~|\.{{1,2}})?/[\w+@~-][\w.+@~-]{{0,100}}(?:/[\w.+@~-]{{1,100}}){{1,30}}/?(?![\w/{_IPA}])
  | (?<![^\s"'(])\.[A-Za-z][\w-]{{1,60}}(?![\w/]|\.\w)
"""
_ATTRIBUTE: Final = r"""\s{1,20}[\w:@.-]{1,60}\s{0,5}=\s{0,5}(?:"[^"<>]{0,2000}"|'[^'<>]{0,2000}'|[^\s"'<>=]{1,200})"""

WORDS: Final = re.compile(
    # Ordinary words are passed over after a look at the signs in them.
    rf"(?<!\w)(?=\w)(?=[a-z]{{1,3}}[A-Z]|\S{{0,100}}[-.:/@\\_\d(])(?:{_ADDRESSES}|{_PATHS}|{_IDS})"
    rf"|(?=[^\w\s,;!?'\"()])(?:{_TOKENS}|{_ROOTED})",
    re.VERBOSE,
)
"""Stretches that read like a word of their sentence."""

TAGS: Final = re.compile(rf"<!--[^<>]{{0,2000}}-->|</?[A-Za-z][\w:-]{{0,60}}(?:{_ATTRIBUTE}){{0,30}}\s{{0,5}}/?>")
"""Tags in text that is not markup. One without attributes may be a name in angle brackets."""

_HTML_NAMES: Final = (
    "a|abbr|b|big|blockquote|body|br|center|cite|code|dd|del|details|div|dl|dt|em|font|h[1-6]|head|hr|html|i|img|input|ins|"
    "kbd|label|li|link|mark|meta|nav|ol|option|p|pre|q|s|samp|script|section|select|small|span|strong|style|sub|summary|sup|"
    "table|tbody|td|th|thead|title|tr|tt|u|ul|var|video|wbr"
)
ANGLED_NAME: Final = re.compile(rf"<(?!(?:{_HTML_NAMES})>)[A-Za-z][\w-]*>", re.IGNORECASE)
"""A tag that is rather a name in angle brackets, as in <user>."""

DATE: Final = re.compile(r"\d{1,2}\.\d{1,2}\.(?:\d{2}|\d{4})|\d{4}\.\d{1,2}\.\d{1,2}")
GROUPED_NUMBER: Final = re.compile(r"\d{1,3}(?:\.\d{3}){2,}")
CODE_MARKS: Final = re.compile("`+")
OWN_CASE: Final = re.compile(r"(?<![\w.])[a-z]{1,3}[A-Z][A-Za-z0-9]{0,20}(?!\w)")
"""Matches words that are written with small letters first wherever they stand: pH, kB, iPhone, macOS."""

PLAIN: Final = re.compile(r"(?:(?<![a-z])[A-Z]|[a-z \n\r\t,;'\"!?()]++|[.:](?![^\s.\"')])|(?<![-_/\\ ])-(?=[A-Za-z]))*")
"""Matches all of a text in which nothing of the above can be."""
