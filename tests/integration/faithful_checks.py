"""Checks of a translation that need no judgement of its wording: what a golden line asks for is there, or it is not.

kept: each string occurs as often as in the source. digits: the same groups of digits, whatever stands inside them and
in whatever order. lines: as many lines, with the same breaks, indentation, list marks, and blank ones where they were.
tags: the same tags, as often, properly nested. sentences: as many segments. upper: no small letters. unchanged,
differs: from the source. max_length, min_length: in characters. excludes: strings that must not occur. Whatever is
asked for, a translation of something is not empty and does not loop.
"""

import re
from collections import Counter
from html.parser import HTMLParser

VOID = {"br", "img", "input", "hr", "wbr"}
_LINE = re.compile(r"(\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029])")
_LEAD = re.compile(r"\s*(?:(?:[-*+>•]|\d{1,3}[.)]|[A-Za-z]\)|\[[ x]\])\s+)*")
_NUMBER = re.compile(r"\d(?:[.,:'\u00a0\u202f ]?\d)*")


def problems(source: str, target: str, segments: list[dict], checks: dict) -> list[str]:
    """Says what a translation is not as it should be; empty when all is well."""
    found = [] if target.strip() or not source.strip() else ["is empty"]
    found += ["loops"] if loops(target) and not loops(source) else []
    for name, wanted in checks.items():
        if wanted is not False:
            found += _CHECKS[name](source, target, segments, wanted)
    return found


def loops(text: str) -> bool:
    """Whether words stand more than four times in a row, or a phrase of several words more than three times."""
    words = re.findall(r"\w+", text.casefold())
    for size in range(1, len(words) // 4 + 1):
        copies = 5 if size == 1 else 4
        for start in range(len(words) - size * copies + 1):
            piece = words[start : start + size]
            if all(words[start + n * size : start + (n + 1) * size] == piece for n in range(copies)):
                return True
    return False


def _kept(source, target, segments, wanted):
    return [
        f"{text!r} is there {target.count(text)} times" for text in wanted if target.count(text) != source.count(text)
    ]


def _excludes(source, target, segments, wanted):
    return [f"has {text!r}" for text in wanted if text in target]


def _digits(source, target, segments, wanted):
    one, other = (Counter(re.sub(r"\D", "", number) for number in _NUMBER.findall(text)) for text in (source, target))
    return [] if one == other else [f"digits are {sorted(other.elements())}"]


def _lines(source, target, segments, wanted):
    one, other = _LINE.split(source), _LINE.split(target)
    if one[1::2] != other[1::2]:
        return ["has other line breaks"]
    leads = [[_LEAD.match(line).group() for line in lines[::2]] for lines in (one, other)]
    blanks = [[not line.strip() for line in lines[::2]] for lines in (one, other)]
    return [] if leads[0] == leads[1] and blanks[0] == blanks[1] else [f"lines begin with {leads[1]}"]


class Tags(HTMLParser):
    def __init__(self, text):
        super().__init__(convert_charrefs=False)
        self.seen, self.open, self.nested = [], [], True
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.seen.append(self.get_starttag_text())
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append(self.get_starttag_text())

    def handle_endtag(self, tag):
        self.seen.append(f"</{tag}>")
        self.nested = self.nested and bool(self.open) and self.open.pop() == tag


def _tags(source, target, segments, wanted):
    one, other = Tags(source), Tags(target)
    # Tags of words may change places with the words; what encloses them may not.
    if Counter(re.sub(r'(alt|title)="[^"]*"', r"\1", tag) for tag in one.seen) != Counter(
        re.sub(r'(alt|title)="[^"]*"', r"\1", tag) for tag in other.seen
    ):
        return [f"tags are {other.seen}"]
    return [] if other.nested and not other.open else ["tags are not nested"]


def _sentences(source, target, segments, wanted):
    return [] if len(segments) == wanted else [f"has {len(segments)} segments"]


_CHECKS = {
    "kept": _kept,
    "excludes": _excludes,
    "digits": _digits,
    "lines": _lines,
    "tags": _tags,
    "sentences": _sentences,
    "upper": lambda source, target, segments, wanted: ["has small letters"] if target != target.upper() else [],
    "unchanged": lambda source, target, segments, wanted: ["is changed"] if target != source else [],
    "differs": lambda source, target, segments, wanted: ["is unchanged"] if target == source else [],
    "max_length": lambda source, target, segments, wanted: ["is too long"] if len(target) > wanted else [],
    "min_length": lambda source, target, segments, wanted: ["is too short"] if len(target) < wanted else [],
}
