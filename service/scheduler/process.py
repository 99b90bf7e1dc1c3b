"""A decode loop in a process of its own, as the service sees it.

The interpreter runs one thread at a time, so decoding and answering in one process wait for each other. A process that
ends by itself takes down what it was decoding, and nothing else: it is started again.
"""

import contextlib
import logging
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from multiprocessing.connection import Connection

from service.errors import DecodingLostError, EngineError, ShuttingDownError, VersoError
from service.scheduler.inbox import Action, Gate, Message
from service.scheduler.sequence import Submission
from service.scheduler.stats import StatsSink
from service.scheduler.wire import Cancel, Failed, Outcome, Report, Setup, Started, Stop, Submit, packed

_log = logging.getLogger(__name__)

_CHILD = "service.scheduler.child"
# Weights, caches and logits in large pages: a step reads all of them and misses fewer translations of addresses.
_TUNABLES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
# Signals are the service's business, from the process's first moment on: it inherits what the starting thread blocks.
_BLOCKED = {signal.SIGINT, signal.SIGTERM}
# How long a process may leave unread what fills its connection before it is killed: the service waits meanwhile.
_SEND_SECONDS = 5.0
_FIRST_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 60.0
# Beyond the time it was given, how long a process that was told to stop may take before it is killed.
_GRACE_SECONDS = 2.0


class DecodeProcess:
    """Starts a decode process and speaks to it. `wait_until_started` comes before everything else."""

    def __init__(self, setup: Setup, sink: StatsSink, name: str) -> None:
        self.gate = Gate(setup.limits, self._post)
        self._setup = setup
        self._sink = sink
        self._name = name
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()
        self._give_up_at = 0.0
        # Guards what follows, which any thread may submit to.
        self._lock = threading.Lock()
        self._is_up = False
        self._next_number = 0
        self._open: dict[int, Submission] = {}
        self._numbers: dict[Submission, int] = {}
        self._last: Report | None = None
        self._start()

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid

    @property
    def is_up(self) -> bool:
        """Whether the process lives and has opened its model."""
        return self._is_up

    @property
    def healthy(self) -> bool:
        """Whether the process lives and its last step did not fail."""
        # Read once: another thread may forget it meanwhile.
        last = self._last
        return self._is_up and (last is None or last.healthy)

    @property
    def num_running(self) -> int:
        """Sequences being decoded, at the last report."""
        last = self._last
        return last.num_running if last else 0

    @property
    def num_rows(self) -> int:
        """Rows being decoded, at the last report."""
        last = self._last
        return last.num_rows if last else 0

    def wait_until_started(self) -> Started:
        """Returns what its engine really uses; raises what opening the model raised there."""
        started = self._started()
        self._thread = threading.Thread(target=self._run, name=f"reports-{self._name}", daemon=True)
        self._thread.start()
        return started

    def stop(self, give_up_at: float) -> None:
        """Takes no more work, finishes what there is by a time of time.monotonic, fails the rest, and ends."""
        self.gate.close()
        with self._lock:
            self._give_up_at = give_up_at
            self._stopped.set()
            self._send(Stop(give_up_at))

    def join(self) -> None:
        """Waits for the end, and brings it about if it does not come."""
        if self._thread is not None:
            self._thread.join(max(0.0, self._give_up_at - time.monotonic()) + _GRACE_SECONDS)
        if self._thread is None or self._thread.is_alive():
            self._process.kill()
        if self._thread is not None:
            self._thread.join()
        self._process.wait()

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        whole, part = divmod(_SEND_SECONDS, 1)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", int(whole), int(part * 1e6)))
        connection = Connection(ours.detach())
        with theirs:
            try:
                process = _child(theirs.fileno())
            except OSError as error:
                raise EngineError(f"a decode process cannot be started: {error.strerror}") from error
        # Before anybody else can send. If it has ended already, `_started` will see.
        with contextlib.suppress(OSError):
            connection.send(self._setup)
        with self._lock:
            self._process, self._connection = process, connection

    def _started(self) -> Started:
        try:
            answer = self._connection.recv()
        except (EOFError, OSError):
            raise EngineError(f"a decode process ended while it started, with status {self._process.wait()}") from None
        if isinstance(answer, Failed):
            self._process.wait()
            raise answer.error
        with self._lock:
            self._is_up, self._last = True, None
            if self._stopped.is_set():
                self._send(Stop(self._give_up_at))
        started: Started = answer
        return started

    def _run(self) -> None:
        while True:
            self._read_reports()
            status = self._process.wait()
            if self._stopped.is_set():
                self._end_all(ShuttingDownError("the service is shutting down"))
                return
            _log.error("a decode process ended by itself, with status %d", status)
            self._end_all(DecodingLostError("what was decoding this has ended; it is being started again"))
            self._sink.restarted()
            if not self._start_again():
                return

    def _start_again(self) -> bool:
        """Tries until it works or is no longer wanted; says whether it works."""
        pause = _FIRST_PAUSE_SECONDS
        while not self._stopped.is_set():
            try:
                self._start()
                self._started()
            except VersoError as error:
                _log.error("a decode process cannot be started", exc_info=error)
                self._stopped.wait(pause)
                pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
            else:
                return True
        return False

    def _read_reports(self) -> None:
        left_sequences = left_tokens = ended_tokens = 0
        while True:
            try:
                report: Report = self._connection.recv()
            except (EOFError, OSError):
                return
            self._last = report
            self.gate.left_queue(report.left_sequences - left_sequences, report.left_tokens - left_tokens)
            self.gate.ended(report.ended_tokens - ended_tokens)
            left_sequences, left_tokens, ended_tokens = (
                report.left_sequences,
                report.left_tokens,
                report.ended_tokens,
            )
            self.gate.drain_rate = report.drain_rate
            for name, arguments in report.stats:
                getattr(self._sink, name)(*arguments)
            for trouble in report.troubles:
                logging.getLogger(trouble.logger).log(
                    trouble.level, "in a decode process", exc_info=_named(trouble.kinds)
                )
            for number, outcome in report.outcomes:
                self._end(number, outcome)

    def _post(self, message: Message) -> None:
        submission = message.submission
        with self._lock:
            if submission is None:
                return
            if message.action is Action.CANCEL:
                number = self._numbers.get(submission)
                if number is not None:
                    self._send(Cancel(number))
                return
            if not self._is_up:
                raise DecodingLostError("what decodes for this model is being started again")
            number = self._next_number
            self._next_number += 1
            self._open[number], self._numbers[submission] = submission, number
            self._send(Submit(number, tuple(map(packed, submission.sequences)), submission.deadline))

    def _send(self, message: Submit | Cancel | Stop) -> None:
        """Sends; if the process is gone or does not read, whoever reads its reports will see its end."""
        try:
            self._connection.send(message)
        except OSError:
            self._process.kill()

    def _end(self, number: int, outcome: Outcome) -> None:
        with self._lock:
            submission = self._open.pop(number)
            del self._numbers[submission]
        submission.settle(outcome)

    def _end_all(self, error: VersoError) -> None:
        with self._lock:
            self._is_up, self._last = False, None
            numbers = tuple(self._open)
        for number in numbers:
            self._end(number, error)
        self.gate.empty()


def _child(descriptor: int) -> "subprocess.Popen[bytes]":
    """Starts a process that knows its end of the connection by a descriptor."""
    command = [sys.executable, "-m", _CHILD, str(descriptor)]
    path = os.pathsep.join(path for path in sys.path if path)
    environment = {**_TUNABLES, **os.environ, "PYTHONPATH": path}
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, _BLOCKED)
    try:
        return subprocess.Popen(  # noqa: S603  # our own interpreter and module
            command, pass_fds=[descriptor], stdin=subprocess.DEVNULL, env=environment
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def _named(kinds: tuple[str, ...]) -> Exception | None:
    """Makes an exception, and its causes, of nothing but the names of their types."""
    error: Exception | None = None
    for kind in reversed(kinds):
        cause, error = error, type(kind, (Exception,), {})()
        error.__cause__ = cause
    return error
