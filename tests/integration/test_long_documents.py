"""Documents far larger than the queue: they wait, others are served meanwhile, and memory stays bounded."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.integration.running import PACKAGE, held_out_sources
from tests.integration.served import served, translate

QUEUE = 64


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VERSO_MAX_WAITING_SEQUENCES", str(QUEUE))
        patch.setenv("VERSO_MAX_TEXT_CHARACTERS", "3000000")
        patch.setenv("VERSO_MAX_BODY_BYTES", "4000000")
        patch.setenv("VERSO_MAX_TIMEOUT_SECONDS", "600")
        with served(PACKAGE) as url:
            yield url


def peak_bytes(url: str) -> int:
    """The most memory the process behind an address has had."""
    port = int(url.rpartition(":")[2])
    inodes = {
        line.split()[9]
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
        if int(line.split()[1].rpartition(":")[2], 16) == port
    }
    for folder in Path("/proc").glob("[0-9]*/fd"):
        try:
            links = {link.readlink().name for link in folder.iterdir()}
        except OSError:
            continue
        if links & {f"socket:[{inode}]" for inode in inodes}:
            status = (folder.parent / "status").read_text()
            return int(status.partition("VmHWM:")[2].split()[0]) * 1024
    raise AssertionError("nobody listens there")


def test_a_document_larger_than_the_queue_is_translated_while_others_are_served(service):
    sentences = held_out_sources(400)
    document = "\n".join(sentences)
    body = {"decoding": {"beam_size": 1}, "timeout_seconds": 100}
    with ThreadPoolExecutor(2) as clients:
        whole = clients.submit(translate, service, q=document, **body)
        waits = []
        while not whole.done():
            started = time.monotonic()
            assert translate(service, q="The cat is black.", **body)["translatedText"] == "Die Katze ist schwarz."
            waits.append(time.monotonic() - started)
        answer = whole.result()["translatedText"]
    assert len(waits) >= 2
    assert sorted(waits)[len(waits) // 2] < 2
    few = sentences[::40]
    assert [answer.split("\n")[index] for index in range(0, 400, 40)] == [
        translate(service, q=text, **body)["translatedText"] for text in few
    ]


@pytest.mark.slow
def test_a_hundred_thousand_words_take_bounded_memory(service):
    sentences = held_out_sources(1_000)
    # What is short is asked about often: results of identical segments are kept.
    line = " ".join(sentence for sentence in sentences if len(sentence) < 40)
    document = "\n\n".join([line] * (100_000 // len(line.split()) + 1))
    translate(service, q=line, decoding={"beam_size": 1}, timeout_seconds=100)
    before = peak_bytes(service)
    answer = translate(service, q=document, decoding={"beam_size": 1}, timeout_seconds=100)["translatedText"]
    assert len(answer.split()) > 60_000
    assert answer.count("\n\n") == document.count("\n\n")
    assert peak_bytes(service) - before < 150 * 2**20
