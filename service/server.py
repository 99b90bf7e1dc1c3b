"""Running the app on a socket, and stopping it in order.

First SIGTERM or SIGINT: readiness fails while everything is still served (drain delay); then new requests are refused
and running ones waited for (drain timeout); the rest is answered 503; then the socket closes. A second signal goes
straight to the end. uvicorn alone would close the socket at once, and nobody could read that the service is not ready.
"""

import asyncio
import gc
import signal
import socket
from collections.abc import Callable
from types import FrameType

import uvicorn
from fastapi import FastAPI

from service.api.lifecycle import Lifecycle
from service.errors import SettingsError
from service.observability.logs import Logger
from service.settings import Settings, variable

# For answers under way to reach their callers once everything has been answered.
_FLUSH_SECONDS = 5


class DrainingServer(uvicorn.Server):
    """A uvicorn server with the stop described above; it also stops when loading failed."""

    def __init__(self, config: uvicorn.Config, settings: Settings, lifecycle: Lifecycle, logger: Logger) -> None:
        super().__init__(config)
        self._settings = settings
        self._lifecycle = lifecycle
        self._logger = logger
        self._loop: asyncio.AbstractEventLoop | None = None
        self._drain: asyncio.Task[None] | None = None
        self._signalled = False
        # What is left to do once everything is loaded.
        self.on_loaded: Callable[[], None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Starts to answer, and says where."""
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)
        for listener in sockets or []:
            host, port, *_ = listener.getsockname()
            self._logger.info("listening", address=f"{host}:{port}")

    async def on_tick(self, counter: int) -> bool:
        """Looks whether to stop, or whether everything is loaded, a few times a second."""
        if self.on_loaded is not None and self._lifecycle.loaded is not None:
            self.on_loaded()
            self.on_loaded = None
        return await super().on_tick(counter) or self._lifecycle.failure is not None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begins the ordered stop on the first signal, and ends at once on the next."""
        if self._signalled or self._loop is None:
            self._lifecycle.abort()
            self.force_exit = True
            super().handle_exit(sig, frame)
            return
        self._signalled = True
        self._loop.call_soon_threadsafe(self._begin_stop, sig)

    def _begin_stop(self, sig: int) -> None:
        self._logger.info("stopping", signal=signal.Signals(sig).name)
        self._lifecycle.begin_draining()
        self._drain = asyncio.get_running_loop().create_task(self._stop(sig))

    async def _stop(self, sig: int) -> None:
        if self._lifecycle.loaded is not None:
            await asyncio.sleep(self._settings.drain_delay_seconds)
            self._lifecycle.close_admission()
            await self._lifecycle.wait_idle(self._settings.drain_timeout_seconds)
        self._lifecycle.abort()
        super().handle_exit(sig, None)


def serve(app: FastAPI, settings: Settings, logger: Logger) -> None:
    """Serves until a signal ends it; raises what loading raised, or SettingsError when the address cannot be used."""
    lifecycle: Lifecycle = app.state.services.lifecycle
    sockets = listen(settings.host, settings.port)
    server = DrainingServer(server_config(app, settings), settings, lifecycle, logger)
    # What there is then lives as long as the process. To go through it took the collector 60 ms now and then.
    server.on_loaded = gc.freeze
    server.run(sockets)
    if lifecycle.failure is not None:
        raise lifecycle.failure


def server_config(app: FastAPI, settings: Settings) -> uvicorn.Config:
    """Gives how uvicorn runs the app: without its own logs, proxy headers and web sockets."""
    return uvicorn.Config(
        app,
        access_log=False,
        log_config=None,
        lifespan="on",
        ws="none",
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=settings.keep_alive_seconds,
        timeout_graceful_shutdown=_FLUSH_SECONDS,
    )


def listen(host: str, port: int) -> list[socket.socket]:
    """Opens a listening socket on every address of a host; raises SettingsError when one cannot be had."""
    opened: list[socket.socket] = []
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, address in dict.fromkeys((entry[0], entry[4]) for entry in found):
            listener = socket.create_server((address[0], port), family=family)
            # Accepted connections inherit this. asyncio sets it only on sockets made with an explicit protocol, and
            # without it the second write of an answer waits for the client's delayed acknowledgement, some 40 ms.
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            opened.append(listener)
    except OSError as error:
        for listener in opened:
            listener.close()
        problem = f"{variable('host')}, {variable('port')}: cannot listen there: {error.strerror}"
        raise SettingsError("settings are not valid", [problem]) from error
    return opened
