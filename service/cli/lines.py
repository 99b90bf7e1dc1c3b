"""Cutting byte streams into lines that can be put together again exactly, and gathering lines into windows."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import BinaryIO

import click

_BYTE_ORDER_MARK = "\ufeff"
_LONGEST_PARAGRAPH = 20_000


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a stream: prefix (a byte order mark or nothing), text, and how it ends (LF, CR LF or nothing)."""

    prefix: str
    text: str
    ending: str
    num_bytes: int


def read_lines(stream: BinaryIO, name: str) -> Iterator[Line]:
    """Reads a UTF-8 stream line by line; joined, prefixes, texts and endings are the stream.

    Raises ClickException that says at which byte the stream stops being UTF-8.
    """
    offset = 0
    for raw in stream:
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise click.ClickException(f"{name}: not UTF-8 at byte {offset + error.start}") from None
        prefix = _BYTE_ORDER_MARK if offset == 0 and text.startswith(_BYTE_ORDER_MARK) else ""
        content = text.removeprefix(prefix).removesuffix("\n")
        content = content.removesuffix("\r") if text.endswith("\r\n") else content
        yield Line(prefix, content, text[len(prefix) + len(content) :], len(raw))
        offset += len(raw)


def paragraphs(lines: Iterable[Line]) -> Iterator[Line]:
    """Joins lines to one up to each blank line, or so many characters; the line breaks inside are part of its text."""
    own: list[Line] = []
    size = 0
    for line in lines:
        own.append(line)
        size += len(line.text)
        if not line.text.strip() or size > _LONGEST_PARAGRAPH:
            yield _joined(own)
            own, size = [], 0
    if own:
        yield _joined(own)


def gather(lines: Iterable[Line], max_lines: int, max_characters: int) -> Iterator[tuple[Line, ...]]:
    """Groups lines in order, so many and so many characters at most; a longer line is a group of its own."""
    window: list[Line] = []
    size = 0
    for line in lines:
        if window and size + len(line.text) > max_characters:
            yield tuple(window)
            window, size = [], 0
        window.append(line)
        size += len(line.text)
        if len(window) == max_lines or size >= max_characters:
            yield tuple(window)
            window, size = [], 0
    if window:
        yield tuple(window)


def _joined(lines: Sequence[Line]) -> Line:
    first, last = lines[0], lines[-1]
    text = first.text + "".join(before.ending + line.prefix + line.text for before, line in pairwise(lines))
    return Line(first.prefix, text, last.ending, sum(line.num_bytes for line in lines))
