"""A service started as a user starts it, and requests to it over HTTP."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

READY_SECONDS = 60.0


@contextmanager
def served(models: Path) -> Iterator[str]:
    """Serves a package, or a folder of packages, in a process of its own; gives its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {**os.environ, "VERSO_MODELS": str(models)}
    command = [sys.executable, "-m", "service", "serve", "--port", str(port)]
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as process:
        url = f"http://127.0.0.1:{port}"
        try:
            wait_until_ready(url, process)
            yield url
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) in (0, -signal.SIGTERM)
        finally:
            # Leaving the block waits for it, also after a failure.
            process.kill()


def wait_until_ready(url: str, process: subprocess.Popen) -> None:
    end = time.monotonic() + READY_SECONDS
    while time.monotonic() < end:
        assert process.poll() is None, "the service ended before it was ready"
        try:
            with urllib.request.urlopen(f"{url}/readyz", timeout=5):  # noqa: S310 (our own loopback service)
                return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.05)
    raise AssertionError("the service did not become ready")


def translate(url: str, **body) -> dict:
    """The answer, of a success or a failure."""
    request = urllib.request.Request(  # noqa: S310 (our own loopback service)
        f"{url}/translate",
        json.dumps({"source": "en", "target": "de", **body}).encode(),
        {"Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 (as above)
            return json.load(answer)
    except urllib.error.HTTPError as failure:
        with failure:
            return json.load(failure)
