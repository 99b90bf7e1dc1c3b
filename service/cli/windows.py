"""Translating a stream of lines through windows of bounded size, several at once, in order.

The next windows are at work while the oldest is written, so that the decode thread never waits for input or output.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator
from dataclasses import replace
from typing import Any

from service.cli.lines import Line, gather
from service.translation.translation import TranslationRequest, TranslationResult

_WINDOWS_AT_WORK = 3
_MAX_CHARACTERS = 50_000

Window = tuple[Line, ...]
Translate = Callable[[TranslationRequest], Coroutine[Any, Any, TranslationResult]]


def translate_lines(
    lines: Iterable[Line], translate: Translate, template: TranslationRequest, window_lines: int
) -> Iterator[tuple[Line, str]]:
    """Gives every line with its translation, in order; raises what `translate` raises, after giving the rest up.

    template: the request but for its texts. With one line to a window each is translated before the next is read, for
    callers that write a line and wait.
    """
    num_at_work = 1 if window_lines == 1 else _WINDOWS_AT_WORK
    pending: deque[tuple[Window, asyncio.Task[TranslationResult]]] = deque()
    # Not asyncio.run: it would hold back the interrupt of somebody at a terminal until the next line is read.
    loop = asyncio.new_event_loop()
    try:
        for window in gather(lines, window_lines, _MAX_CHARACTERS):
            request = replace(template, texts=tuple(line.text for line in window))
            pending.append((window, loop.create_task(translate(request))))
            loop.run_until_complete(asyncio.sleep(0))
            if len(pending) == num_at_work:
                yield from _finish(loop, *pending.popleft())
        while pending:
            yield from _finish(loop, *pending.popleft())
    finally:
        _close(loop, [task for _, task in pending])


def _finish(
    loop: asyncio.AbstractEventLoop, window: Window, task: "asyncio.Task[TranslationResult]"
) -> Iterator[tuple[Line, str]]:
    result = loop.run_until_complete(task)
    yield from zip(window, (translation.text for translation in result.translations), strict=True)


def _close(loop: asyncio.AbstractEventLoop, tasks: "list[asyncio.Task[TranslationResult]]") -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        loop.run_until_complete(asyncio.wait(tasks))
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()
