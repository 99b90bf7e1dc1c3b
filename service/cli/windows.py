"""Translating lines and documents through windows of bounded size, several at once, in order.

The next windows are at work while the oldest is written, so that the decode thread never waits for input or output.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from service.cli.lines import Line, gather
from service.text.document import Document, Gap, Part
from service.translation.translation import TranslationRequest, TranslationResult

_WINDOWS_AT_WORK = 3
_MAX_CHARACTERS = 50_000

T = TypeVar("T")
Translate = Callable[[TranslationRequest], Coroutine[Any, Any, TranslationResult]]


def translate_lines(
    lines: Iterable[Line], translate: Translate, template: TranslationRequest, window_lines: int
) -> Iterator[tuple[Line, str]]:
    """Gives every line with its translation, in order; raises what `translate` raises, after giving the rest up.

    template: the request but for its texts. With one line to a window each is translated before the next is read, for
    callers that write a line and wait.
    """
    num_at_work = 1 if window_lines == 1 else _WINDOWS_AT_WORK
    windows = ((window, [line.text for line in window]) for window in gather(lines, window_lines, _MAX_CHARACTERS))
    for window, texts in _translated(windows, translate, template, num_at_work):
        yield from zip(window, texts, strict=True)


def translate_documents(
    documents: Sequence[Document], translate: Translate, template: TranslationRequest
) -> Iterator[tuple[int, str, int]]:
    """Gives translations of documents, in order and in pieces: the document's index, the text, the source's length.

    A long document is translated in pieces that are parted behind gaps; raises what `translate` raises.
    """
    windows = ((window, [document for _, document, _ in window]) for window in _windows(documents))
    for window, texts in _translated(windows, translate, template, _WINDOWS_AT_WORK):
        for (index, _, length), text in zip(window, texts, strict=True):
            yield index, text, length


def _windows(documents: Iterable[Document]) -> Iterator[list[tuple[int, Document, int]]]:
    """Groups pieces of documents, with the index of the document and the length, into windows of so many characters."""
    window: list[tuple[int, Document, int]] = []
    size = 0
    for index, document in enumerate(documents):
        for piece, length in _pieces(document):
            if window and size + length > _MAX_CHARACTERS:
                yield window
                window, size = [], 0
            window.append((index, piece, length))
            size += length
    if window:
        yield window


def _pieces(document: Document) -> Iterator[tuple[Document, int]]:
    parts: list[Part] = []
    length = 0
    for part in document.parts:
        parts.append(part)
        length += len(part.text)
        # Between two segments a space may be put; it would be lost where they are parted.
        if length >= _MAX_CHARACTERS and isinstance(part, Gap):
            yield Document(tuple(parts), document.escape), length
            parts, length = [], 0
    if parts:
        yield Document(tuple(parts), document.escape), length


def _translated(
    windows: Iterable[tuple[T, Sequence[str | Document]]],
    translate: Translate,
    template: TranslationRequest,
    num_at_work: int,
) -> Iterator[tuple[T, list[str]]]:
    """Gives the translations of each window's texts, with what the window is known by."""
    pending: deque[tuple[T, asyncio.Task[TranslationResult]]] = deque()
    # Not asyncio.run: it would hold back the interrupt of somebody at a terminal until the next line is read.
    loop = asyncio.new_event_loop()
    try:
        for window, texts in windows:
            pending.append((window, loop.create_task(translate(replace(template, texts=tuple(texts))))))
            loop.run_until_complete(asyncio.sleep(0))
            if len(pending) == num_at_work:
                yield _finished(loop, *pending.popleft())
        while pending:
            yield _finished(loop, *pending.popleft())
    finally:
        _close(loop, [task for _, task in pending])


def _finished(
    loop: asyncio.AbstractEventLoop, window: T, task: "asyncio.Task[TranslationResult]"
) -> tuple[T, list[str]]:
    result = loop.run_until_complete(task)
    return window, [translation.text for translation in result.translations]


def _close(loop: asyncio.AbstractEventLoop, tasks: "list[asyncio.Task[TranslationResult]]") -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        loop.run_until_complete(asyncio.wait(tasks))
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()
