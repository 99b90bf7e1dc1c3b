"""Changes to a row's next-token distribution: bans, penalties and forced tokens.

The decoder graph gives only the best tokens of each row. A processor names the few tokens it will touch before the
step (`touched`), the step returns their log-probabilities as probes, and `apply` merges them with the untouched best
ones. The result is exactly what processing the whole vocabulary would give, in the order of Hugging Face
`generate`: repetition penalty, n-gram ban, minimum length, forced tokens, renormalisation.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from service.search.options import DecodingOptions
from service.search.rules import IMPOSSIBLE, DecodingRules, FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class RowScores:
    """One row of a step: its best tokens, and the log-probabilities of the tokens it asked about.

    log_probs, ids: (k,) float32 / int64, descending. probes: (P,) float32 beside the ids of `touched`.
    log_normalizer: what a logit is above its log-probability. log_unbanned: see StepScores.log_unbanned.
    """

    log_probs: FloatArray
    ids: IntArray
    probes: FloatArray
    log_normalizer: float
    log_unbanned: float


class ScoreProcessor:
    """All processing that one sequence's options ask for.

    `domain` says what the repetition penalty multiplies: Hugging Face applies it to logits in greedy search and
    sampling, to log-probabilities in beam search.
    """

    def __init__(
        self,
        options: DecodingOptions,
        rules: DecodingRules,
        forced_first_id: int | None,
        domain: Literal["logits", "log_probs"],
    ) -> None:
        self._options = options
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
        if num_generated == self._options.max_new_tokens - 1 and self._rules.forced_eos_id is not None:
            return self._rules.forced_eos_id
        return self._forced_first_id if num_generated == 0 else None

    def touched(self, prefix: Sequence[int]) -> list[int]:
        """Returns the ids, each once, whose score may change after `prefix` (start token included)."""
        ids: dict[int, None] = {}
        if self._options.repetition_penalty != 1.0:
            ids.update(dict.fromkeys(prefix))
        ids.update(dict.fromkeys(self._banned(prefix)))
        return list(ids)

    def apply(self, prefix: Sequence[int], touched: Sequence[int], row: RowScores) -> tuple[FloatArray, IntArray]:
        """Returns the processed log-probabilities (n,) float32 and ids (n,) int64, descending.

        Exact for the first k - len(touched) entries, k being the length of `row.log_probs`.
        """
        forced = self.forced(len(prefix) - 1)
        if forced is not None:
            return _only(forced, len(row.ids))
        before = row.probes[: len(touched)].astype(np.float64)
        after = self._penalised(prefix, touched, before, row)
        banned = set(self._banned(prefix))
        after[[index for index, token in enumerate(touched) if token in banned]] = -np.inf
        is_untouched = ~np.isin(row.ids, touched)
        untouched = row.log_probs[is_untouched].astype(np.float64)
        log_probs = np.concatenate([untouched, after])
        ids = np.concatenate([row.ids[is_untouched], np.asarray(touched, np.int64)])
        if not self._rules.renormalize:
            log_probs += row.log_unbanned
        elif touched:
            log_probs -= _log_total(untouched, before, after)
        # Descending; equal values keep the lower id first, as a scan over the vocabulary would.
        order = np.lexsort((ids, -log_probs))
        return log_probs[order].astype(np.float32), ids[order]

    def _penalised(
        self, prefix: Sequence[int], touched: Sequence[int], before: npt.NDArray[np.float64], row: RowScores
    ) -> npt.NDArray[np.float64]:
        """Applies the repetition penalty of CTRL (Keskar et al. 2019): positive scores divided, negative multiplied.

        In beam search Hugging Face bans ids only after it has penalised log-probabilities, which therefore lack what
        the banned ids take.
        """
        penalty = self._options.repetition_penalty
        after = before.copy()
        if penalty == 1.0:
            return after
        shift = row.log_normalizer if self._domain == "logits" else row.log_unbanned
        scores = before + shift
        scores = np.where(scores > 0, scores / penalty, scores * penalty) - shift
        seen = np.isin(touched, np.asarray(prefix))
        after[seen] = scores[seen]
        return after

    def _banned(self, prefix: Sequence[int]) -> list[int]:
        banned = repeated_ngram_ends(prefix, self._options.no_repeat_ngram_size)
        if len(prefix) - 1 < self._options.min_new_tokens:
            banned.append(self._rules.eos_id)
        return banned


def repeated_ngram_ends(prefix: Sequence[int], size: int) -> list[int]:
    """Returns the tokens that would complete an n-gram of `size` which `prefix` already holds (Paulus et al. 2017)."""
    if size == 0 or len(prefix) + 1 < size:
        return []
    tail = tuple(prefix[len(prefix) - size + 1 :])
    return [
        prefix[start + size - 1]
        for start in range(len(prefix) - size + 1)
        if tuple(prefix[start : start + size - 1]) == tail
    ]


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
