"""How much a model works on at once, and how much may wait."""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class SchedulerOptions:
    """Budgets of one model's running batches and queue. There is one batch for each decode thread.

    max_rows: decoder rows of a batch; a sequence takes as many as its beam is wide.
    max_tokens: running sources times the length of the longest, which bounds cross-attention's memory.
    max_encode_tokens: source tokens encoded between two steps while others are decoding; bounds how long
        running rows wait for those that join.
    max_kept_tokens: source and target tokens of results kept for identical sequences; 0 also ends sharing among those
        that are open at once.
    max_waiting_sequences, max_waiting_tokens: the queue's bounds; above them new work is refused.
    """

    max_rows: int = 64
    max_tokens: int = 16_384
    max_encode_tokens: int = 256
    max_kept_tokens: int = 200_000
    max_waiting_sequences: int = 10_000
    max_waiting_tokens: int = 1_000_000

    def divided(self, count: int) -> "SchedulerOptions":
        """Returns the bounds of one of `count` decode threads: what waits and what is kept is shared out among them."""
        return replace(
            self,
            max_kept_tokens=self.max_kept_tokens // count,
            max_waiting_sequences=max(1, self.max_waiting_sequences // count),
            max_waiting_tokens=max(1, self.max_waiting_tokens // count),
        )
