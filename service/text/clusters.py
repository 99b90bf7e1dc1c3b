"""Which code points a reader sees as one character, so that cutting a text never takes one apart.

Follows the rules of Unicode Standard Annex 29 (extended grapheme clusters) as far as the standard library's character
data goes: marks, joiners, emoji sequences, flags, Hangul syllables, Indic conjuncts.
"""

import unicodedata
from typing import Final

_ZERO_WIDTH_NON_JOINER: Final = "\u200c"
_ZERO_WIDTH_JOINER: Final = "\u200d"
_THAI_AND_LAO_AM: Final = "\u0e33\u0eb3"
_VIRAMA_CLASS: Final = 9


def starts_cluster(text: str, position: int, start: int = 0) -> bool:
    """Say whether text may be cut at a position without parting what is seen as one character.

    start: a position known to start a cluster; nothing before it is looked at.
    """
    if position <= start or position >= len(text):
        return True
    before, after = text[position - 1], text[position]
    if before.isascii() and after.isascii():
        return (before, after) != ("\r", "\n")
    if _extends(after) or (before == _ZERO_WIDTH_JOINER and unicodedata.category(after)[0] not in "CZ"):
        return False
    if _is_flag_letter(before) and _is_flag_letter(after):
        return _flag_letters_before(text, position, start) % 2 == 0
    return not (_is_conjunct(before, after) or _is_one_syllable(before, after))


def _extends(char: str) -> bool:
    return (
        unicodedata.category(char).startswith("M")
        or char in _ZERO_WIDTH_NON_JOINER + _ZERO_WIDTH_JOINER + _THAI_AND_LAO_AM
        or "\U0001f3fb" <= char <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= char <= "\U000e007f"  # tags of regional flags
        or "\uff9e" <= char <= "\uff9f"  # half-width voiced sound marks
    )


def _is_flag_letter(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _flag_letters_before(text: str, position: int, start: int) -> int:
    first = position
    while first > start and _is_flag_letter(text[first - 1]):
        first -= 1
    return position - first


def _is_conjunct(before: str, after: str) -> bool:
    return unicodedata.combining(before) == _VIRAMA_CLASS and after.isalpha()


def _is_one_syllable(before: str, after: str) -> bool:
    """Say whether two Hangul code points belong to one syllable: leading consonants, then vowels, then trailing."""
    leading = "\u1100" <= before <= "\u115f" or "\ua960" <= before <= "\ua97c"
    vowel = "\u1160" <= after <= "\u11a7" or "\ud7b0" <= after <= "\ud7c6"
    trailing = "\u11a8" <= after <= "\u11ff" or "\ud7cb" <= after <= "\ud7fb"
    if leading:
        return vowel or "\uac00" <= after <= "\ud7a3" or "\u1100" <= after <= "\u115f" or "\ua960" <= after <= "\ua97c"
    return (vowel or trailing) and ("\u1160" <= before <= "\u11ff" or "\uac00" <= before <= "\ud7fb")
