"""The generator of load, against a small server of its own."""

import socketserver
import threading
from collections.abc import Iterator

import pytest

from bench.http_messages import AnswerReader, HttpError, http_request
from bench.load import ClosedLoad, LoadError, LoadGenerator, LoadResult, OpenLoad, arrival_times
from bench.servers import processor_seconds, resident_bytes


def answer(body: bytes, status: int = 200) -> bytes:
    return b"HTTP/1.1 %d X\r\ncontent-length: %d\r\n\r\n%s" % (status, len(body), body)


class Echo(socketserver.StreamRequestHandler):
    """Echoes bodies; "fail" is answered 500, "close" not at all."""

    def handle(self) -> None:
        while (length := self.read_head()) is not None:
            body = self.rfile.read(length)
            if body == b"close":
                return
            self.wfile.write(answer(body, 500 if body == b"fail" else 200))

    def read_head(self) -> int | None:
        length = None
        while (line := self.rfile.readline().strip()) != b"":
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        return length


@pytest.fixture
def port() -> Iterator[int]:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Echo) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join(10)


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
    load = ClosedLoad(port, requests(port, "a", "b"), clients=1, seconds=60.0, warm_up_seconds=60.0)
    assert LoadGenerator().closed(load).latencies == ()


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


def test_processor_time_is_read_behind_a_name_with_spaces():
    stat = "42 (a (b) c) S " + " ".join(str(number) for number in range(4, 52))
    # The fields 14 and 15 of proc(5): user and system time in ticks.
    assert processor_seconds(stat) == pytest.approx((14 + 15) / 100)


def test_resident_memory_is_counted_in_pages():
    assert resident_bytes("1000 25 10 1 0 500 0") % 25 == 0
