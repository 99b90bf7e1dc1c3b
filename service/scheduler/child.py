"""A decode process: one engine, one decode loop, and the connection to the service that started it.

Run as `python -m service.scheduler.child DESCRIPTOR`, the descriptor being that of the connection. It ends when it is
told to stop, or when the service is gone; the service has blocked the signals that are its own business.
"""

import gc
import logging
import os
import sys
import threading
import time
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from multiprocessing.connection import Connection

import numpy as np

from service.engine.engine import Engine
from service.errors import VersoError
from service.package.package import ModelPackage
from service.scheduler.loop import DecodeLoop
from service.scheduler.outbox import Outbox
from service.scheduler.sequence import Sequence, SequenceResult, Submission
from service.scheduler.thread import DecodeThread
from service.scheduler.wire import Cancel, Failed, Report, Setup, Started, Stop, Submit

# How long numbers wait for others to be sent with them, at most, while decoding goes on.
_SECONDS_BETWEEN_REPORTS = 0.02
_NO_LIMIT = sys.maxsize


class ReportingLoop(DecodeLoop):
    """A decode loop that reports before a turn: what has ended at once, all else now and then or before it sleeps."""

    def __init__(self, engine: Engine, setup: Setup, connection: Connection) -> None:
        self.outbox = Outbox()
        # What may wait is decided where it is handed in.
        limits = replace(setup.limits, max_waiting_sequences=_NO_LIMIT, max_waiting_tokens=_NO_LIMIT)
        super().__init__(engine, setup.rules, limits, self.outbox)
        self._connection = connection
        self._reported_at = 0.0
        # Held while something is counted here and in the inbox, so that a report never sees one of them only.
        self._counting = threading.Lock()
        self._submitted_sequences = self._submitted_tokens = 0

    def submit(self, submission: Submission) -> None:
        """Takes a submission in; called by the thread that receives."""
        with self._counting:
            self._submitted_sequences += len(submission.sequences)
            self._submitted_tokens += submission.num_tokens
            self.inbox.submit(submission)

    def iterate(self, wait_seconds: float | None = 0) -> None:
        """Reports, and takes one turn; see DecodeLoop.iterate."""
        is_due = self.idle or time.monotonic() - self._reported_at >= _SECONDS_BETWEEN_REPORTS
        if self.outbox.is_urgent or (is_due and not self.outbox.is_empty):
            self.report()
        super().iterate(wait_seconds)

    def report(self) -> None:
        """Sends what there is to tell; without a service to tell it to, the process ends."""
        outcomes, stats, troubles = self.outbox.empty()
        with self._counting:
            report = Report(
                outcomes=outcomes,
                stats=stats,
                troubles=troubles,
                left_sequences=self._submitted_sequences - self.inbox.waiting_sequences,
                left_tokens=self._submitted_tokens - self.inbox.waiting_tokens,
                ended_tokens=self._submitted_tokens - self.inbox.open_tokens,
                drain_rate=self.inbox.drain_rate,
                num_running=self.num_running,
                num_rows=self.num_rows,
                healthy=self.healthy,
            )
        try:
            self._connection.send(report)
        except OSError:
            os._exit(1)
        self._reported_at = time.monotonic()


class Receiver:
    """Does what the service's messages say."""

    def __init__(self, connection: Connection, loop: ReportingLoop, thread: DecodeThread) -> None:
        self._connection = connection
        self._loop = loop
        self._thread = thread
        self._submissions: dict[int, Submission] = {}

    def run(self) -> None:
        """Reads messages for ever; the process ends with the connection."""
        while True:
            try:
                message = self._connection.recv()
            except (EOFError, OSError):
                os._exit(1)
            if isinstance(message, Submit):
                self._submit(message)
            elif isinstance(message, Cancel):
                submission = self._submissions.get(message.number)
                if submission is not None:
                    self._loop.inbox.cancel(submission)
            elif isinstance(message, Stop):
                self._thread.stop(message.give_up_at)

    def _submit(self, message: Submit) -> None:
        sequences = [Sequence(np.frombuffer(ids, np.int64), task) for ids, task in message.items]
        submission = Submission(sequences, message.deadline)
        self._submissions[message.number] = submission
        submission.future.add_done_callback(partial(self._ended, message.number))
        self._loop.submit(submission)

    def _ended(self, number: int, future: "Future[tuple[SequenceResult, ...]]") -> None:
        del self._submissions[number]
        error = future.exception()
        if error is None:
            self._loop.outbox.end(number, future.result())
        elif isinstance(error, VersoError):
            self._loop.outbox.end(number, error)


def main() -> None:
    """Decodes until the service says stop."""
    connection = Connection(int(sys.argv[1]))
    setup: Setup = connection.recv()
    try:
        engine = Engine(ModelPackage.open(setup.package), setup.engine, setup.limits.max_rows)
    except VersoError as error:
        connection.send(Failed(error))
        return
    loop = ReportingLoop(engine, setup, connection)
    logging.getLogger().addHandler(loop.outbox)
    connection.send(Started(engine.precision, engine.provider, engine.num_threads))
    # What there is now lives as long as the process; the collector need not go through it time and again.
    gc.freeze()
    thread = DecodeThread(loop, setup.package.name)
    threading.Thread(target=Receiver(connection, loop, thread).run, daemon=True).start()
    thread.join()
    loop.report()


if __name__ == "__main__":
    main()
