"""The decision of one step: which waiting sequences join. Pure arithmetic over budgets."""

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

    admit: sequences to encode and take in, in this order; the loop reads it.
    """

    admit: tuple[Sequence, ...]


def plan(waiting: WaitingQueue, load: Load, limits: SchedulerOptions) -> StepPlan:
    """Takes sequences from the queue while they fit the budgets.

    The first one that does not fit ends it. An empty batch takes at least one, whatever the budgets say, and the
    encode budget always has room for one.
    """
    admit: list[Sequence] = []
    num_rows, num_sources, longest, encoding = load.num_rows, load.num_sources, load.longest, 0
    while (sequence := waiting.peek()) is not None:
        num_rows += sequence.num_rows
        num_sources += 1
        longest = max(longest, sequence.num_tokens)
        encoding += sequence.num_tokens
        fits = (
            num_rows <= limits.max_rows
            and num_sources * longest <= limits.max_tokens
            and (encoding <= limits.max_encode_tokens or not admit)
        )
        if not fits and num_sources > 1:
            break
        admit.append(waiting.pop())
    return StepPlan(tuple(admit))
