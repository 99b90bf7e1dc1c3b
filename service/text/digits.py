"""Whether the numbers of a source are still in its translation, whatever separates their digits there."""

import re
import unicodedata
from collections import Counter
from typing import Final

# What languages put inside numbers, between digits; white space only parts groups of three.
_SIGNS: Final = ".,'’·٫٬"
_READINGS: Final = (
    re.compile(r"\d+"),
    re.compile(rf"\d+(?:[{_SIGNS}]\d+)*"),
    re.compile(rf"\d+(?:[{_SIGNS}]\d+|[ \u00a0\u2009\u202f]\d{{3}}(?!\d))*"),
)
_ASCII_DIGIT: Final = re.compile("[0-9]")


def has_digits(text: str) -> bool:
    """Say whether a text has a digit, of any script, raised ones included."""
    return _ASCII_DIGIT.search(text) is not None or (not text.isascii() and any(map(str.isdigit, text)))


def check_digits(source: str, target: str) -> bool:
    """Say whether every number of the source is in the target as often: the same digits, in any order of numbers.

    Separators may differ (1,234.5 and 1.234,5 and 1 234,5; 12/31/2020 and 31.12.2020), and so may scripts of digits. A
    number written out as a word counts as lost.
    """
    wanted = [_numbers(reading, source) for reading in _READINGS]
    if not wanted[0]:
        return True
    found = [_numbers(reading, target) for reading in _READINGS]
    return any(numbers <= others for numbers in wanted for others in found)


def _numbers(reading: re.Pattern[str], text: str) -> "Counter[str]":
    return Counter(map(_digits, reading.findall(text)))


def _digits(number: str) -> str:
    return "".join(str(unicodedata.digit(char)) for char in number if char.isdecimal())
