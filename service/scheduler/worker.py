"""What a pool of decode loops needs to know of each: a thread of this process runs it, or a process of its own."""

from typing import Protocol

from service.scheduler.inbox import Gate


class DecodeWorker(Protocol):
    """Decodes what its gate lets in."""

    @property
    def gate(self) -> Gate:
        """Where work is handed in."""
        ...

    @property
    def is_up(self) -> bool:
        """Whether it takes work."""
        ...

    @property
    def healthy(self) -> bool:
        """Whether it works, and its last step did not fail."""
        ...

    @property
    def num_running(self) -> int:
        """Sequences being decoded."""
        ...

    @property
    def num_rows(self) -> int:
        """Rows being decoded."""
        ...

    def stop(self, give_up_at: float) -> None:
        """Takes no more work, finishes what there is by a time of time.monotonic, and fails the rest."""
        ...

    def join(self) -> None:
        """Waits for the end, once it was told to stop."""
        ...
