"""A generator of HTTP load that costs little: raw connections in one event loop, requests made beforehand.

Closed loop: each client sends its next request when the answer to the last has come. Open loop: requests are sent at
times drawn beforehand, whatever has been answered, and their latency counts from those times. It runs in a process of
its own but on the same cores as the server, so its processor time is part of what it reports.
"""

import asyncio
import random
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.http_messages import AnswerReader, HttpError

# Beyond its own time, how long a load waits for answers that do not come.
_PATIENCE_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class ClosedLoad:
    """So many clients until all requests are answered, or for so long.

    requests: whole HTTP requests, each sent once at most, in turn. What is under way at the end is waited for, so that
    the server is idle afterwards. The first `num_warm_up` answers are not counted; after `num_counted` further ones,
    if it is given, the load ends and counts no more, so that no client is ever idle while answers are counted.
    """

    port: int
    requests: Sequence[bytes]
    clients: int
    seconds: float
    num_warm_up: int = 0
    num_counted: int | None = None


@dataclass(frozen=True, slots=True)
class OpenLoad:
    """So many requests per second, at random times (a Poisson process of this seed), for so long."""

    port: int
    requests: Sequence[bytes]
    rate: float
    seconds: float
    seed: int = 1


@dataclass(frozen=True, slots=True)
class LoadResult:
    """What came back.

    latencies: seconds of each request answered with 200. seconds: over which they were counted. failures: other
    answers. processor_seconds: of the generator itself in that time. answers: bodies, where they were asked for.
    """

    latencies: tuple[float, ...]
    seconds: float
    failures: int
    processor_seconds: float
    answers: tuple[bytes, ...] = ()

    @property
    def rate(self) -> float:
        """Answered requests per second."""
        return len(self.latencies) / self.seconds


class LoadError(Exception):
    """The load could not be made, or the server gave up on it."""


class LoadGenerator:
    """Makes load, one at a time; every method raises LoadError when the server closes a connection or is silent."""

    def closed(self, load: ClosedLoad) -> LoadResult:
        """Runs a closed loop until it has what it counts, its time is up or its requests are used up."""
        return asyncio.run(_closed(load))

    def together(self, loads: Sequence[ClosedLoad]) -> list[LoadResult]:
        """Runs closed loops at the same time; their processor time is not told apart."""
        return asyncio.run(_together(loads))

    def open(self, load: OpenLoad) -> LoadResult:
        """Runs an open loop and waits for the last answer."""
        return asyncio.run(_open(load))

    def sequence(self, port: int, requests: Sequence[bytes]) -> LoadResult:
        """Sends requests one after the other and keeps the answers."""
        return asyncio.run(_sequence(port, requests))


def arrival_times(rate: float, seconds: float, seed: int) -> list[float]:
    """Draws the arrivals of a Poisson process, in seconds from 0."""
    draw = random.Random(seed)
    times: list[float] = []
    now = draw.expovariate(rate)
    while now < seconds:
        times.append(now)
        now += draw.expovariate(rate)
    return times


class _Connection(asyncio.Protocol):
    """One keep-alive connection with at most one request under way."""

    def __init__(self, clients: "_Clients") -> None:
        self._clients = clients
        self._reader = AnswerReader()
        self._transport: asyncio.Transport | None = None
        self.started = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keeps the transport."""
        assert isinstance(transport, asyncio.Transport), "TCP connections are streams"
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Hands complete answers on."""
        try:
            for status, body in self._reader.feed(data):
                self._clients.count(self, status, body)
        except (HttpError, LoadError) as error:
            self._clients.fail(str(error))

    def connection_lost(self, exc: Exception | None) -> None:
        """Ends the load, unless it has ended."""
        self._clients.fail("the server closed a connection")

    def send(self, request: bytes, started: float) -> None:
        """Sends a request whose latency counts from `started`, of time.perf_counter."""
        assert self._transport is not None, "connections are made before they are used"
        self.started = started
        self._transport.write(request)

    def close(self) -> None:
        """Closes it."""
        assert self._transport is not None, "connections are made before they are used"
        self._transport.close()


class _Clients:
    """Connections to one server, and a count of what comes back from when counting starts until it stops.

    answered: what to do with a connection whose answer has come, given the body.
    """

    def __init__(self, port: int, answered: Callable[[_Connection, bytes], None]) -> None:
        self._port = port
        self._answered = answered
        self._connections: list[_Connection] = []
        self._ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._latencies: list[float] = []
        self._failures = 0
        self.start_counting()

    def start_counting(self) -> None:
        """Counts from now on."""
        self.since, self._processor = time.perf_counter(), time.process_time()
        self._counted: tuple[float, float] | None = None

    def stop_counting(self) -> None:
        """Counts no more; the result is of the time from the last start until now."""
        self._counted = self._spent()

    async def connect(self) -> _Connection:
        _, connection = await asyncio.get_running_loop().create_connection(
            lambda: _Connection(self), "127.0.0.1", self._port
        )
        self._connections.append(connection)
        return connection

    def count(self, connection: _Connection, status: int, body: bytes) -> None:
        if self._counted is None:
            if status == 200:
                self._latencies.append(time.perf_counter() - connection.started)
            else:
                self._failures += 1
        self._answered(connection, body)

    def end(self) -> None:
        if not self._ended.done():
            self._ended.set_result(None)

    def fail(self, reason: str) -> None:
        if not self._ended.done():
            self._ended.set_exception(LoadError(reason))

    async def result(self, seconds: float, answers: Sequence[bytes] = ()) -> LoadResult:
        """Waits for the end, closes the connections, and returns what came back."""
        try:
            await asyncio.wait_for(self._ended, seconds + _PATIENCE_SECONDS)
        except TimeoutError:
            raise LoadError("the server does not answer") from None
        finally:
            for connection in self._connections:
                connection.close()
        seconds, processor_seconds = self._counted or self._spent()
        return LoadResult(tuple(self._latencies), seconds, self._failures, processor_seconds, tuple(answers))

    def _spent(self) -> tuple[float, float]:
        return time.perf_counter() - self.since, time.process_time() - self._processor


async def _closed(load: ClosedLoad) -> LoadResult:
    waiting = deque(load.requests)
    under_way = num_answered = 0

    def go_on(connection: _Connection) -> None:
        nonlocal under_way
        if waiting and time.perf_counter() < last_start:
            under_way += 1
            connection.send(waiting.popleft(), time.perf_counter())
        elif not under_way:
            clients.end()

    def answered(connection: _Connection, body: bytes) -> None:
        nonlocal under_way, num_answered
        under_way -= 1
        num_answered += 1
        if num_answered == load.num_warm_up:
            clients.start_counting()
        elif load.num_counted is not None and num_answered == load.num_warm_up + load.num_counted:
            clients.stop_counting()
            waiting.clear()
        go_on(connection)

    clients = _Clients(load.port, answered)
    connections = [await clients.connect() for _ in range(load.clients)]
    clients.start_counting()
    last_start = clients.since + load.seconds
    if load.num_warm_up:
        clients.stop_counting()
    for connection in connections:
        go_on(connection)
    return await clients.result(load.seconds)


async def _together(loads: Sequence[ClosedLoad]) -> list[LoadResult]:
    return await asyncio.gather(*(_closed(load) for load in loads))


async def _open(load: OpenLoad) -> LoadResult:
    times = arrival_times(load.rate, load.seconds, load.seed)
    if not 0 < len(times) <= len(load.requests):
        raise LoadError(f"{len(load.requests)} requests for {len(times)} arrivals")
    idle: list[_Connection] = []
    num_answered = 0

    def answered(connection: _Connection, body: bytes) -> None:
        nonlocal num_answered
        num_answered += 1
        idle.append(connection)
        if num_answered == len(times):
            clients.end()

    clients = _Clients(load.port, answered)
    begin = clients.since
    for moment, request in zip(times, load.requests, strict=False):
        if (delay := begin + moment - time.perf_counter()) > 0:
            await asyncio.sleep(delay)
        connection = idle.pop() if idle else await clients.connect()
        connection.send(request, begin + moment)
    return await clients.result(load.seconds)


async def _sequence(port: int, requests: Sequence[bytes]) -> LoadResult:
    waiting = deque(requests)
    answers: list[bytes] = []

    def answered(connection: _Connection, body: bytes) -> None:
        answers.append(body)
        if waiting:
            connection.send(waiting.popleft(), time.perf_counter())
        else:
            clients.end()

    clients = _Clients(port, answered)
    connection = await clients.connect()
    clients.since = time.perf_counter()
    connection.send(waiting.popleft(), clients.since)
    return await clients.result(0.0, answers)
