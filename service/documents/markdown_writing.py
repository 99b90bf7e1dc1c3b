"""Writing a translated run of Markdown: the words escaped as far as needed, emphasis where Markdown takes it for that.

What was written is read again, and must say what was meant: if it does not, more is escaped, and in the end emphasis is
written as HTML, which stands wherever words do.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from service.documents.markdown_events import markdown_events
from service.documents.markdown_inlines import MarkdownMark, Run, bounds, inlines, on_one_line, stretches

Item = str | MarkdownMark
Meaning = list[str | tuple[str, ...]]

_SPACES: Final = re.compile(r"[ \t\n\v\f\r\x1c-\x1f\x85\u2028\u2029]++")
_LINE_BREAK: Final = re.compile(r"[ \t]*+[\n\v\f\r\x1c-\x1e\x85\u2028\u2029]\s*+")
_SPECIAL: Final = re.compile(r"[\\`*_\[\]<>~$|]|&(?=[#A-Za-z])|#(?=\s*\Z)|\{(?=[^{}]*\}?\s*\Z)|!(?=\Z)")
_SPECIAL_FIRST: Final = re.compile(r"\s*+(?:[0-9]{1,9}(?=[.)])|(?=[#+=:-]))")
_ELEMENTS: Final = {"Emphasis": "em", "Strong": "strong", "Strikethrough": "del"}
# Stands before what is read again as if it were inside a line.
_BEFORE: Final = "x "
_BREAK: Final = ("break",)


def write_run(items: Sequence[Item], block: str) -> str:
    """Returns words and marks as Markdown for a block of a kind; what is read from it are the same words and marks.

    block: "Heading" (the kind with number signs), "TableCell", or anything else, in which text begins lines.
    """
    in_line = block in ("Heading", "TableCell")
    text = ""
    for written, is_escaped in _ways(_without_indent(_tidied(items))):
        pieces = list(_pieces(written, is_escaped=is_escaped, in_line=in_line))
        if block == "TableCell" and not is_escaped:
            pieces = [
                piece if isinstance(item, MarkdownMark) else piece.replace("|", "\\|")
                for item, piece in zip(written, pieces, strict=True)
            ]
        text = "".join(pieces)
        if _read_again(written, pieces, block) == _meaning(written):
            break
    return text


def _ways(items: list[Item]) -> Iterator[tuple[list[Item], bool]]:
    """Gives what to write, and whether with all escapes, from the plainest to the safest."""
    yield items, False
    yield items, True
    items = [_in_html(item) if isinstance(item, MarkdownMark) else item for item in items]
    yield items, True
    yield _behind_first_word(items), True


def _pieces(items: Sequence[Item], *, is_escaped: bool, in_line: bool) -> Iterator[str]:
    begins_line = not in_line
    for item in items:
        if isinstance(item, MarkdownMark):
            yield item.source
            begins_line = _is_break(item) and not in_line
        elif is_escaped:
            escaped = _SPECIAL.sub(r"\\\g<0>", item)
            yield _escaped_first(escaped) if begins_line else escaped
            begins_line = False
        else:
            yield item


def _escaped_first(text: str) -> str:
    """Returns a text that begins a line so that it does not begin a list, a heading, a quotation or the like."""
    first = _SPECIAL_FIRST.match(text)
    return text if first is None else f"{text[: first.end()]}\\{text[first.end() :]}"


def _read_again(items: Sequence[Item], pieces: Sequence[str], block: str) -> Meaning | None:
    """Returns what a reader takes the pieces for; None if it is not one run of text."""
    checked = ["\\\n" if _is_break(item) else on_one_line(piece) for item, piece in zip(items, pieces, strict=True)]
    definitions = dict.fromkeys(item.definition for item in items if isinstance(item, MarkdownMark) and item.definition)
    before = "" if block not in ("Heading", "TableCell") else f"# {_BEFORE}" if block == "Heading" else _BEFORE
    text = before + "".join(checked)
    whole = "\n\n".join([text, *definitions]) + "\n"
    data = whole.encode("utf-8")
    first = next(stretches(markdown_events(whole)), None)
    if not isinstance(first, Run) or first.block != ("Heading" if block == "Heading" else "Paragraph"):
        return None
    start, end = bounds(data, first)
    if data[:start].strip(b" #") or data[end : len(text.encode("utf-8"))].strip():
        return None
    meaning = _meaning(inlines(data, first, " "))
    if block in ("Heading", "TableCell") and meaning and isinstance(meaning[0], str):
        meaning[0] = meaning[0].removeprefix(_BEFORE.strip()).lstrip()
    return [part for part in meaning if part]


def _meaning(items: Sequence[Item]) -> Meaning:
    """Returns what items say to a reader: runs of text with single spaces, and the signs of marks."""
    meaning: Meaning = []
    for item in items:
        if isinstance(item, MarkdownMark):
            meaning.append(item.sign)
        elif meaning and isinstance(meaning[-1], str):
            meaning[-1] += item
        else:
            meaning.append(item)
    spaced = [part if isinstance(part, tuple) else _SPACES.sub(" ", part) for part in meaning]
    for index, part in enumerate(spaced):
        if isinstance(part, str):
            at_start = index == 0 or spaced[index - 1] == _BREAK
            at_end = index + 1 == len(spaced) or spaced[index + 1] == _BREAK
            part = part.lstrip(" ") if at_start else part
            spaced[index] = part.rstrip(" ") if at_end else part
    return [part for part in spaced if part]


def _tidied(items: Sequence[Item]) -> list[Item]:
    """Returns items on one line, with the white space that emphasis begins or ends with outside of it."""
    tidied: list[Item] = []
    behind = ""
    for item in items:
        if isinstance(item, str):
            text = behind + _LINE_BREAK.sub(" ", item)
            behind = ""
            place = len(tidied)
            while place and _is_emphasis(tidied[place - 1], "open"):
                place -= 1
            inner = text.lstrip(" \t")
            if place < len(tidied) and len(inner) < len(text):
                tidied.insert(place, text[: len(text) - len(inner)])
                text = inner
            if text:
                tidied.append(text)
            continue
        if _is_emphasis(item, "close") and tidied and isinstance(last := tidied[-1], str):
            inner = last.rstrip(" \t")
            behind = last[len(inner) :] + behind
            tidied[-1:] = [inner] if inner else []
        elif behind and not _is_emphasis(item, "close"):
            tidied.append(behind)
            behind = ""
        tidied.append(item)
    return [*tidied, behind] if behind else tidied


def _without_indent(items: Sequence[Item]) -> list[Item]:
    """Returns items without white space where lines begin and end, which is structure there."""
    kept: list[Item] = []
    for index, item in enumerate(items):
        if isinstance(item, str):
            item = item.lstrip(" \t") if index == 0 or _is_break(items[index - 1]) else item
            item = item.rstrip(" \t") if index + 1 == len(items) or _is_break(items[index + 1]) else item
        if item:
            kept.append(item)
    return kept


def _behind_first_word(items: Sequence[Item]) -> list[Item]:
    """Returns items with the tags and comments of HTML that a line begins with, where they would begin a block."""
    first = next((index for index, item in enumerate(items) if not _is_tag(item)), 0)
    if first == 0 or not isinstance(word := items[first], str):
        return list(items)
    return [word, *items[:first], *items[first + 1 :]]


def _is_tag(item: Item) -> bool:
    return isinstance(item, MarkdownMark) and item.kind == "mark" and item.sign[0] == "html"


def _in_html(mark: MarkdownMark) -> MarkdownMark:
    element = _ELEMENTS.get(mark.name)
    if element is None:
        return mark
    tag = f"<{element}>" if mark.kind == "open" else f"</{element}>"
    return replace(mark, source=tag, sign=("html", tag), name="")


def _is_emphasis(item: Item, kind: str) -> bool:
    return isinstance(item, MarkdownMark) and item.name in _ELEMENTS and item.kind == kind


def _is_break(item: Item) -> bool:
    return isinstance(item, MarkdownMark) and item.sign == _BREAK
