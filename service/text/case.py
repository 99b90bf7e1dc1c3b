"""ALL CAPS and Title Case: a segment is translated as if written normally, and its pattern put on the translation.

Models know words as they are usually written; in capitals they fall into pieces that mean little. Only a segment that
is in capitals, or a headline, throughout is touched. Placeholders stay what they are, and what is written in a way of
its own (kB, pH, iPhone) keeps it on both sides. Nothing happens to scripts without case.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from service.text.document import Item

CountPieces = Callable[[str], int]
"""Gives how many tokens a word alone is for the model; the fewest where it is written as usual."""

# Letters, marks and digits, and apostrophes between letters.
_WORD = re.compile(r"[^\W_](?:[\w\u0300-\u036f]|['\u2019](?=[^\W\d_]))*")
_ENDS_OF_SENTENCES = ".!?\u2026"
_LATIN_VOWEL = re.compile("[AEIOUY]")
_GEORGIAN = re.compile("[\u10d0-\u10ff]")

# Share of a segment's letters in capitals; shorter words in small letters may be units and do not count.
_MOSTLY = 0.9
_LONGEST_UNIT = 2
# With this share of a text in longer small words its capitals cannot be nearly all.
_ORDINARY = 0.2
# Letters in capitals that make a segment of one word, or of several; with fewer they may be acronyms: OK, HTTP API.
_LONG_WORD, _LONG_PHRASE = 6, 8
_LONGEST_ACRONYM = 5
# A word that the vocabulary knows falls into few pieces; SUMIFS does not.
_LETTERS_OF_A_PIECE = 3
# A headline has at least so many words, all but one of them notable: of so many letters, with a capital.
_HEADLINE_WORDS = 4
_NOTABLE = 4
# Nouns have capitals there, so that a headline looks like a sentence.
_NOUNS_HAVE_CAPITALS = frozenset({"de", "lb", "nds", "gsw", "bar"})
# Elsewhere headlines are written as sentences are: in people's translations of 3,500 English headlines into French and
# Spanish one longer word in five has a capital (names), and capitals on all of them cost German ones 2 chrF.
_HEADLINE_LANGUAGES = frozenset({"en"})
_SMALL_IN_HEADLINES = frozenset(
    _WORD.findall("a an and as at but by for from in into nor of off on onto or per so than the to up via vs with yet")
)
_DOTTED_I = frozenset({"tr", "az"})


class CaseKind(StrEnum):
    """How a segment is written throughout."""

    AS_IS = "as_is"
    UPPER = "upper"
    TITLE = "title"


@dataclass(frozen=True, slots=True)
class CasePattern:
    """What `normalise` undid. own: words of the source with a case of their own, which stay as they are."""

    kind: CaseKind = CaseKind.AS_IS
    own: frozenset[str] = frozenset()


_AS_IS = CasePattern()


def normalise(
    items: tuple[Item, ...], language: str, count_pieces: CountPieces
) -> tuple[tuple[Item, ...], CasePattern]:
    """Returns a segment's items as they would be written within a text, and what that undid.

    language: primary code of the source.
    """
    if len(items) == 1 and isinstance(items[0], str) and items[0][1:] == items[0][1:].lower():
        # Most sentences; nothing below would find anything in them.
        return items, _AS_IS
    if all(_is_ordinary(item) for item in items if isinstance(item, str)):
        return items, _AS_IS
    words = [word for item in items if isinstance(item, str) for word in _WORD.findall(item)]
    if _is_upper(words, count_pieces):
        pattern = CasePattern(CaseKind.UPPER, frozenset(word for word in words if not _has_capitals_only(word)))
    elif _is_headline(words, language):
        pattern = CasePattern(CaseKind.TITLE, frozenset(filter(_is_own, words)))
    else:
        return items, _AS_IS

    def write(word: str, *, begins: bool) -> str:
        if word in pattern.own or not _is_of_letters(word):
            return word
        if pattern.kind is CaseKind.UPPER:
            return _from_capitals(word, language, count_pieces, begins=begins)
        return word if begins else _from_headline(word, language, count_pieces)

    normal = _rewritten(items, write)
    return (items, _AS_IS) if normal == items else (normal, pattern)


def restore(items: tuple[Item, ...], pattern: CasePattern, language: str) -> tuple[Item, ...]:
    """Returns a translation's items in the case of its source.

    language: primary code of the target. A headline gets its capitals where headlines have any.
    """
    if pattern.kind is CaseKind.AS_IS:
        return items

    def write(word: str, *, begins: bool) -> str:
        if word in pattern.own:
            return word
        if pattern.kind is CaseKind.UPPER:
            return _upper(word, language)
        is_small = language not in _HEADLINE_LANGUAGES or word in _SMALL_IN_HEADLINES
        return word if is_small and not begins else _capitalised(word, language)

    return _rewritten(items, write)


def _is_ordinary(text: str) -> bool:
    """Says, of most texts, that neither all of them is in capitals nor are they headlines, without finding words.

    Longer words in small letters are a good part of them, and one of those is too long to be small in a headline.
    """
    small = [len(word) for word in text.split() if len(word) > _LONGEST_UNIT and word.islower() and word.isalpha()]
    return max(small, default=0) > _NOTABLE and sum(small) > _ORDINARY * len(text)


def _is_upper(words: Sequence[str], count_pieces: CountPieces) -> bool:
    """Says whether words are (nearly) all in capitals, and neither acronyms nor names of functions."""
    counted = [word for word in words if _has_letters(word) and not _is_own(word)]
    capitals = [word for word in counted if len(word) > 1 and _has_capitals_only(word)]
    num_capitals = sum(map(len, capitals))
    num_small = sum(len(word) for word in counted if not _has_capitals_only(word) and not _may_be_unit(word))
    if num_capitals < _MOSTLY * (num_capitals + num_small):
        return False
    if len(capitals) != 1:
        return num_capitals >= _LONG_PHRASE
    pieces = count_pieces(capitals[0].lower())
    return num_capitals >= _LONG_WORD and _LETTERS_OF_A_PIECE * pieces <= num_capitals


def _is_headline(words: Sequence[str], language: str) -> bool:
    """Says whether all words but the small ones begin with a capital, so many that they are no name."""
    if language in _NOUNS_HAVE_CAPITALS or len(words) < _HEADLINE_WORDS:
        return False
    small = [word for word in words if word.islower()]
    if language == "en":
        may_be_small = _SMALL_IN_HEADLINES.issuperset(small)
    else:
        may_be_small = all(len(word) < _NOTABLE for word in small)
    titled = [word for word in words if len(word) >= _NOTABLE and word[:1].isupper() and word[1:].islower()]
    return may_be_small and len(titled) >= _HEADLINE_WORDS - 1


def _from_capitals(word: str, language: str, count_pieces: CountPieces, *, begins: bool) -> str:
    """Returns a word as it is usually written, by what the model's vocabulary has: us or US, london or London."""
    if len(word) <= _LONGEST_ACRONYM and word.isascii() and not _LATIN_VOWEL.search(word):
        return word
    small = _lower(word, language)
    titled = _capitalised(small, language)
    if language == "en" and (small == "i" or small.startswith(("i'", "i\u2019"))):
        return titled
    # The first of the shortest.
    usual = min((small, titled, word), key=count_pieces)
    return titled if begins and usual == small else usual


def _from_headline(word: str, language: str, count_pieces: CountPieces) -> str:
    small = _lower(word, language)
    if len(word) == 1 or _capitalised(small, language) != word:
        return word
    # Names that the vocabulary does not know are as long either way.
    num_small, num_titled = count_pieces(small), count_pieces(word)
    return small if num_small < num_titled or num_small == num_titled == 1 else word


def _rewritten(items: tuple[Item, ...], write: Callable[..., str]) -> tuple[Item, ...]:
    """Writes every word anew; `begins` tells `write` that it is a sentence's first."""
    written: list[Item] = []
    # Between the last word and the next one; a segment begins a sentence.
    between = ". "
    for item in items:
        if not isinstance(item, str):
            written.append(item)
            continue
        pieces: list[str] = []
        end = 0
        for match in _WORD.finditer(item):
            between += item[end : match.start()]
            pieces += (item[end : match.start()], write(match[0], begins=_begins_sentence(between)))
            between, end = "", match.end()
        between += item[end:]
        written.append("".join((*pieces, item[end:])))
    return tuple(written)


def _begins_sentence(between: str) -> bool:
    last = max(map(between.rfind, _ENDS_OF_SENTENCES))
    return last >= 0 and any(character.isspace() for character in between[last:])


def _has_letters(word: str) -> bool:
    return any(character.isalpha() for character in word)


def _has_capitals_only(word: str) -> bool:
    # Until lately there was no capital of \u00df.
    return word.replace("\u00df", "").isupper()


def _is_own(word: str) -> bool:
    """Says whether a word is neither small nor in capitals nor begins with one: kB, pH, iPhone, DVDs, snake_case."""
    rest = word[1:]
    return "_" in word or (word != word.lower() and not _has_capitals_only(word) and rest != rest.lower())


def _may_be_unit(word: str) -> bool:
    return len(word) <= _LONGEST_UNIT and word.islower()


def _is_of_letters(word: str) -> bool:
    return unicodedata.normalize("NFC", word).replace("'", "").replace("\u2019", "").isalpha()


def _lower(word: str, language: str) -> str:
    if language in _DOTTED_I:
        word = word.replace("I", "\u0131").replace("\u0130", "i")
    return word.lower()


def _upper(word: str, language: str) -> str:
    if language in _DOTTED_I:
        word = word.replace("i", "\u0130")
    if language == "el":
        # Greek capitals have no accent, but keep the dots that part two vowels.
        plain = unicodedata.normalize("NFD", word).replace("\u0301", "")
        word = unicodedata.normalize("NFC", plain)
    # Georgian is not written in its capitals, save by those who mean to.
    return word if _GEORGIAN.search(word) else word.upper()


def _capitalised(word: str, language: str) -> str:
    if _GEORGIAN.match(word):
        return word
    if language == "nl" and word.startswith("ij"):
        return "IJ" + word[2:]
    return _upper(word[:1], language if language in _DOTTED_I else "") + word[1:]
