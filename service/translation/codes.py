"""Matching the language codes callers write with those that packages declare.

Packages spell languages as their checkpoints do (`de`, `deu`, `deu_Latn`, `de_DE`), callers as they like. Here both
become LanguageTags, and of the declared ones the nearest to what was written is chosen, or none. The only module that
knows the library with the tables of ISO 639 and CLDR.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from langcodes import Language

# Language, script, region; then variants ("1996", "valencia") and extensions ("-u-...", "-x-..."), which mean nothing
# here. Extended subtags ("zh-yue") do not fit: they name another language than the first part does.
_SHAPE = re.compile(
    r"([a-z]{2,3})(?:-([a-z]{4}))?(?:-([a-z]{2}|[0-9]{3}))?"
    r"(?:-(?:[a-z0-9]{5,8}|[0-9][a-z0-9]{3}))*(?:-[a-z0-9](?:-[a-z0-9]+)+)?"
)
# Codes of no standard: Brazilian Portuguese of OPUS-MT, Northern Sotho of M2M100.
_SPELLED = {"pob": ("pt", None, "BR"), "ns": ("nso", None, None)}
# Members that stand for their macrolanguage in NLLB-200, or in common use, beside those CLDR knows.
_STANDS_FOR = {"fuv": "ff", "nb": "no", "pbt": "ps", "quy": "qu"}
# mBART-50 writes XX where it means no region; ZZ is the standard's word for that.
_NO_REGION = frozenset({"XX", "ZZ"})
# A script and the one it includes, or is a style of: text in the second is text in the first.
_SAME_SCRIPT = {"Kore": "Hang", "Aran": "Arab"}
# Languages whose script the region decides, with the regions that do not write the usual one (CLDR, likely subtags).
_SCRIPT_IN = {
    "az": {"IR": "Arab"},
    "kk": {"CN": "Arab"},
    "ku": {"IQ": "Arab", "IR": "Arab"},
    "ky": {"CN": "Arab"},
    "mn": {"CN": "Mong"},
    "pa": {"PK": "Arab"},
    "sr": {"ME": "Latn"},
    "tg": {"PK": "Arab"},
    "ug": {"KZ": "Cyrl"},
    "uz": {"AF": "Arab"},
    "yue": {"CN": "Hans"},
    "zh": {"HK": "Hant", "MO": "Hant", "TW": "Hant"},
}


@dataclass(frozen=True, slots=True)
class LanguageTag:
    """What a code says, in the subtags of BCP 47.

    language: the language itself ("tw", "cmn"). macrolanguage: what it goes by where one member stands for the whole
    ("ak", "zh"), else the language again. script: as written or as the region has it; None is undetermined, as is a
    region of None.
    """

    language: str
    macrolanguage: str
    script: str | None
    region: str | None

    @property
    def usual_script(self) -> str | None:
        """The script the language is most written in; None if that is not known."""
        return _usual(self.macrolanguage, None)[0]

    @property
    def usual_region(self) -> str | None:
        """The region most texts in this language and script are from; None if that is not known."""
        return _usual(self.macrolanguage, self.script)[1]


@lru_cache(maxsize=4096)
def parse_code(code: str) -> LanguageTag | None:
    """Reads a code in any case, with `-` or `_`; None if it has not the shape of one. Unknown languages are kept."""
    shape = _SHAPE.fullmatch(folded(code))
    if shape is None:
        return None
    subtag, script, region = shape.groups()
    # Only the first subtag goes to the library: it keeps all it has ever read, and callers write what they like.
    language, own_script, own_region = _SPELLED.get(subtag) or _standard(subtag)
    if language is None:
        return None
    whole = _STANDS_FOR.get(language) or Language.make(language=language).prefer_macrolanguage().language or language
    region = own_region if region is None else region.upper()
    region = None if region in _NO_REGION else region
    script = own_script if script is None else script.title()
    if script is None and region is not None and whole in _SCRIPT_IN:
        script = _SCRIPT_IN[whole].get(region) or _usual(whole, None)[0]
    return LanguageTag(language, whole, _shared_script(script), region)


def primary_language(code: str) -> str:
    """Returns the shortest code of a language without script and region: "de" for "deu_Latn"."""
    tag = parse_code(code)
    return tag.macrolanguage if tag else folded(code).partition("-")[0]


class DeclaredCodes:
    """The codes one side of a package declares."""

    def __init__(self, codes: Iterable[str]) -> None:
        self._spelled: dict[str, str] = {}
        self._tags: dict[str, list[tuple[str, LanguageTag]]] = {}
        for code in sorted(codes):
            self._spelled.setdefault(folded(code), code)
            tag = parse_code(code)
            if tag is not None:
                self._tags.setdefault(tag.macrolanguage, []).append((code, tag))

    def __iter__(self) -> Iterator[str]:
        """Gives the codes, sorted."""
        return iter(sorted(self._spelled.values()))

    def find(self, written: str) -> str | None:
        """Returns the declared code that `written` means, or None.

        The same spelling wins, case and separator aside. Else it must be the same language, and where both name a
        script, the same script. The nearest one is taken: the same script and region, then a code that leaves them
        open, then the language's usual ones, then the only one there is. Several that are equally far are none.
        """
        spelled = self._spelled.get(folded(written))
        if spelled is not None:
            return spelled
        asked = parse_code(written)
        if asked is None:
            return None
        ranked = [
            (rank, tag.language != asked.language, code, tag)
            for code, tag in self._tags.get(asked.macrolanguage, ())
            if (rank := _distance(asked, tag)) is not None
        ]
        if not ranked:
            return None
        nearest = min(ranked, key=lambda one: one[:3])
        rivals = {(tag.script, tag.region) for rank, *_, tag in ranked if rank == nearest[0]}
        return nearest[2] if len(rivals) == 1 else None

    def variants(self, written: str) -> tuple[str, ...]:
        """Returns the declared codes of the language that `written` means, in any script and region."""
        asked = parse_code(written)
        return tuple(code for code, _ in self._tags.get(asked.macrolanguage, ())) if asked else ()


def folded(code: str) -> str:
    """Returns a code in small letters with hyphens: what is equal then is spelled the same."""
    return code.strip().replace("_", "-").casefold()


def _standard(subtag: str) -> tuple[str | None, str | None, str | None]:
    """Language, script and region behind a first subtag: the short code of ISO 639, retired codes replaced."""
    found = Language.get(subtag)
    return found.language, found.script, found.territory


def _usual(language: str, script: str | None) -> tuple[str | None, str | None]:
    """Returns the likely script and region of a language, in a script if one is given (CLDR, likely subtags)."""
    found = Language.make(language=language, script=script).maximize()
    # The library takes a language it knows nothing about for American.
    if found.territory == "US" and language != "en":
        return None, None
    return _shared_script(found.script), found.territory


def _distance(asked: LanguageTag, offered: LanguageTag) -> tuple[int, int] | None:
    """How far an offered tag is from the one asked for, script before region; None where the scripts contradict."""
    if asked.script is not None and offered.script not in (None, asked.script):
        return None
    return (
        _step(asked.script, offered.script, offered.usual_script),
        _step(asked.region, offered.region, offered.usual_region),
    )


def _step(asked: str | None, offered: str | None, usual: str | None) -> int:
    if asked == offered:
        return 0
    if offered is None:
        return 1
    return 2 if asked is None and offered == usual else 3


def _shared_script(script: str | None) -> str | None:
    return None if script is None else _SAME_SCRIPT.get(script, script)
