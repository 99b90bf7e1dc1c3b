"""Servers under test as processes: their command lines, their start until they are ready, and their end."""

import contextlib
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile

from bench.models import BenchModel
from bench.processes import ProcessGroup, lead_group
from bench.rivals.ctranslate import Layout

_READY_SECONDS = 120.0
_STOP_SECONDS = 20.0
_POLL_SECONDS = 0.01


class ServerError(Exception):
    """A server did not come up; the message holds what it wrote."""


@dataclass(slots=True)
class Server:
    """A running server. ready_seconds: from the start of its process until it answered that it was ready."""

    port: int
    process: "subprocess.Popen[bytes]"
    ready_seconds: float = field(default=0.0)

    @property
    def group(self) -> ProcessGroup:
        """Its process, and those it has started."""
        return ProcessGroup(self.process.pid)


def verso_command(package: Path, port: int) -> list[str]:
    """Gives the command line of Verso's server, with the other settings at their defaults.

    It remembers no results: texts differ, but only by a number.
    """
    options = ["--models", str(package), "--port", str(port), "--max-kept-tokens", "0"]
    return [sys.executable, "-m", "service", "serve", *options]


def plain_command(model: BenchModel, layout: Layout, beam_size: int, port: int) -> list[str]:
    """Gives the command line of the plain server."""
    options = {
        "model": model.converted,
        "checkpoint": model.checkpoint,
        "compute-type": layout.compute_type,
        "inter-threads": layout.inter_threads,
        "intra-threads": layout.intra_threads,
        "beam-size": beam_size,
        "port": port,
    }
    flags = [text for name, value in options.items() for text in (f"--{name}", str(value))]
    return [sys.executable, "-m", "bench.rivals.plain_server", *flags]


@contextlib.contextmanager
def serving(command: Sequence[str], port: int, folder: Path) -> Iterator[Server]:
    """Runs a server in `folder` until the context ends; raises ServerError if it is not ready in time."""
    with TemporaryFile() as log:
        started = time.monotonic()
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, preexec_fn=lead_group)
        server = Server(port, process)
        try:
            if not _wait_ready(process, port):
                log.seek(0)
                raise ServerError(f"the server did not come up:\n{log.read().decode(errors='replace')[-4000:]}")
            server.ready_seconds = time.monotonic() - started
            yield server
        finally:
            server.group.resume()
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_STOP_SECONDS)
            server.group.kill()
            process.wait()


def free_port() -> int:
    """Finds a TCP port that nobody uses now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def _wait_ready(process: "subprocess.Popen[bytes]", port: int) -> bool:
    end = time.monotonic() + _READY_SECONDS
    while process.poll() is None and time.monotonic() < end:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5):
                return True
        except (urllib.error.URLError, OSError):
            time.sleep(_POLL_SECONDS)
    return False
