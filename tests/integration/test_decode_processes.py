"""Decode processes with the bundled model: the same results and the same failures as threads, and no orphans."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from service.engine.options import EngineOptions
from service.errors import EngineError, PackageInvalidError
from service.package.package import ModelPackage, file_record
from service.scheduler import process
from service.scheduler.options import SchedulerOptions
from service.scheduler.pool import DecodePool
from service.scheduler.sequence import Sequence
from service.scheduler.starting import start_decoders
from service.scheduler.stats import NullSink
from service.search.group import SearchTask
from service.search.options import DecodingOptions, guarded
from service.translation.model import LoadedModel
from tests.contract.serving import wait_until
from tests.doubles import decoded
from tests.integration.running import PACKAGE, ROOT, held_out_sources, package, rules
from tests.integration.served import served, translate

SECONDS = 30
IN_THREADS = EngineOptions(num_threads=1, num_decode_threads=2, in_processes=False)
IN_PROCESSES = replace(IN_THREADS, in_processes=True)
OPTIONS = {
    "greedy": DecodingOptions(max_new_tokens=60),
    "beam": guarded(DecodingOptions(beam_size=4, max_new_tokens=60)),
    "alternatives": DecodingOptions(beam_size=4, num_hypotheses=4, length_penalty=0.6, max_new_tokens=60),
    "sampling": DecodingOptions(sampling=True, seed=11, top_p=0.9, max_new_tokens=60),
    "penalties": DecodingOptions(beam_size=2, repetition_penalty=1.3, no_repeat_ngram_size=2, max_new_tokens=60),
}


class FinishedSink(NullSink):
    """Counts why sequences ended, and steps and sources."""

    def __init__(self) -> None:
        self.reasons: Counter[str] = Counter()
        self.num_steps = self.num_encoded = 0

    def encoded(self, stats) -> None:
        self.num_encoded += stats.num_sources

    def stepped(self, stats) -> None:
        self.num_steps += 1

    def finished(self, reason, *seconds) -> None:
        self.reasons[reason] += 1


def children(parent: int) -> list[int]:
    """Processes that a process has started and that nobody waited for yet."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if int((folder / "stat").read_text().rpartition(")")[2].split()[1]) == parent:
                found.append(int(folder.name))
        except OSError:
            continue
    return found


@pytest.fixture(scope="module")
def pools() -> Iterator[dict[str, tuple[DecodePool, FinishedSink]]]:
    made = {}
    for name, options in (("threads", IN_THREADS), ("processes", IN_PROCESSES)):
        sink = FinishedSink()
        limits = SchedulerOptions(max_kept_tokens=0)
        made[name] = DecodePool(start_decoders(package(), options, limits, rules(), sink).workers), sink
    yield made
    own = {worker.pid for worker in made["processes"][0].workers}
    for pool, _ in made.values():
        pool.close(0)
    # Other tests may have processes of theirs.
    assert len(own) == 2
    assert own.isdisjoint(children(os.getpid()))


def sequences(options: DecodingOptions, with_alignment: bool) -> list[Sequence]:
    eos = package().manifest.special_ids.eos
    sources = [[*package().source_tokenizer.encode(text), eos] for text in held_out_sources(12)]
    return [
        Sequence(np.array(ids, np.int64), SearchTask(options, None, len(ids), with_alignment=with_alignment))
        for ids in sources
        if len(ids) < 60
    ]


def contents(pool: DecodePool, given: list[Sequence]) -> list[list[tuple]]:
    dispatch = pool.dispatch(given, None)
    assert len(dispatch.shares) == 2
    return decoded.contents(dispatch, SECONDS)


@pytest.mark.parametrize("name", OPTIONS)
def test_two_processes_give_what_two_threads_give_in_the_same_order(pools, name):
    with_alignment = name in ("greedy", "alternatives")
    (in_threads, _), (in_processes, _) = pools["threads"], pools["processes"]
    expected = contents(in_threads, sequences(OPTIONS[name], with_alignment))
    assert contents(in_processes, sequences(OPTIONS[name], with_alignment)) == expected
    assert all((one[-1] is not None) is with_alignment for result in expected for one in result)


def test_what_is_counted_is_what_threads_count(pools):
    given = {name: sequences(replace(OPTIONS["beam"], max_new_tokens=20), with_alignment=False) for name in pools}
    before = {name: (sink.reasons.copy(), sink.num_encoded, sink.num_steps) for name, (_, sink) in pools.items()}
    for name, (pool, _) in pools.items():
        contents(pool, given[name])
    counted = {
        name: (sink.reasons - before[name][0], sink.num_encoded - before[name][1]) for name, (_, sink) in pools.items()
    }
    assert counted["processes"] == counted["threads"]
    assert counted["threads"][0].total() == counted["threads"][1] == len(given["threads"])
    # Two workers of at least the two tokens that no translation can do without.
    assert pools["processes"][1].num_steps - before["processes"][2] >= 4


@pytest.fixture
def broken(tmp_path) -> dict[str, Path]:
    """Packages with a fault each; of one of them nothing but ONNX Runtime sees it."""
    folders = {name: tmp_path / name for name in ("damaged", "unreadable")}
    for folder in folders.values():
        shutil.copytree(PACKAGE, folder)
        manifest = json.loads((folder / "manifest.json").read_text())
        decoder = manifest["precisions"][manifest["default_precision"]]["decoder"]
        (folder / decoder).write_bytes(b"\x00not a graph")
    record = file_record(folders["unreadable"] / decoder)
    manifest["files"][decoder] = {
        **manifest["files"][decoder],
        "size_bytes": record.size_bytes,
        "sha256": record.sha256,
    }
    (folders["unreadable"] / "manifest.json").write_text(json.dumps(manifest))
    return folders


@pytest.mark.parametrize(
    ("fault", "precision", "kind"),
    [("damaged", None, PackageInvalidError), ("unreadable", None, EngineError), (None, "int3", EngineError)],
)
def test_a_package_that_cannot_be_opened_fails_as_with_threads(broken, pools, fault, precision, kind):
    before = set(children(os.getpid()))
    folder = broken[fault] if fault else PACKAGE
    errors = []
    for options in (IN_THREADS, IN_PROCESSES):
        with pytest.raises(kind) as raised:
            LoadedModel(folder, replace(options, precision=precision), SchedulerOptions(), NullSink())
        errors.append((type(raised.value), raised.value.message, raised.value.problems))
    assert errors[0] == errors[1]
    assert set(children(os.getpid())) == before


def test_a_file_that_is_damaged_before_a_process_opens_it_is_told_as_such(tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(PACKAGE, folder)
    opened = ModelPackage.open(folder)
    (folder / opened.manifest.precisions[opened.manifest.default_precision].decoder).write_bytes(b"")
    before = set(children(os.getpid()))
    with pytest.raises(PackageInvalidError) as raised:
        start_decoders(opened, IN_PROCESSES, SchedulerOptions(), rules(), NullSink())
    assert "has 0 bytes" in raised.value.problems[0]
    assert set(children(os.getpid())) == before


def test_one_process_that_cannot_be_started_ends_the_others(monkeypatch):
    before, given = set(children(os.getpid())), [process._child]

    def start(descriptor):
        if not given:
            raise OSError(errno.EAGAIN, "no more processes")
        return given.pop()(descriptor)

    monkeypatch.setattr(process, "_child", start)
    with pytest.raises(EngineError, match="no more processes"):
        start_decoders(package(), IN_PROCESSES, SchedulerOptions(), rules(), NullSink())
    assert not given
    assert set(children(os.getpid())) == before


def test_a_process_that_cannot_be_started_again_is_tried_until_it_can(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(process, "_FIRST_PAUSE_SECONDS", 0.05)
    folder = shutil.copytree(PACKAGE, tmp_path / "copy")
    before = set(children(os.getpid()))
    options = replace(IN_PROCESSES, num_decode_threads=1)
    (worker,) = start_decoders(ModelPackage.open(folder), options, SchedulerOptions(), rules(), NullSink()).workers
    (folder / "manifest.json").rename(folder / "away")
    os.kill(worker.pid, signal.SIGKILL)
    wait_until(lambda: sum("cannot be started" in record.getMessage() for record in caplog.records) == 2)
    assert not worker.is_up
    (folder / "away").rename(folder / "manifest.json")
    wait_until(lambda: worker.healthy)
    assert set(children(os.getpid())) == {*before, worker.pid}
    worker.stop(0.0)
    worker.join()
    assert set(children(os.getpid())) == before


SERVICE = """
import sys, time
from service.scheduler.options import SchedulerOptions
from service.scheduler.starting import start_decoders
from service.scheduler.stats import NullSink
from tests.integration.running import package, rules
from tests.integration.test_decode_processes import IN_PROCESSES
workers = start_decoders(package(), IN_PROCESSES, SchedulerOptions(), rules(), NullSink()).workers
print(*(worker.pid for worker in workers), flush=True)
time.sleep(60)
"""


def test_processes_end_when_their_service_is_killed():
    command = [sys.executable, "-c", SERVICE]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as service:
        pids = [int(pid) for pid in service.stdout.readline().split()]
        assert sorted(children(service.pid)) == sorted(pids)
        assert len(pids) == 2
        service.kill()
    wait_until(lambda: not any(is_running(pid) for pid in pids), seconds=5)


def is_running(pid: int) -> bool:
    """Whether a process does anything; a dead one may wait for whoever adopted it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def status(url: str) -> int:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310 (our own loopback service)
            return answer.status
    except urllib.error.HTTPError as failure:
        with failure:
            return failure.code


def metric(url: str, name: str) -> float:
    with urllib.request.urlopen(f"{url}/metrics", timeout=10) as answer:  # noqa: S310 (as above)
        lines = answer.read().decode().splitlines()
    return next(float(line.split()[1]) for line in lines if line.split()[0] == name)


def test_a_service_whose_process_is_killed_says_so_and_recovers_by_itself(monkeypatch):
    monkeypatch.setenv("VERSO_DECODE_THREADS", "1")
    monkeypatch.setenv("VERSO_DECODE_PROCESSES", "on")
    with served(PACKAGE) as url, ThreadPoolExecutor(1) as client:
        (service,) = (pid for pid in children(os.getpid()) if url.rpartition(":")[2] in command_line(pid))
        (pid,) = children(service)
        # Stopped first, so that the request is there when it dies.
        os.kill(pid, signal.SIGSTOP)
        lost = client.submit(translate, url, q="The cat is black.")
        wait_until(lambda: metric(url, "verso_waiting_sequences") == 1)
        os.kill(pid, signal.SIGKILL)
        assert lost.result(SECONDS)["error"]["code"] == "decoding_lost"
        assert status(f"{url}/readyz") == 503
        assert status(f"{url}/healthz") == 200
        wait_until(lambda: status(f"{url}/readyz") == 200)
        assert translate(url, q="The cat is black.")["translatedText"] == "Die Katze ist schwarz."
        assert metric(url, "verso_decode_restarts_total") == 1
        assert metric(url, "verso_waiting_sequences") == 0
        (again,) = children(service)
        assert again != pid
    assert not is_running(again)


def command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""
