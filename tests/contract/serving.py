"""Running an app on a real socket of this machine, and speaking to it byte by byte."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fastapi import FastAPI

from service.server import DrainingServer, listen, server_config
from service.settings import Settings


@contextmanager
def serving(app: FastAPI, settings: Settings) -> Iterator[int]:
    lifecycle = app.state.services.lifecycle
    sockets = listen("127.0.0.1", 0)
    server = DrainingServer(server_config(app, settings), settings, lifecycle, app.state.services.logger)
    thread = threading.Thread(target=server.run, args=(sockets,))
    thread.start()
    try:
        wait_until(lambda: lifecycle.loaded is not None)
        yield sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


def wait_until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "what was waited for did not happen"
        time.sleep(0.005)


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=20)


def translate_head(length: int, *headers: str) -> bytes:
    """The head of a POST /translate with a body of so many bytes."""
    lines = ["POST /translate HTTP/1.1", "Host: x", "Content-Type: application/json", f"Content-Length: {length}"]
    return "\r\n".join([*lines, *headers, "", ""]).encode()


def read_all(connection: socket.socket) -> bytes:
    """Everything until the server closes."""
    parts = []
    while part := connection.recv(65_536):
        parts.append(part)
    return b"".join(parts)
