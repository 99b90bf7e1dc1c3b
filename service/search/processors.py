"""Changes to a row's next-token distribution: bans, penalties and forced tokens.

The decoder graph gives only the best tokens of each row. A processor names the few tokens it will touch before the
step (`touched`), the step returns their log-probabilities as probes, and `apply` merges them with the untouched best
ones. The result is exactly what processing the whole vocabulary would give, in the order of Hugging Face
`generate`: repetition penalty, n-gram ban, minimum length, forced tokens, renormalisation.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from service.search.options import DecodingOptions
from service.search.rules import IMPOSSIBLE, DecodingRules, FloatArray, IntArray, StepScores


class ScoreProcessor:
    """All processing that one sequence's options ask for.

    `domain` says what the repetition penalty multiplies: Hugging Face applies it to logits in greedy search and
    sampling, to log-probabilities in beam search. `limit` is the sequence's largest number of tokens.
    """

    def __init__(
        self,
        options: DecodingOptions,
        limit: int,
        rules: DecodingRules,
        forced_first_id: int | None,
        domain: Literal["logits", "log_probs"],
    ) -> None:
        self._options = options
        self._limit = limit
        self._rules = rules
        self._forced_first_id = forced_first_id
        self._domain = domain

    @staticmethod
    def needed(options: DecodingOptions, forced_first_id: int | None) -> bool:
        """Says whether any step but a forced last one can differ from the plain distribution."""
        return (
            options.repetition_penalty != 1.0
            or options.no_repeat_ngram_size > 0
            or options.min_new_tokens > 0
            or forced_first_id is not None
        )

    def forced(self, num_generated: int) -> int | None:
        """Returns the token that position `num_generated` (from 0) must take, if any; the end token wins."""
        if num_generated == self._limit - 1 and self._rules.forced_eos_id is not None:
            return self._rules.forced_eos_id
        return self._forced_first_id if num_generated == 0 else None

    def touched(self, prefix: Sequence[int]) -> list[int]:
        """Returns the ids, each once, whose score may change after `prefix` (start token included)."""
        banned = self._banned(prefix)
        if self._options.repetition_penalty == 1.0:
            return list(dict.fromkeys(banned)) if banned else banned
        return list(dict.fromkeys([*prefix, *banned]))

    def changes(self, prefix: Sequence[int], touched: Sequence[int]) -> bool:
        """Says whether `apply` gives anything but a row's own best tokens, apart from `log_unbanned`."""
        return bool(touched) or self.forced(len(prefix) - 1) is not None

    def apply(
        self, prefix: Sequence[int], touched: Sequence[int], step: StepScores, row: int, count: int
    ) -> tuple[FloatArray, IntArray]:
        """Returns the processed log-probabilities (n,) float32 and ids (n,) int64 of a row, descending.

        `touched` is what the method of that name gave, and the ids of the row's first probes. count: how many of the
        row's best tokens to look at; the first count - len(touched) entries are exact.
        """
        known, ids = step.log_probs[row, :count], step.ids[row, :count]
        forced = self.forced(len(prefix) - 1)
        if forced is not None:
            return _only(forced, len(ids))
        if not touched:
            return (known if self._rules.renormalize else known + step.log_unbanned[row, 0]), ids
        before = step.probes[row, : len(touched)].astype(np.float64)
        after = self._penalised(prefix, before, step, row)
        banned = set(self._banned(prefix))
        if banned:
            after[[index for index, token in enumerate(touched) if token in banned]] = -np.inf
        changed = set(touched)
        is_untouched = np.array([token not in changed for token in ids.tolist()])
        untouched = known[is_untouched].astype(np.float64)
        log_probs = np.concatenate([untouched, after])
        ids = np.concatenate([ids[is_untouched], np.array(touched, np.int64)])
        if self._rules.renormalize:
            log_probs -= _log_total(untouched, before, after)
        else:
            log_probs += float(step.log_unbanned[row, 0])
        # Descending; equal values keep the lower id first, as a scan over the vocabulary would.
        order = np.lexsort((ids, -log_probs))
        return log_probs.take(order).astype(np.float32), ids.take(order)

    def _penalised(
        self, prefix: Sequence[int], before: npt.NDArray[np.float64], step: StepScores, row: int
    ) -> npt.NDArray[np.float64]:
        """Applies the repetition penalty of CTRL (Keskar et al. 2019): positive scores divided, negative multiplied.

        In beam search Hugging Face bans ids only after it has penalised log-probabilities, which therefore lack what
        the banned ids take.
        """
        penalty = self._options.repetition_penalty
        after = before.copy()
        if penalty == 1.0:
            return after
        shift = float((step.log_normalizers if self._domain == "logits" else step.log_unbanned)[row, 0])
        # Of the touched ids those of the prefix come first.
        num_seen = len(set(prefix))
        scores = before[:num_seen] + shift
        after[:num_seen] = np.where(scores > 0, scores / penalty, scores * penalty) - shift
        return after

    def _banned(self, prefix: Sequence[int]) -> list[int]:
        banned = repeated_ngram_ends(prefix, self._options.no_repeat_ngram_size)
        if len(prefix) - 1 < self._options.min_new_tokens:
            banned.append(self._rules.eos_id)
        return banned


def repeated_ngram_ends(prefix: Sequence[int], size: int) -> list[int]:
    """Returns the tokens that would complete an n-gram of `size` which `prefix` already holds (Paulus et al. 2017)."""
    if size < 2:
        return list(prefix) if size else []
    # All but the last token of the n-gram that must not be; where it stands already, what follows it is banned.
    head = list(prefix[len(prefix) - size + 1 :])
    ends: list[int] = []
    place = size - 3
    try:
        while True:
            # Searching its last token first is much faster than comparing everywhere.
            place = prefix.index(head[-1], place + 1, len(prefix) - 1)
            if list(prefix[place - size + 2 : place + 1]) == head:
                ends.append(prefix[place + 1])
    except ValueError:
        return ends


def _only(token: int, count: int) -> tuple[FloatArray, IntArray]:
    log_probs = np.full(count, IMPOSSIBLE, np.float32)
    log_probs[0] = 0.0
    return log_probs, np.full(count, token, np.int64)


def _log_total(
    untouched: npt.NDArray[np.float64], before: npt.NDArray[np.float64], after: npt.NDArray[np.float64]
) -> float:
    """Log of the probability mass there is once the touched tokens have gone from `before` to `after`.

    The mass of all untouched tokens is one minus that of `before`; where that is lost to rounding (nearly everything
    was banned), the untouched tokens that are known bound it from below.
    """
    rest = max(1.0 - float(np.exp(before).sum()), float(np.exp(untouched).sum()))
    return float(np.log(rest + float(np.exp(after).sum())))
