"""Running the work of a request only as long as its caller is there and the service is not stopping.

The server does not cancel a handler whose caller has gone, so the connection is watched beside the work.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.types import Receive

from service.errors import RequestCancelledError, ShuttingDownError

T = TypeVar("T")


async def run_attended(work: Coroutine[Any, Any, T], receive: Receive, aborted: asyncio.Event) -> T:
    """Awaits `work`, and cancels it when the caller disconnects or `aborted` is set.

    receive: the request's ASGI channel, its body already read.
    Raises RequestCancelledError or ShuttingDownError in those cases; a result that is there first wins.
    """
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_wait_disconnect(receive))
    stop = asyncio.ensure_future(aborted.wait())
    try:
        await asyncio.wait((task, gone, stop), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        if stop.done():
            raise ShuttingDownError("the service is stopping")
        raise RequestCancelledError("the caller went away")
    finally:
        await _cancel(task, gone, stop)


async def _wait_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _cancel(*tasks: "asyncio.Future[Any]") -> None:
    for task in tasks:
        task.cancel()
    # Waiting makes sure that the work has let go of the backend before the request counts as over.
    await asyncio.gather(*tasks, return_exceptions=True)
