"""A system in a process of its own, stopped whenever it is not the one being measured.

Thread pools of different systems would otherwise disturb each other: many of them wait actively for some time after
their work is done. A stopped process does not.
"""

import contextlib
import ctypes
import multiprocessing
import os
import signal
import traceback
from collections.abc import Callable, Iterator, Mapping
from multiprocessing.connection import Connection
from typing import Any

# See prctl(2).
_PR_SET_PDEATHSIG = 1
_CLOSE_SECONDS = 10.0


class WorkerError(Exception):
    """Something failed in a worker; the message holds its traceback."""


class Worker:
    """Builds `factory(**settings)` in a new process and calls its methods there, one at a time.

    `factory` must be importable by name; arguments and results are pickled.
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
        self._signal(signal.SIGSTOP)

    @property
    def pid(self) -> int:
        """The process."""
        pid = self._process.pid
        if pid is None:
            raise WorkerError("the worker was never started")
        return pid

    def call(self, method: str, *arguments: Any) -> Any:
        """Calls a method of the system while it runs, and stops it again; raises WorkerError if the call fails."""
        self._signal(signal.SIGCONT)
        try:
            self._connection.send((method, arguments))
            return self._receive()
        finally:
            self._signal(signal.SIGSTOP)

    def close(self) -> None:
        """Ends the process."""
        if self._process.is_alive():
            self._signal(signal.SIGCONT)
            with contextlib.suppress(OSError):
                self._connection.send(None)
            self._process.join(_CLOSE_SECONDS)
            if self._process.is_alive():
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

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)


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


def die_with_parent() -> None:
    """Has the kernel end this process when the one that started it ends, also while it is stopped."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _work(connection: Connection, factory: Callable[..., Any], settings: dict[str, Any]) -> None:
    die_with_parent()
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
