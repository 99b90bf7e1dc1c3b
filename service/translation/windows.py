"""Decoding the segments of a request in windows, a few at once, so that a document of any length takes bounded memory.

Each window goes through rounds: what is open is decoded, and what did not hold is asked about again. A request is
refused where nothing of it fits the queue; once a part of it was taken, the rest waits for room.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from service.errors import DeadlineExceededError, QueueFullError
from service.scheduler.pool import Dispatch
from service.scheduler.sequence import Sequence as DecodeSequence
from service.scheduler.sequence import SequenceResult
from service.translation.direction import Direction
from service.translation.entries import Entry
from service.translation.preparation import Preparation, WaitingSegment
from service.translation.unit_work import UnitWork, advanced

T = TypeVar("T")

SEGMENTS_IN_WINDOW = 128
# While one window is decoded, another is prepared and a third is written.
_WINDOWS_AT_WORK = 3
_FIRST_PAUSE_SECONDS = 0.01
_LONGEST_PAUSE_SECONDS = 0.5


@dataclass(slots=True)
class Stopwatch:
    """Seconds of a request by stage, added up; those in the scheduler are of its slowest window."""

    preparation: float = 0.0
    queue: float = 0.0
    encode: float = 0.0
    decode: float = 0.0
    completion: float = 0.0

    def decoded(self, rounds: Sequence[Sequence[SequenceResult]]) -> None:
        """Notes how long the rounds of a window took: each as long as its slowest sequence."""
        self.queue = max(self.queue, sum(max((one.queue_seconds for one in each), default=0.0) for each in rounds))
        self.encode = max(self.encode, sum(max((one.encode_seconds for one in each), default=0.0) for each in rounds))
        self.decode = max(self.decode, sum(max((one.decode_seconds for one in each), default=0.0) for each in rounds))


@dataclass(frozen=True, slots=True, eq=False)
class Decoding:
    """How windows of a request are decoded.

    dispatch: hands sequences to the model; raises QueueFullError or ShuttingDownError. deadline: of time.monotonic.
    """

    direction: Direction
    preparation: Preparation
    dispatch: Callable[[Sequence[DecodeSequence], float | None], Dispatch]
    deadline: float | None
    segments_in_window: int = SEGMENTS_IN_WINDOW
    stopwatch: Stopwatch = field(default_factory=Stopwatch)


class Windows:
    """The windows of one request."""

    def __init__(self, decoding: Decoding) -> None:
        self._decoding = decoding
        self._stopwatch = decoding.stopwatch
        self._is_admitted = False

    async def run(self, segments: Sequence[WaitingSegment], *, inline: bool) -> list[Entry]:
        """Returns segments with their results, in order; cancelling the awaiting task gives them up.

        inline: whether preparing takes less time than handing it to another thread. Raises QueueFullError before
        anything was taken, DeadlineExceededError, ShuttingDownError, UntranslatableError, EngineError.
        """
        size = self._decoding.segments_in_window
        if len(segments) <= size:
            return await self._window(segments, inline=inline)
        entries: dict[int, list[Entry]] = {}
        starts = iter(range(0, len(segments), size))

        async def work_through() -> None:
            for start in starts:
                entries[start] = await self._window(segments[start : start + size], inline=False)

        await _together([work_through() for _ in range(_WINDOWS_AT_WORK)])
        return [entry for start in sorted(entries) for entry in entries[start]]

    async def _window(self, segments: Sequence[WaitingSegment], *, inline: bool) -> list[Entry]:
        prepared = await self._timed("preparation", partial(self._decoding.preparation.prepared, segments), inline)
        works = [work for one in prepared for work in one.works]
        rounds: list[list[SequenceResult]] = []
        while works:
            rounds.append(await self._decoded(works))
            advance = partial(advanced, works, rounds[-1], self._decoding.direction)
            works = await self._timed("completion", advance, inline)
        self._stopwatch.decoded(rounds)
        for one in prepared:
            one.entry.results = [work.result for work in one.works if work.result is not None]
        return [one.entry for one in prepared]

    async def _decoded(self, works: Sequence[UnitWork]) -> list[SequenceResult]:
        dispatch = await self._dispatched(works)
        try:
            return dispatch.gather(await _all_of(dispatch.futures))
        except BaseException:
            # Whether the caller went away or a share failed: what is left of it is wanted by nobody.
            dispatch.cancel()
            raise

    async def _dispatched(self, works: Sequence[UnitWork]) -> Dispatch:
        """Hands the open sequences of works to the model, once there is room."""
        deadline, pause = self._decoding.deadline, _FIRST_PAUSE_SECONDS
        while True:
            try:
                # A sequence that was refused may have been half-way in; it is made anew for each try.
                dispatch = self._decoding.dispatch([one for work in works for one in work.sequences()], deadline)
            except QueueFullError:
                if not self._is_admitted:
                    raise
            else:
                self._is_admitted = True
                return dispatch
            if deadline is not None and time.monotonic() >= deadline:
                raise DeadlineExceededError("the deadline has passed")
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    async def _timed(self, stage: str, work: Callable[[], T], inline: bool) -> T:
        started = time.monotonic()
        try:
            return work() if inline else await asyncio.to_thread(work)
        finally:
            setattr(self._stopwatch, stage, getattr(self._stopwatch, stage) + time.monotonic() - started)


async def _all_of(futures: Sequence[Future[T]]) -> list[T]:
    """Awaits what other threads work at; the first failure ends it.

    One wake-up of the event loop for all; chaining the futures to some of its own would take several for each.
    """
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[Future[T]] = loop.create_future()

    def look(future: Future[T]) -> None:
        if not ended.done() and (future.exception() is not None or all(one.done() for one in futures)):
            ended.set_result(future)

    def wake(future: Future[T]) -> None:
        # Where the caller has given up, the loop itself may be gone.
        if not ended.cancelled():
            loop.call_soon_threadsafe(look, future)

    for future in futures:
        future.add_done_callback(wake)
    (await ended).result()
    return [future.result() for future in futures]


async def _together(works: Sequence[Coroutine[None, None, None]]) -> None:
    """Awaits all works; the first failure, or being cancelled, ends the others."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
