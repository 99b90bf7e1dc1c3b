"""A system in a process of its own, stopped whenever it is not the one being measured.

Thread pools of different systems would otherwise disturb each other: many of them wait actively for some time after
their work is done. A stopped process does not.
"""

import contextlib
import multiprocessing
import signal
import traceback
from collections.abc import Callable, Iterator, Mapping
from multiprocessing.connection import Connection
from typing import Any

from bench.processes import ProcessGroup, lead_group

_CLOSE_SECONDS = 10.0


class WorkerError(Exception):
    """Something failed in a worker; the message holds its traceback."""


class Worker:
    """Builds `factory(**settings)` in a new process and calls its methods there, one at a time.

    `factory` must be importable by name; arguments and results are pickled. Processes that the system starts stop and
    end with it; one that has a method `close` is told before.
    """

    def __init__(self, factory: Callable[..., Any], **settings: Any) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, other = context.Pipe()
        # Not a daemon: a system may start processes itself.
        self._process = context.Process(target=_work, args=(other, factory, settings), daemon=False)
        self._process.start()
        other.close()
        try:
            self._receive()
        except BaseException:
            self.close()
            raise
        self.group.pause()

    @property
    def pid(self) -> int:
        """The process."""
        pid = self._process.pid
        if pid is None:
            raise WorkerError("the worker was never started")
        return pid

    @property
    def group(self) -> ProcessGroup:
        """The process and those that the system has started."""
        return ProcessGroup(self.pid)

    def call(self, method: str, *arguments: Any) -> Any:
        """Calls a method of the system while it runs, and stops it again; raises WorkerError if the call fails."""
        self.group.resume()
        try:
            self._connection.send((method, arguments))
            return self._receive()
        finally:
            self.group.pause()

    def close(self) -> None:
        """Ends the process, and whatever it has started."""
        self.group.resume()
        with contextlib.suppress(OSError):
            self._connection.send(None)
        self._process.join(_CLOSE_SECONDS)
        self.group.kill()
        # Before it leads its group, it is not in it.
        self._process.kill()
        self._process.join()
        self._connection.close()

    def _receive(self) -> Any:
        try:
            succeeded, value = self._connection.recv()
        except EOFError:
            self._process.join(_CLOSE_SECONDS)
            raise WorkerError(f"the worker ended with {self._process.exitcode}") from None
        if not succeeded:
            raise WorkerError(value)
        return value


@contextlib.contextmanager
def workers(factories: Mapping[str, Callable[[], Worker]]) -> Iterator[dict[str, Worker]]:
    """Starts workers one after the other and closes all of them at the end."""
    started: dict[str, Worker] = {}
    try:
        for name, start in factories.items():
            started[name] = start()
        yield started
    finally:
        for worker in started.values():
            worker.close()


def _work(connection: Connection, factory: Callable[..., Any], settings: dict[str, Any]) -> None:
    lead_group()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        system = factory(**settings)
    except BaseException:
        connection.send((False, traceback.format_exc()))
        return
    connection.send((True, None))
    while (message := connection.recv()) is not None:
        method, arguments = message
        try:
            answer = (True, getattr(system, method)(*arguments))
        except Exception:
            answer = (False, traceback.format_exc())
        connection.send(answer)
    if hasattr(system, "close"):
        system.close()
