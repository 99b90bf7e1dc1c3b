"""A decode loop on a thread of this process."""

import logging
import threading
import time

from service.errors import EngineError, ShuttingDownError
from service.scheduler.inbox import Gate
from service.scheduler.loop import DecodeLoop

_log = logging.getLogger(__name__)


class DecodeThread:
    """Runs a DecodeLoop until it is stopped."""

    def __init__(self, loop: DecodeLoop, name: str) -> None:
        self._loop = loop
        self._give_up_at: float | None = None
        self._thread = threading.Thread(target=self._run, name=f"decode-{name}", daemon=True)
        self._thread.start()

    @property
    def gate(self) -> Gate:
        """The loop's inbox."""
        return self._loop.inbox

    @property
    def is_up(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    @property
    def healthy(self) -> bool:
        """Whether the thread runs and its last step did not fail."""
        return self._thread.is_alive() and self._loop.healthy

    @property
    def num_running(self) -> int:
        """Sequences in the running batch."""
        return self._loop.num_running

    @property
    def num_rows(self) -> int:
        """Rows of the running batch."""
        return self._loop.num_rows

    def stop(self, give_up_at: float) -> None:
        """Takes no more work, finishes what there is by a time of time.monotonic, fails the rest, and ends."""
        self._give_up_at = give_up_at
        self._loop.inbox.close()

    def join(self) -> None:
        """Waits for the end."""
        self._thread.join()

    def _run(self) -> None:
        # Open tokens count what was submitted from that moment on; a message not read yet is not idleness.
        while not (self._loop.inbox.closed and self._loop.inbox.open_tokens == 0):
            if self._give_up_at is not None and time.monotonic() >= self._give_up_at:
                break
            try:
                self._loop.iterate(wait_seconds=None)
            except Exception:
                # A fault of ours must not leave callers waiting for ever, nor end the service.
                _log.exception("the decode loop failed")
                self._loop.healthy = False
                self._loop.abandon_all(EngineError("the decode loop failed"))
        self._loop.abandon_all(ShuttingDownError("the service is shutting down"))
