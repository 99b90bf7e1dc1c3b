"""What a decode process keeps until its next report."""

import logging
import threading

from service.errors import EngineError
from service.scheduler.outbox import Outbox

SECONDS = 20
SECRET = "canary7f3a"


def record(error=None):
    return logging.LogRecord("a", logging.ERROR, "", 0, SECRET, (), error and (type(error), error, None))


def test_an_outbox_loses_nothing_between_threads():
    outbox, taken, done = Outbox(), [], threading.Event()

    def fill(start):
        for number in range(start, start + 5_000):
            outbox.end(number, ())
            outbox.finished("end_token", number, 0.0, 0.0)

    def take():
        while not done.is_set():
            taken.append(outbox.empty())

    fillers = [threading.Thread(target=fill, args=(start,)) for start in (0, 5_000, 10_000)]
    taker = threading.Thread(target=take)
    for thread in (*fillers, taker):
        thread.start()
    for thread in fillers:
        thread.join(SECONDS)
    done.set()
    taker.join(SECONDS)
    taken.append(outbox.empty())
    assert sorted(number for outcomes, _, _ in taken for number, _ in outcomes) == list(range(15_000))
    assert sorted(call[1][1] for _, stats, _ in taken for call in stats) == list(range(15_000))
    assert outbox.empty() == ((), (), ())


def test_an_outbox_says_what_cannot_wait():
    outbox = Outbox()
    assert (outbox.is_empty, outbox.is_urgent) == (True, False)
    outbox.finished("end_token", 0.0, 0.0, 0.0)
    assert (outbox.is_empty, outbox.is_urgent) == (False, False)
    outbox.end(0, EngineError("no"))
    assert outbox.is_urgent
    outbox.empty()
    outbox.emit(record())
    assert outbox.is_urgent
    assert SECRET not in repr(outbox.empty())


def test_an_outbox_keeps_types_of_exceptions_and_no_words_even_if_causes_go_in_a_circle():
    outbox = Outbox()
    first, second = EngineError(SECRET), KeyError(SECRET)
    first.__cause__ = second
    outbox.emit(record(first))
    second.__cause__ = first
    outbox.emit(record(first))
    _, _, (one, circle) = outbox.empty()
    assert (one.logger, one.level, one.kinds) == ("a", logging.ERROR, ("EngineError", "KeyError"))
    assert set(circle.kinds) == {"EngineError", "KeyError"}
