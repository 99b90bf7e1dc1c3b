"""Several decode threads of one model: who gets what, and that it comes back in order."""

import asyncio
import threading
import time

import numpy as np
import pytest

from service.engine.threads import decode_threads, threads_of_run
from service.errors import EngineError, QueueFullError, RequestCancelledError, ShuttingDownError
from service.scheduler.loop import DecodeLoop
from service.scheduler.options import SchedulerOptions
from service.scheduler.pool import DecodePool
from service.scheduler.sequence import Sequence
from service.scheduler.stats import NullSink
from service.scheduler.thread import DecodeThread
from service.search.group import SearchTask
from service.search.options import DecodingOptions
from service.search.rules import DecodingRules
from tests.doubles.scripted_engine import EOS_ID, START_ID, ScriptedEngine

RULES = DecodingRules(START_ID, EOS_ID, forced_eos_id=EOS_ID, renormalize=True)
OPTIONS = DecodingOptions(beam_size=2, max_new_tokens=10)
SECONDS = 20


def sequences(count, length=3):
    return [
        Sequence(
            np.array([1 + index % 18, 1 + index // 18, *[2] * (length - 2)], np.int64),
            SearchTask(OPTIONS, None, length, with_alignment=False),
        )
        for index in range(count)
    ]


@pytest.fixture
def make_pool():
    pools = []

    def make(engines, limits=None):
        limits = limits or SchedulerOptions(max_kept_tokens=0)
        pool = DecodePool([DecodeThread(DecodeLoop(one, RULES, limits, NullSink()), "scripted") for one in engines])
        pools.append(pool)
        return pool

    yield make
    for pool in pools:
        pool.close(0)


def tokens_of(dispatch):
    results = dispatch.gather([future.result(SECONDS) for future in dispatch.futures])
    return [result.hypotheses[0].token_ids for result in results]


def test_results_keep_their_order_however_many_threads_decode(make_pool):
    one, three = make_pool([ScriptedEngine()]), make_pool([ScriptedEngine() for _ in range(3)])
    assert tokens_of(three.dispatch(sequences(40), None)) == tokens_of(one.dispatch(sequences(40), None))


def test_work_is_shared_out_by_tokens(make_pool):
    pool = make_pool([ScriptedEngine(), ScriptedEngine()])
    mixed = [*sequences(4, length=40), *sequences(12, length=3)]
    shares = pool.dispatch(mixed, None).shares
    tokens = [sum(mixed[index].num_tokens for index in share.indices) for share in shares]
    assert max(tokens) - min(tokens) <= max(one.num_tokens for one in mixed)
    assert sorted(index for share in shares for index in share.indices) == list(range(16))


def test_no_tokens_stay_open_after_the_end(make_pool):
    pool = make_pool([ScriptedEngine(), ScriptedEngine()])
    tokens_of(pool.dispatch(sequences(12), None))
    assert [worker.gate.open_tokens for worker in pool.workers] == [0, 0]
    assert [worker.gate.waiting_tokens for worker in pool.workers] == [0, 0]


def test_what_one_thread_refuses_no_other_decodes(make_pool):
    limits = SchedulerOptions(max_rows=2, max_waiting_sequences=3, max_kept_tokens=0)
    pool = make_pool([ScriptedEngine(), ScriptedEngine()], limits)
    pool.workers[1].gate.waiting_sequences = 3
    with pytest.raises(QueueFullError):
        pool.dispatch(sequences(2), None)
    pool.workers[1].gate.waiting_sequences = 0
    tokens_of(pool.dispatch(sequences(2), None))
    assert pool.workers[0].gate.open_tokens == 0


def test_a_failed_share_fails_the_dispatch(make_pool):
    engines = [ScriptedEngine(), ScriptedEngine()]
    pool = make_pool(engines)
    engines[1].fail_next = True
    dispatch = pool.dispatch(sequences(8), None)

    async def wait():
        return await asyncio.gather(*map(asyncio.wrap_future, dispatch.futures))

    with pytest.raises(EngineError):
        asyncio.run(wait())
    assert pool.dispatch(sequences(0), None).futures == []


def test_cancelling_ends_every_share(make_pool):
    pool = make_pool([ScriptedEngine(max_rows=4) for _ in range(2)], SchedulerOptions(max_rows=2, max_kept_tokens=0))
    dispatch = pool.dispatch(sequences(200), None)
    dispatch.cancel()
    for future in dispatch.futures:
        assert isinstance(future.exception(SECONDS), RequestCancelledError)


@pytest.mark.parametrize(
    ("width", "cpus", "run", "decode"),
    [
        (256, 2, 1, 2),
        (512, 2, 2, 1),
        (1024, 2, 2, 1),
        (256, 16, 1, 16),
        (512, 16, 2, 8),
        (1024, 16, 4, 4),
        (64, 1, 1, 1),
    ],
)
def test_threads_are_divided_by_the_models_width(width, cpus, run, decode):
    assert threads_of_run(None, width, cpus) == run
    assert decode_threads(None, run, cpus) == decode


def test_threads_that_are_asked_for_are_taken():
    assert threads_of_run(3, 256, 8) == 3
    assert decode_threads(5, 3, 8) == 5


class HeldEngine(ScriptedEngine):
    """Holds its first step until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.stepping, self.let_go = threading.Event(), threading.Event()

    def step(self, inputs):
        self.stepping.set()
        assert self.let_go.wait(SECONDS)
        return super().step(inputs)


@pytest.mark.parametrize(("drain_seconds", "finished"), [(SECONDS, True), (0, False)])
def test_work_taken_during_the_last_step_before_a_close_is_finished_or_told(make_pool, drain_seconds, finished):
    engine = HeldEngine()
    pool = make_pool([engine])
    # One token, so that the loop is idle after the step that is held.
    shortest = SearchTask(DecodingOptions(max_new_tokens=1), None, 2, with_alignment=False)
    first = pool.dispatch([Sequence(np.array([1, 2]), shortest)], None)
    assert engine.stepping.wait(SECONDS)
    # Both come while the step runs: the thread has not read the second when it is told to close.
    second = pool.dispatch(sequences(3)[2:], None)
    closing = threading.Thread(target=pool.close, args=(drain_seconds,))
    closing.start()
    while not pool.workers[0].gate.closed:
        time.sleep(0.001)
    engine.let_go.set()
    closing.join(SECONDS)
    assert not closing.is_alive()
    assert first.futures[0].exception(timeout=0) is None
    (future,) = second.futures
    assert future.done()
    assert (future.exception() is None) is finished
    assert finished or isinstance(future.exception(), ShuttingDownError)
