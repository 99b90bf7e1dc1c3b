"""Groups of processes, made of small programs."""

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bench.processes import (
    ProcessGroup,
    group_of,
    lead_group,
    memory_measure,
    processor_seconds,
    proportional_bytes,
    resident_bytes,
)
from bench.servers import ServerError, free_port, serving

MEBI = 2**20
# The fields of proc(5) from the fourth on, each with its own number.
STAT = "42 (a (b) c) S " + " ".join(str(number) for number in range(4, 52))
# A child that lives as long as the program that holds its input, as a decode process does.
WITH_A_CHILD = "import subprocess, time; subprocess.Popen(['cat'], stdin=subprocess.PIPE); time.sleep(60)"
WITH_A_BUSY_CHILD = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'while True: pass'])"
WITH_A_SHARED_BLOCK = "import os, time; block = bytes(1) + b'x' * (64 << 20); os.fork(), os.fork(), time.sleep(60)"
ANSWERING = """
import http.server, subprocess, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
subprocess.Popen(['sleep', '60'])
http.server.HTTPServer(('127.0.0.1', int(sys.argv[1])), Handler).serve_forever()
"""


@contextlib.contextmanager
def running(code: str, size: int) -> Iterator[tuple["subprocess.Popen[bytes]", ProcessGroup]]:
    """Runs a program as the leader of a group, once the group has `size` members."""
    process = subprocess.Popen([sys.executable, "-c", code], preexec_fn=lead_group)
    group = ProcessGroup(process.pid)
    try:
        assert comes(lambda: len(group.members()) == size)
        yield process, group
    finally:
        group.kill()
        process.wait()


def comes(condition: Callable[[], bool]) -> bool:
    """Whether something comes true in time."""
    end = time.monotonic() + 10
    while not condition() and time.monotonic() < end:
        time.sleep(0.005)
    return condition()


def states(group: ProcessGroup) -> set[str]:
    """The states of its processes: T is stopped."""
    return {Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] for pid in group.members()}


def test_a_group_is_stopped_continued_and_ended_as_one():
    with running(WITH_A_CHILD, size=2) as (process, group):
        assert process.pid in group.members()
        group.pause()
        assert comes(lambda: states(group) == {"T"})
        group.resume()
        assert comes(lambda: "T" not in states(group))
        group.kill()
        process.wait()
        assert comes(lambda: group.members() == [])


def test_a_group_that_is_gone_may_be_signalled_and_costs_nothing():
    with running("import time; time.sleep(60)", size=1) as (process, group):
        process.kill()
        process.wait()
        group.pause()
        assert (group.members(), group.memory_bytes(), group.processor_seconds()) == ([], 0, 0)


def test_children_that_are_stopped_do_not_outlive_their_leader():
    with running(WITH_A_CHILD, size=2) as (process, group):
        group.pause()
        assert comes(lambda: states(group) == {"T"})
        process.kill()
        process.wait()
        assert comes(lambda: group.members() == [])


def test_the_processor_time_of_children_counts():
    with running(WITH_A_BUSY_CHILD, size=2) as (process, group):
        assert comes(lambda: group.processor_seconds() > 0.5)
        assert processor_seconds(Path(f"/proc/{process.pid}/stat").read_text()) < 0.25


@pytest.mark.skipif(memory_measure() != "proportional set sizes", reason="Linux does not say what is shared")
def test_memory_that_processes_share_counts_once():
    # Each of two forks doubles the number of processes.
    with running(WITH_A_SHARED_BLOCK, size=4) as (_, group):
        assert 64 * MEBI < group.memory_bytes() < 2 * 64 * MEBI


def test_a_server_ends_with_all_that_it_has_started(tmp_path):
    port = free_port()
    with serving([sys.executable, "-c", ANSWERING, str(port)], port, tmp_path) as server:
        assert len(server.group.members()) == 2
        assert server.ready_seconds > 0
        server.group.pause()
    assert comes(lambda: server.group.members() == [])


def test_a_server_that_does_not_come_up_says_why(tmp_path):
    command = [sys.executable, "-c", "raise SystemExit('no such model')"]
    with pytest.raises(ServerError, match="no such model"), serving(command, free_port(), tmp_path):
        pass


def test_files_of_proc_are_read_behind_a_name_with_spaces():
    assert group_of(STAT) == 5
    # User and system time, and those of children that have been waited for, in ticks.
    assert processor_seconds(STAT) == pytest.approx((14 + 15 + 16 + 17) / 100)


def test_memory_is_read_in_pages_or_kibibytes():
    assert resident_bytes("1000 25 10 1 0 500 0") % 25 == 0
    rollup = "5500-7ff ---p 00 00:00 0 [rollup]\nRss:   2048 kB\nPss:   1024 kB\nPss_Dirty:   12 kB\n"
    assert proportional_bytes(rollup) == MEBI
