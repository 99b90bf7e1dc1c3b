"""A decode process as the service sees it, with a scripted engine in it: results, failures, limits and stops."""

import logging
import os
import signal
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from service.engine.options import EngineOptions
from service.errors import (
    DeadlineExceededError,
    DecodingLostError,
    EngineError,
    QueueFullError,
    RequestCancelledError,
    ShuttingDownError,
)
from service.observability.logs import describe_exception
from service.scheduler.loop import DecodeLoop
from service.scheduler.options import SchedulerOptions
from service.scheduler.pool import DecodePool
from service.scheduler.process import DecodeProcess
from service.scheduler.sequence import Sequence, Submission
from service.scheduler.thread import DecodeThread
from service.scheduler.wire import Setup
from service.search.group import SearchTask
from service.search.options import DecodingOptions
from service.search.rules import DecodingRules
from tests.contract.serving import wait_until
from tests.doubles import decoded
from tests.doubles.scripted_child import BROKEN, FAILING, FAULTY, SECRET, SLOW, OddEngine
from tests.doubles.scripted_engine import EOS_ID, START_ID

RULES = DecodingRules(START_ID, EOS_ID, forced_eos_id=EOS_ID, renormalize=True)
LIMITS = SchedulerOptions(max_rows=8, max_waiting_sequences=10, max_kept_tokens=0)
SECONDS = 20


class CountingSink:
    """Counts calls by what they say, times left out."""

    def __init__(self):
        self.counts = Counter()

    def encoded(self, stats):
        self.counts["sources"] += stats.num_sources
        self.counts["tokens"] += stats.num_tokens

    def shared(self, kind):
        self.counts["shared"] += 1

    def stepped(self, stats):
        self.counts["source steps"] += stats.num_sources

    def finished(self, reason, *seconds):
        self.counts[reason] += 1

    def restarted(self):
        self.counts["restarted"] += 1


class Service:
    """A pool of decode processes and what it has counted."""

    def __init__(self, count):
        self.sink = CountingSink()
        setup = Setup(Path("scripted"), EngineOptions(), LIMITS, RULES)
        self.workers = [DecodeProcess(setup, self.sink, f"scripted-{index}") for index in range(count)]
        self.pids = [worker.pid for worker in self.workers]
        self.pool = DecodePool(self.workers)

    def wait(self):
        for worker in self.workers:
            worker.wait_until_started()
        return self


@pytest.fixture(scope="module", autouse=True)
def _scripted():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("service.scheduler.process._CHILD", "tests.doubles.scripted_child")
        yield


@pytest.fixture(scope="module")
def shared(_scripted):
    service = Service(2).wait()
    yield service
    service.pool.close(0)
    assert not any(map(exists, service.pids))


@pytest.fixture
def service(shared):
    """Two processes, as good as new."""
    wait_until(lambda: shared.pool.healthy)
    shared.sink.counts.clear()
    yield shared
    wait_until(lambda: shared.pool.healthy)
    assert all(at_rest(worker) for worker in shared.workers)


@pytest.fixture
def make_service():
    services = []

    def make():
        services.append(Service(1))
        return services[-1]

    yield make
    for service in services:
        service.pool.close(0)
        assert not any(map(exists, service.pids))


@pytest.fixture
def threads():
    sink = CountingSink()
    pool = DecodePool([DecodeThread(DecodeLoop(OddEngine(), RULES, LIMITS, sink), "scripted")])
    yield pool, sink
    pool.close(0)


def exists(pid):
    """Whether there is such a process; one that nobody waited for counts."""
    return Path(f"/proc/{pid}").exists()


def at_rest(worker):
    gate = worker.gate
    numbers = gate.waiting_sequences, gate.waiting_tokens, gate.open_tokens, worker.num_running, worker.num_rows
    return not any(numbers) and not worker._open and not worker._numbers


def sequence(*ids, steps=None, **options):
    """steps: how many it takes, if that matters."""
    if steps is not None:
        options |= {"min_new_tokens": steps, "max_new_tokens": steps}
    asked = DecodingOptions(**{"max_new_tokens": 12, **options})
    return Sequence(np.array(ids, np.int64), SearchTask(asked, None, len(ids), with_alignment=len(ids) % 2 == 0))


def mixed(count):
    options = [{}, {"beam_size": 3, "num_hypotheses": 2}, {"sampling": True, "seed": 7}]
    return [sequence(1 + i % 7, *[2] * (i % 5), 1 + i // 30, **options[i % 3]) for i in range(count)]


def contents(dispatch):
    return decoded.contents(dispatch, SECONDS)


def submit(worker, *sequences, deadline=None):
    submission = Submission(sequences, deadline)
    worker.gate.submit(submission)
    return submission.future


def test_results_and_their_order_are_those_of_a_thread(service, threads):
    assert contents(service.pool.dispatch(mixed(60), None)) == contents(threads[0].dispatch(mixed(60), None))
    assert all(worker.num_running == 0 for worker in service.workers)


def test_what_is_counted_is_what_a_thread_counts(service, threads):
    pool, sink = threads
    for decoding in (service.pool.dispatch, pool.dispatch):
        # One worker after another, so that both have the same sequences to share.
        for _ in range(2):
            contents(decoding([sequence(3, 5), sequence(4, 5, beam_size=2), sequence(6, steps=3)], None))
        with pytest.raises(EngineError):
            contents(decoding([sequence(BROKEN, 5)], None))
    wait_until(lambda: service.sink.counts["error"] == 1)
    ended = ("end_token", "length", "error")
    assert {reason: service.sink.counts[reason] for reason in ended} == {
        reason: sink.counts[reason] for reason in ended
    }
    assert sum(service.sink.counts[reason] for reason in ended) == 7
    assert service.sink.counts["source steps"] > 0


def test_a_killed_process_loses_its_own_work_only_and_comes_back(service):
    lost, other = service.workers
    future, kept = submit(lost, sequence(SLOW, steps=900)), submit(other, sequence(SLOW, steps=60))
    wait_until(lambda: lost.num_running and other.num_running)
    pid = lost.pid
    os.kill(pid, signal.SIGKILL)
    error = future.exception(SECONDS)
    assert isinstance(error, DecodingLostError)
    assert error.retryable
    assert (lost.is_up, lost.healthy, service.pool.healthy, other.healthy) == (False, False, False, True)
    wait_until(lambda: at_rest(lost))
    with pytest.raises(DecodingLostError):
        submit(lost, sequence(3))
    assert at_rest(lost)
    assert contents(service.pool.dispatch([sequence(3), sequence(4)], None))
    assert not kept.done()
    wait_until(lambda: lost.healthy)
    assert lost.pid != pid
    assert not exists(pid)
    service.pids.append(lost.pid)
    assert len(kept.result(SECONDS)[0].hypotheses[0].token_ids) == 60
    assert submit(lost, sequence(3, 4)).result(SECONDS)
    assert service.sink.counts["restarted"] == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_are_the_services_business(service, number):
    worker = service.workers[0]
    future = submit(worker, sequence(SLOW, steps=10))
    wait_until(lambda: worker.num_running)
    os.kill(worker.pid, number)
    assert future.result(SECONDS)
    assert worker.healthy
    assert service.sink.counts["restarted"] == 0


def test_signals_are_ignored_from_the_first_moment_on(make_service):
    service = make_service()
    for number in (signal.SIGINT, signal.SIGTERM):
        os.kill(service.pids[0], number)
    service.wait()
    assert service.pool.healthy


@pytest.mark.parametrize(("steps", "drain_seconds"), [(10, SECONDS), (900, 0.3)])
def test_a_stop_finishes_what_it_has_time_for(make_service, steps, drain_seconds):
    service = make_service().wait()
    future = submit(service.workers[0], sequence(SLOW, steps=steps))
    began = time.monotonic()
    service.pool.close(drain_seconds)
    assert time.monotonic() - began < 3
    if steps == 10:
        assert len(future.result(0)[0].hypotheses[0].token_ids) == 10
    else:
        assert isinstance(future.exception(0), ShuttingDownError)
    with pytest.raises(ShuttingDownError):
        service.pool.dispatch([sequence(3)], None)
    assert at_rest(service.workers[0])
    assert not exists(service.pids[0])
    assert service.sink.counts["restarted"] == 0


@pytest.mark.parametrize("num_tokens", [10, 1_000_000])
def test_a_process_that_does_not_end_is_killed(make_service, monkeypatch, num_tokens):
    monkeypatch.setattr("service.scheduler.process._GRACE_SECONDS", 0.2)
    monkeypatch.setattr("service.scheduler.process._SEND_SECONDS", 0.2)
    service = make_service().wait()
    os.kill(service.pids[0], signal.SIGSTOP)
    # More than a connection holds while nobody reads.
    future = submit(service.workers[0], sequence(*[5] * num_tokens))
    began = time.monotonic()
    service.pool.close(0.2)
    assert time.monotonic() - began < 3
    assert isinstance(future.exception(0), ShuttingDownError)
    assert not exists(service.pids[0])


def test_a_stop_while_it_is_being_started_again_is_the_end(make_service):
    service = make_service().wait()
    os.kill(service.pids[0], signal.SIGKILL)
    wait_until(lambda: not service.workers[0].is_up and service.workers[0].pid not in service.pids)
    service.pids.append(service.workers[0].pid)
    began = time.monotonic()
    service.pool.close(5)
    assert time.monotonic() - began < 4
    assert not service.pool.healthy
    with pytest.raises(ShuttingDownError):
        submit(service.workers[0], sequence(3))


def test_cancelling_and_deadlines_reach_the_process(service):
    dispatch = service.pool.dispatch([sequence(SLOW, steps=900), sequence(SLOW, 4, steps=900)], None)
    wait_until(lambda: all(worker.num_running for worker in service.workers))
    dispatch.cancel()
    late = submit(service.workers[0], sequence(SLOW, 3, steps=900), deadline=time.monotonic() + 0.2)
    assert [type(future.exception(SECONDS)) for future in dispatch.futures] == [RequestCancelledError] * 2
    assert isinstance(late.exception(SECONDS), DeadlineExceededError)
    wait_until(lambda: service.sink.counts["cancelled"] == 2 and service.sink.counts["deadline"] == 1)
    dispatch.cancel()
    wait_until(lambda: all(map(at_rest, service.workers)))


def test_what_may_wait_is_decided_here_and_at_once(service):
    worker = service.workers[0]
    held = [submit(worker, sequence(SLOW, index, steps=10)) for index in range(8)]
    wait_until(lambda: worker.num_running == 8 and worker.gate.waiting_sequences == 0)
    waiting = [submit(worker, sequence(1, index)) for index in range(10)]
    assert (worker.gate.waiting_sequences, worker.gate.waiting_tokens) == (10, 20)
    with pytest.raises(QueueFullError) as refused:
        submit(worker, sequence(2, 2))
    assert 1 <= refused.value.retry_after_seconds <= 60
    for future in (*held, *waiting):
        future.result(SECONDS)
    assert at_rest(worker)


@pytest.mark.parametrize(
    ("first", "kind", "logger"),
    [(FAILING, "EngineError", "service.scheduler.loop"), (FAULTY, "KeyError", "service.scheduler.thread")],
)
def test_a_failure_is_told_as_in_a_thread_and_logged_by_its_type(service, threads, caplog, first, kind, logger):
    with pytest.raises(EngineError) as expected:
        contents(threads[0].dispatch([sequence(first, 2)], None))
    caplog.clear()
    worker = service.workers[0]
    error = submit(worker, sequence(first, 2)).exception(SECONDS)
    assert (type(error), error.message) == (EngineError, expected.value.message)
    wait_until(lambda: caplog.records)
    (record,) = caplog.records
    assert (record.name, record.levelno) == (logger, logging.ERROR)
    assert describe_exception(record.exc_info[1])[0] == kind
    assert SECRET not in "".join([record.getMessage(), *describe_exception(record.exc_info[1])])
    assert not worker.healthy
    assert submit(worker, sequence(3, 1)).result(SECONDS)
    assert worker.healthy


def test_values_that_are_no_numbers_fail_their_own_sequence_as_in_a_thread(service, threads):
    with pytest.raises(EngineError) as expected:
        contents(threads[0].dispatch([sequence(BROKEN, 2)], None))
    worker = service.workers[0]
    neighbour, broken = submit(worker, sequence(SLOW, steps=10)), submit(worker, sequence(BROKEN, 2))
    assert broken.exception(SECONDS).message == expected.value.message
    assert neighbour.result(SECONDS)
