"""Running the work of a request only as long as its caller is there and the service is not stopping.

The server does not cancel a handler whose caller has gone, so the connection is watched beside the work.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from starlette.types import Receive

from service.errors import RequestCancelledError, ShuttingDownError, VersoError

T = TypeVar("T")


class StopSignal:
    """Is set once, and then calls whoever listens; lives on the event loop. Costs a listener no task of its own."""

    def __init__(self) -> None:
        self._is_set = False
        self._listeners: dict[int, Callable[[], None]] = {}

    def is_set(self) -> bool:
        """Says whether running requests must end."""
        return self._is_set

    def set(self) -> None:
        """Calls all listeners, once."""
        self._is_set = True
        for listener in tuple(self._listeners.values()):
            listener()

    @contextmanager
    def heard_by(self, listener: Callable[[], None]) -> Iterator[None]:
        """Calls a listener when the signal is set inside the block, or at once if it is already."""
        self._listeners[id(listener)] = listener
        try:
            if self._is_set:
                listener()
            yield
        finally:
            del self._listeners[id(listener)]


async def run_attended(work: Coroutine[Any, Any, T], receive: Receive, aborted: StopSignal) -> T:
    """Awaits `work`, and cancels it when the caller disconnects or `aborted` is set.

    receive: the request's ASGI channel, its body already read.
    Raises RequestCancelledError or ShuttingDownError in those cases, once the work has let go of the backend.
    """
    task = asyncio.current_task()
    assert task is not None, "a coroutine runs in a task"
    reasons: list[VersoError] = []

    def interrupt(reason: VersoError) -> None:
        if not reasons:
            reasons.append(reason)
            task.cancel()

    def left(watch: "asyncio.Task[None]") -> None:
        # Asked for its exception, the loop does not report it: whatever ended the watch, the connection is gone.
        if not watch.cancelled():
            watch.exception()
            interrupt(RequestCancelledError("the caller went away"))

    watch = asyncio.create_task(_wait_disconnect(receive))
    watch.add_done_callback(left)
    try:
        with aborted.heard_by(lambda: interrupt(ShuttingDownError("the service is stopping"))):
            return await work
    except asyncio.CancelledError:
        # A task may be cancelled from outside as well; that goes on.
        if not reasons or task.cancelling() > 1:
            raise
        raise reasons[0] from None
    finally:
        watch.cancel()
        if reasons:
            task.uncancel()


async def _wait_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
