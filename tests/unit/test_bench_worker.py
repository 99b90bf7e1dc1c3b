"""A system in a process of its own."""

import subprocess
import time
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

from bench.rivals.rival import Task
from bench.rivals.verso import VersoRival
from bench.worker import Worker, WorkerError, workers

PACKAGE = Path(__file__).parents[2] / "models" / "en-de"


def stops(pid: int) -> bool:
    """Whether a process comes to a stop; a signal takes a moment to arrive."""
    for _ in range(1_000):
        if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T":
            return True
        time.sleep(0.005)
    return False


def ends(worker: Worker) -> bool:
    """Whether nothing is left of a worker; what it left behind is waited for by somebody else."""
    for _ in range(1_000):
        if not worker.group.members():
            return True
        time.sleep(0.005)
    return False


@pytest.fixture
def counter():
    worker = Worker(Counter, a=2, b=1)
    yield worker
    worker.close()


def test_methods_are_called_in_the_worker_and_their_results_come_back(counter):
    assert counter.call("most_common", 1) == [("a", 2)]
    counter.call("update", {"b": 5})
    assert counter.call("most_common") == [("b", 6), ("a", 2)]


def test_a_worker_is_stopped_between_calls(counter):
    assert stops(counter.pid)
    counter.call("total")
    assert stops(counter.pid)


def test_a_failure_in_the_worker_is_told_and_does_not_end_it(counter):
    with pytest.raises(WorkerError, match="no_such_method"):
        counter.call("no_such_method")
    assert counter.call("total") == 3


def test_a_system_that_cannot_be_made_is_told():
    with pytest.raises(WorkerError, match="ZeroDivisionError"):
        Worker(Fraction, numerator=1, denominator=0)


def test_all_workers_end_with_their_context():
    with workers({"one": lambda: Worker(Counter, a=1), "two": lambda: Worker(Counter, b=2)}) as started:
        pids = [worker.pid for worker in started.values()]
        assert [worker.call("total") for worker in started.values()] == [1, 2]
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_a_process_that_the_system_starts_is_stopped_and_ended_with_it():
    worker = Worker(subprocess.Popen, args=["sleep", "60"])
    members = worker.group.members()
    assert len(members) == 2
    assert all(map(stops, members))
    worker.close()
    assert ends(worker)


def test_verso_decodes_in_processes_as_the_service_does_and_they_end_with_the_worker():
    worker = Worker(VersoRival, package=PACKAGE, precision="int8")
    try:
        members = worker.group.members()
        loops, _, threads = worker.call("layout").partition("×")
        assert len(members) == 1 + int(loops)
        assert int(threads) >= 1
        assert all(map(stops, members))
        outcome = worker.call("translate", Task([[5, 6, 0], [7, 0]], beam_size=1, max_new_tokens=4))
        assert len(outcome.targets) == 2
    finally:
        worker.close()
    assert worker.group.members() == []
