"""Where the process stands between start and stop, and which requests are running.

LOADING -> SERVING -> DRAINING -> CLOSED. Draining still serves, but readiness says no, so that load balancers look
elsewhere; closed admits nothing. Lives on the event loop and needs no locks.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum

from service.api.attendance import StopSignal
from service.api.backend import Backend
from service.errors import NotReadyError, ShuttingDownError


class Phase(Enum):
    """A stage in the life of the process."""

    LOADING = "loading"
    SERVING = "serving"
    DRAINING = "draining"
    CLOSED = "closed"


class Lifecycle:
    """The phase, the loaded backend, and the count of running requests.

    aborted: set when running requests must end at once.
    failure: why loading failed; the server stops on it.
    """

    def __init__(self) -> None:
        self.phase = Phase.LOADING
        self.aborted = StopSignal()
        self.failure: Exception | None = None
        self._backend: Backend | None = None
        self._num_running = 0
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def loaded(self) -> Backend | None:
        """The backend once it is loaded."""
        return self._backend

    def load(self, backend: Backend) -> None:
        """Takes the loaded backend and begins to serve, unless a stop came first."""
        self._backend = backend
        if self.phase is Phase.LOADING:
            self.phase = Phase.SERVING

    def fail(self, error: Exception) -> None:
        """Notes that loading failed; nothing will be served."""
        self.failure = error
        self.phase = Phase.CLOSED

    def begin_draining(self) -> None:
        """Lets readiness fail; requests are still served."""
        if self.phase is not Phase.CLOSED:
            self.phase = Phase.DRAINING

    def close_admission(self) -> None:
        """Refuses new requests; running ones go on."""
        self.phase = Phase.CLOSED

    async def wait_idle(self, seconds: float) -> bool:
        """Waits until no request runs, for so long at most; gives whether that is so."""
        try:
            await asyncio.wait_for(self._idle.wait(), seconds)
        except TimeoutError:
            return False
        return True

    def abort(self) -> None:
        """Makes running requests end with ShuttingDownError."""
        self.close_admission()
        self.aborted.set()

    def check_admission(self) -> None:
        """Raises NotReadyError or ShuttingDownError unless a request may be served now."""
        self.backend()

    def backend(self) -> Backend:
        """Gives the backend to a request that may be served; raises as `check_admission` otherwise."""
        if self.phase is Phase.CLOSED:
            raise ShuttingDownError("the service is stopping")
        if self._backend is None:
            raise NotReadyError("models are still loading")
        return self._backend

    def check_ready(self) -> None:
        """Raises NotReadyError or ShuttingDownError unless new requests are welcome and every model translates."""
        if self.phase is Phase.DRAINING:
            raise ShuttingDownError("the service is stopping")
        if not self.backend().registry.ready():
            raise NotReadyError("not every model has shown that it can translate")

    @contextmanager
    def running(self) -> Iterator[Backend]:
        """Counts a request as running; raises as `check_admission` does when none may start."""
        backend = self.backend()
        self._num_running += 1
        self._idle.clear()
        try:
            yield backend
        finally:
            self._num_running -= 1
            if self._num_running == 0:
                self._idle.set()
