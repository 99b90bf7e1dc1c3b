"""The phases of a process, and work that ends with its caller."""

import asyncio
import contextlib
import types

import pytest
import uvicorn

from service.api.attendance import StopSignal, run_attended
from service.api.backend import Backend
from service.api.lifecycle import Lifecycle, Phase
from service.errors import NotReadyError, RequestCancelledError, ShuttingDownError
from service.server import DrainingServer
from tests.contract.scripted_backend import scripted_backend


@pytest.fixture
def backend() -> Backend:
    return scripted_backend()


def test_admission_and_readiness_by_phase(backend):
    lifecycle = Lifecycle()
    for check in (lifecycle.check_admission, lifecycle.check_ready):
        with pytest.raises(NotReadyError):
            check()
    lifecycle.load(backend)
    lifecycle.check_admission()
    lifecycle.check_ready()
    lifecycle.begin_draining()
    lifecycle.check_admission()
    with pytest.raises(ShuttingDownError):
        lifecycle.check_ready()
    lifecycle.close_admission()
    for check in (lifecycle.check_admission, lifecycle.check_ready):
        with pytest.raises(ShuttingDownError):
            check()


def test_a_backend_that_loads_after_a_stop_began_does_not_reopen_the_service(backend):
    lifecycle = Lifecycle()
    lifecycle.begin_draining()
    lifecycle.load(backend)
    assert lifecycle.phase is Phase.DRAINING
    lifecycle.close_admission()
    lifecycle.begin_draining()
    assert lifecycle.phase is Phase.CLOSED


def test_waiting_for_idle_ends_with_the_last_request_or_the_time(backend):
    async def scenario():
        lifecycle = Lifecycle()
        lifecycle.load(backend)
        assert await lifecycle.wait_idle(0.01)
        with lifecycle.running(), lifecycle.running():
            assert not await lifecycle.wait_idle(0.01)
        assert await lifecycle.wait_idle(0.01)

    asyncio.run(scenario())


def attend(work, messages=(), *, abort=False):
    """Runs work beside a connection that gives messages, then nothing."""

    async def scenario():
        queue = list(messages)
        aborted = StopSignal()
        if abort:
            aborted.set()

        async def receive():
            if queue:
                return {"type": queue.pop(0)}
            return await asyncio.Event().wait()

        return await run_attended(work(), receive, aborted)

    return asyncio.run(scenario())


async def quick():
    return 7


async def broken():
    raise KeyError("x")


def test_work_gives_its_result_or_its_failure():
    assert attend(quick) == 7
    with pytest.raises(KeyError):
        attend(broken)


@pytest.mark.parametrize("fails", [False, True])
def test_a_request_costs_one_task_beside_its_own_and_leaves_none_behind(fails):
    counts = []

    async def work():
        counts.append(len(asyncio.all_tasks()))
        await asyncio.sleep(0)
        if fails:
            raise KeyError("x")

    async def scenario():
        with contextlib.suppress(KeyError):
            await run_attended(work(), asyncio.Event().wait, StopSignal())
        await asyncio.sleep(0)
        return len(asyncio.all_tasks())

    assert (asyncio.run(scenario()), counts) == (1, [2])


def test_a_stop_in_the_middle_ends_the_work_and_not_the_task_around_it():
    async def scenario():
        signal = StopSignal()
        asyncio.get_running_loop().call_later(0.01, signal.set)
        with pytest.raises(ShuttingDownError):
            await run_attended(asyncio.sleep(20), asyncio.Event().wait, signal)
        await asyncio.sleep(0)
        return asyncio.current_task().cancelling()

    assert asyncio.run(scenario()) == 0


def test_a_connection_that_breaks_counts_as_a_caller_who_left():
    async def breaking():
        raise OSError("broken")

    async def scenario():
        await run_attended(asyncio.sleep(20), breaking, StopSignal())

    with pytest.raises(RequestCancelledError):
        asyncio.run(scenario())


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ({"messages": ["http.disconnect"]}, RequestCancelledError),
        ({"messages": ["http.request", "http.disconnect"]}, RequestCancelledError),
        ({"abort": True}, ShuttingDownError),
    ],
)
def test_work_is_cancelled_before_the_failure_is_raised(arguments, kind):
    ends = []

    async def endless():
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.01)
            ends.append("cancelled")

    with pytest.raises(kind):
        attend(endless, **arguments)
    assert ends == ["cancelled"]


def test_cancelling_from_outside_cancels_the_work():
    ends = []

    async def endless():
        try:
            await asyncio.Event().wait()
        finally:
            ends.append("cancelled")

    async def scenario():
        task = asyncio.create_task(run_attended(endless(), asyncio.Event().wait, StopSignal()))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(scenario())
    assert ends == ["cancelled"]


def test_what_waits_for_the_models_is_done_when_they_are_loaded_and_once(backend):
    async def app(*_):
        raise AssertionError("nobody asks")

    async def tick_thrice():
        await server.on_tick(1)
        assert done == []
        lifecycle.load(backend)
        for counter in (2, 3):
            await server.on_tick(counter)

    lifecycle, done = Lifecycle(), []
    server = DrainingServer(uvicorn.Config(app), types.SimpleNamespace(), lifecycle, types.SimpleNamespace())
    server.on_loaded = lambda: done.append(lifecycle.loaded)
    asyncio.run(tick_thrice())
    assert done == [backend]
