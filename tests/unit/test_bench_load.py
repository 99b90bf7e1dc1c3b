"""The generator of load, against a small server of its own."""

import socketserver
import threading
import time
from collections.abc import Iterator

import pytest

from bench.http_messages import AnswerReader, HttpError, http_request
from bench.load import ClosedLoad, LoadError, LoadGenerator, LoadResult, OpenLoad, arrival_times
from bench.workloads.closed_loop import shared_number

SLOW_SECONDS = 0.2


def answer(body: bytes, status: int = 200) -> bytes:
    return b"HTTP/1.1 %d X\r\ncontent-length: %d\r\n\r\n%s" % (status, len(body), body)


class Echo(socketserver.StreamRequestHandler):
    """Echoes bodies and keeps them; "fail" is answered 500, "slow" after a while, "close" not at all."""

    def handle(self) -> None:
        while (length := self.read_head()) is not None:
            body = self.rfile.read(length)
            self.server.seen.append(body)
            if body == b"close":
                return
            if body == b"slow":
                time.sleep(SLOW_SECONDS)
            self.wfile.write(answer(body, 500 if body == b"fail" else 200))

    def read_head(self) -> int | None:
        length = None
        while (line := self.rfile.readline().strip()) != b"":
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        return length


@pytest.fixture
def server() -> Iterator[socketserver.ThreadingTCPServer]:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Echo) as server:
        server.daemon_threads = True
        server.seen = []
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join(10)


@pytest.fixture
def port(server) -> int:
    return server.server_address[1]


def requests(port: int, *bodies: str) -> list[bytes]:
    return [http_request(port, body.encode()) for body in bodies]


def test_a_sequence_keeps_the_answers_in_order(port):
    result = LoadGenerator().sequence(port, requests(port, "a", "bb", "ccc"))
    assert result.answers == (b"a", b"bb", b"ccc")
    assert len(result.latencies) == 3
    assert result.failures == 0


def test_a_closed_loop_sends_every_request_once(port):
    bodies = [str(number) for number in range(100)]
    result = LoadGenerator().closed(ClosedLoad(port, requests(port, *bodies), clients=7, seconds=60.0))
    assert len(result.latencies) == 100
    assert result.seconds < 60


def test_a_closed_loop_may_have_more_clients_than_requests(port):
    result = LoadGenerator().closed(ClosedLoad(port, requests(port, "a", "b"), clients=5, seconds=60.0))
    assert len(result.latencies) == 2


def test_answers_during_the_warm_up_are_not_counted(port):
    load = ClosedLoad(port, requests(port, "slow", "b", "c"), clients=1, seconds=60.0, num_warm_up=1)
    result = LoadGenerator().closed(load)
    assert len(result.latencies) == 2
    assert result.seconds < SLOW_SECONDS


def test_a_load_that_never_gets_warm_counts_nothing(port):
    load = ClosedLoad(port, requests(port, "a", "b"), clients=1, seconds=60.0, num_warm_up=5)
    assert LoadGenerator().closed(load).latencies == ()


def test_a_load_ends_with_the_last_answer_it_counts_and_keeps_its_clients_busy_until_then(server, port):
    bodies = [str(number) for number in range(100)]
    load = ClosedLoad(port, requests(port, *bodies), clients=4, seconds=60.0, num_warm_up=10, num_counted=20)
    result = LoadGenerator().closed(load)
    assert len(result.latencies) == 20
    # With the last one that counts, each of the other clients has one under way.
    assert sorted(map(int, server.seen)) == list(range(10 + 20 + 3))


def test_what_is_under_way_when_the_load_ends_is_not_counted(port):
    load = ClosedLoad(port, requests(port, "slow", "b", "c", "d"), clients=2, seconds=60.0, num_counted=2)
    result = LoadGenerator().closed(load)
    assert len(result.latencies) == 2
    assert max(result.latencies) < SLOW_SECONDS
    assert result.seconds < SLOW_SECONDS


def test_what_is_under_way_when_the_time_is_up_is_counted(port):
    result = LoadGenerator().closed(ClosedLoad(port, requests(port, "slow", "b"), clients=1, seconds=SLOW_SECONDS / 2))
    assert len(result.latencies) == 1
    assert result.seconds >= result.latencies[0] >= SLOW_SECONDS


def test_systems_together_take_the_time_they_are_given():
    rates = (300.0, 100.0)
    number = shared_number(rates, 3.0)
    assert sum(number / rate for rate in rates) == pytest.approx(3.0 * len(rates), rel=0.01)
    assert shared_number((0.1, 0.1), 1.0) == 1


def test_failures_are_counted_apart(port):
    result = LoadGenerator().closed(ClosedLoad(port, requests(port, "a", "fail", "b"), clients=1, seconds=60.0))
    assert (len(result.latencies), result.failures) == (2, 1)


def test_closed_loops_run_together_and_are_told_apart(port):
    loads = [ClosedLoad(port, requests(port, *["x"] * count), clients=2, seconds=60.0) for count in (3, 5)]
    assert [len(result.latencies) for result in LoadGenerator().together(loads)] == [3, 5]


def test_an_open_loop_sends_at_every_arrival(port):
    load = OpenLoad(port, requests(port, *["x"] * 200), rate=500.0, seconds=0.2)
    result = LoadGenerator().open(load)
    assert len(result.latencies) == len(arrival_times(500.0, 0.2, load.seed))


def test_an_open_loop_needs_a_request_for_every_arrival(port):
    with pytest.raises(LoadError, match="1 requests for"):
        LoadGenerator().open(OpenLoad(port, requests(port, "x"), rate=500.0, seconds=0.2))


def test_a_connection_that_the_server_closes_ends_the_load(port):
    with pytest.raises(LoadError, match="closed a connection"):
        LoadGenerator().sequence(port, requests(port, "a", "close", "b"))


def test_arrivals_are_as_many_as_the_rate_says_and_in_order():
    times = arrival_times(100.0, 50.0, seed=3)
    assert times == sorted(times)
    assert times[0] > 0
    assert times[-1] < 50
    assert 4_500 < len(times) < 5_500
    assert times == arrival_times(100.0, 50.0, seed=3)


def test_a_rate_is_answers_over_time():
    assert LoadResult((0.1,) * 30, 2.0, 0, 0.1).rate == 15


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_answers_are_put_together_from_pieces_of_any_size(size):
    stream = answer(b"one") + answer(b"", 503) + answer(b"x" * 300)
    reader = AnswerReader()
    found = [one for start in range(0, len(stream), size) for one in reader.feed(stream[start : start + size])]
    assert found == [(200, b"one"), (503, b""), (200, b"x" * 300)]


def test_an_answer_that_does_not_say_how_long_it_is_is_refused():
    with pytest.raises(HttpError, match="how long"):
        AnswerReader().feed(b"HTTP/1.1 200 OK\r\nX: y\r\n\r\n")


def test_a_request_says_how_long_its_body_is():
    assert b"Content-Length: 2\r\n" in http_request(80, "ä".encode())
