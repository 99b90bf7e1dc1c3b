"""The decision of one step: which waiting sequences join, and which are encoded. Pure arithmetic over budgets."""

from collections.abc import Iterator
from dataclasses import dataclass

from service.scheduler.options import SchedulerOptions
from service.scheduler.queue import WaitingQueue
from service.scheduler.sequence import Sequence


@dataclass(frozen=True, slots=True)
class Load:
    """What the running batch holds: rows reserved, sources, and the length of the longest source."""

    num_rows: int
    num_sources: int
    longest: int


@dataclass(frozen=True, slots=True)
class StepPlan:
    """What happens before the next step.

    admit: sequences to take in, in this order. ahead: others, still waiting, to encode with those of them that have no
    memory yet, because the encoder is cheaper for many together. The loop reads both.
    """

    admit: tuple[Sequence, ...]
    ahead: tuple[Sequence, ...]


def plan(waiting: WaitingQueue, load: Load, limits: SchedulerOptions) -> StepPlan:
    """Takes sequences from the queue while they fit the budgets.

    The first one that does not fit ends it. An empty batch takes at least one, whatever the budgets say, and the
    encode budget always has room for one.
    """
    admit: list[Sequence] = []
    num_rows, num_sources, longest = load.num_rows, load.num_sources, load.longest
    encoding = encoded = 0
    while (sequence := waiting.peek()) is not None:
        num_rows += sequence.num_rows
        num_sources += 1
        longest = max(longest, sequence.num_tokens)
        if sequence.memory is None:
            encoding += sequence.num_tokens
        fits = (
            num_rows <= limits.max_rows
            and num_sources * longest <= limits.max_tokens
            and (encoding <= limits.max_encode_tokens or not encoded)
        )
        if not fits and num_sources > 1:
            break
        encoded = encoding
        admit.append(waiting.pop())
    return StepPlan(tuple(admit), tuple(_ahead(waiting, limits.max_encode_tokens - encoded)) if encoded else ())


def _ahead(waiting: WaitingQueue, room: int) -> Iterator[Sequence]:
    """Yields the next sequences without a memory, as many as `room` holds along with those that wait with one."""
    room -= waiting.encoded_tokens
    for sequence in waiting.upcoming():
        if sequence.memory is None:
            room -= sequence.num_tokens
            if room < 0:
                break
            yield sequence
