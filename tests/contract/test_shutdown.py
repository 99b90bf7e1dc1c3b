"""The ordered stop: readiness fails first, running requests are waited for, the rest is answered, then it ends."""

import http.client
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.contract.serving import connect, read_all, translate_head, wait_until

ROOT = Path(__file__).parents[2]
BODY = json.dumps({"q": "a", "source": "en", "target": "de"}).encode()


class Process:
    """A scripted server, its port, and the events of its log."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.events: list[dict[str, object]] = []
        self.port = int(str(self.wait_for("listening")["address"]).rpartition(":")[2])

    def wait_for(self, event: str) -> dict[str, object]:
        while not (found := [entry for entry in self.events if entry["event"] == event]):
            line = self.process.stderr.readline()
            assert line, f"the server ended before {event}"
            self.events.append(json.loads(line))
        return found[0]

    def get(self, path: str) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request("GET", path)
            return connection.getresponse().status
        finally:
            connection.close()

    def stop(self, sig: signal.Signals = signal.SIGTERM) -> None:
        self.process.send_signal(sig)
        self.wait_for("stopping")


@contextmanager
def running(delay: float, timeout: float, mode: str) -> Iterator[Process]:
    command = [sys.executable, "-W", "error", "-m", "tests.contract.scripted_server", str(delay), str(timeout), mode]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield Process(process)
    finally:
        process.kill()
        process.communicate()


def test_readiness_fails_while_requests_are_still_served():
    with running(delay=30, timeout=5, mode="quick") as server:
        wait_until(lambda: server.get("/readyz") == 200)
        server.stop()
        wait_until(lambda: server.get("/readyz") == 503)
        assert server.get("/healthz") == 200
        with connect(server.port) as connection:
            connection.sendall(translate_head(len(BODY), "Connection: close") + BODY)
            assert read_all(connection).startswith(b"HTTP/1.1 200")


def test_an_idle_service_ends_at_once_with_the_signal_as_its_status():
    with running(delay=0, timeout=30, mode="quick") as server:
        wait_until(lambda: server.get("/readyz") == 200)
        server.stop()
        assert server.process.wait(20) == -signal.SIGTERM
        assert "exception" not in server.process.stderr.read()


def test_a_request_that_outlasts_the_drain_is_answered_503_and_new_ones_too():
    with running(delay=0, timeout=1.5, mode="hold") as server:
        wait_until(lambda: server.get("/readyz") == 200)
        with connect(server.port) as held:
            held.sendall(translate_head(len(BODY)) + BODY)
            server.wait_for("translating")
            server.stop()
            wait_until(lambda: server.get("/readyz") == 503)
            with connect(server.port) as late:
                late.sendall(translate_head(len(BODY)) + BODY)
                refused = read_all(late)
            answer = read_all(held)
        for given in (refused, answer):
            head, _, body = given.partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 503")
            assert b"retry-after: 5" in head.lower()
            assert b"connection: close" in head.lower()
            assert json.loads(body)["error"]["code"] == "shutting_down"
        assert server.process.wait(20) == -signal.SIGTERM
        assert "exception" not in server.process.stderr.read()


def test_a_second_signal_ends_at_once():
    with running(delay=60, timeout=60, mode="hold") as server:
        wait_until(lambda: server.get("/readyz") == 200)
        server.stop()
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(20) == -signal.SIGTERM


def test_an_interrupt_is_an_ordered_stop_too():
    with running(delay=0, timeout=5, mode="quick") as server:
        wait_until(lambda: server.get("/readyz") == 200)
        server.stop(signal.SIGINT)
        assert server.process.wait(20) != 0


def test_a_failed_load_ends_the_process_with_every_problem():
    with running(delay=0, timeout=5, mode="broken") as server:
        assert server.process.wait(20) == 1
        assert server.process.stdout.read().split("\n")[:2] == ["a: damaged", "b: damaged"]


@pytest.mark.slow
def test_a_body_that_is_still_arriving_does_not_hold_up_the_stop():
    with running(delay=0, timeout=0.2, mode="quick") as server:
        wait_until(lambda: server.get("/readyz") == 200)
        with connect(server.port) as connection:
            connection.sendall(translate_head(1000) + BODY)
            assert server.get("/healthz") == 200
            server.stop()
            assert read_all(connection).startswith(b"HTTP/1.1 503")
        assert server.process.wait(20) != 0
