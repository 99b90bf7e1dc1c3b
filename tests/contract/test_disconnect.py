"""A caller who goes away takes the work along, and slow ones are sent away; over real sockets."""

import http.client
import json
import socket
import time

import pytest

from service.api.backend import Backend
from service.app import create_app
from service.observability.logs import create_logger
from tests.contract.serving import connect, read_all, serving, translate_head, wait_until

BODY = json.dumps({"q": "a", "source": "en", "target": "de"}).encode()


def metrics(port: int) -> str:
    with connect(port) as connection:
        connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        return read_all(connection).decode()


def test_a_caller_who_disconnects_cancels_the_work(served, translator, log):
    translator.holds = True
    with connect(served) as connection:
        connection.sendall(translate_head(len(BODY)) + BODY)
        assert translator.started.wait(20)
    assert translator.cancelled.wait(20)
    wait_until(lambda: 'verso_translations_total{outcome="cancelled",pair="en-de"} 1.0' in metrics(served))
    assert '"status": 499' in log.getvalue()


def test_a_caller_who_waits_is_answered(served, translator):
    translator.holds = True
    with connect(served) as connection:
        connection.sendall(translate_head(len(BODY), "Connection: close") + BODY)
        assert translator.started.wait(20)
        translator.release.set()
        assert read_all(connection).endswith(b'{"translatedText":"de:a"}')
    assert not translator.cancelled.is_set()


def test_a_caller_who_leaves_inside_the_body_is_no_failure(served, log):
    with connect(served) as connection:
        connection.sendall(translate_head(1000) + BODY)
        time.sleep(0.05)
    wait_until(lambda: '"status": 499' in log.getvalue())
    assert "exception" not in log.getvalue()


def test_a_connection_serves_many_requests(served):
    connection = http.client.HTTPConnection("127.0.0.1", served, timeout=20)
    connection.connect()
    opened = connection.sock
    for _ in range(3):
        connection.request("POST", "/translate", BODY)
        assert connection.getresponse().read() == b'{"translatedText":"de:a"}'
        assert connection.sock is opened
    connection.close()


@pytest.fixture
def impatient(settings, translator, registry, log):
    settings = settings.model_copy(update={"body_timeout_seconds": 0.2})
    logger = create_logger(log, "debug", "json")
    with serving(create_app(settings, logger, lambda settings, sink: Backend(translator, registry)), settings) as port:
        yield port


def test_a_body_that_does_not_arrive_is_408_and_ends_the_connection(impatient):
    with connect(impatient) as connection:
        connection.sendall(translate_head(1000) + BODY)
        answer = read_all(connection)
    assert answer.startswith(b"HTTP/1.1 408")
    assert b'"code":"slow_body"' in answer


def test_a_body_over_the_limit_is_refused_before_it_is_sent(served, settings):
    with connect(served) as connection:
        connection.sendall(translate_head(settings.max_body_bytes + 1))
        answer = read_all(connection)
    assert answer.startswith(b"HTTP/1.1 413")


def test_a_length_of_thousands_of_digits_is_refused(served):
    with connect(served) as connection:
        connection.sendall(translate_head(0).replace(b"Content-Length: 0", b"Content-Length: " + b"9" * 5000))
        connection.shutdown(socket.SHUT_WR)
        status = read_all(connection).split(b" ", 2)[1]
    assert status in (b"400", b"413")


def test_answers_do_not_name_the_server_software(served):
    with connect(served) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert b"server:" not in read_all(connection).lower()
