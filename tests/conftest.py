"""What holds for every test: no network beyond this machine, no settings from the caller's environment."""

import os
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Examples are drawn anew on a developer's machine and fixed under CI; no example is judged by its duration.
settings.register_profile("local", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("local"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")

LOOPBACK = ("127.", "::1", "localhost")


@pytest.fixture(scope="session", autouse=True)
def _loopback_only() -> Iterator[None]:
    """Refuses connections that leave this machine."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and not str(address[0]).startswith(LOOPBACK):
            raise PermissionError(f"tests use no network: {address[0]}")
        connect(self, address)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded)
        yield


@pytest.fixture(scope="session", autouse=True)
def _neutral_environment() -> Iterator[None]:
    """Removes the caller's own settings and keeps libraries from asking a model hub."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("VERSO_")]:
            patch.delenv(name)
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setenv("TOKENIZERS_PARALLELISM", "false")
        yield
