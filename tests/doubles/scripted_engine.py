"""An engine without a model: next-token scores are a fixed function of the source and the tokens before.

Its cache holds the tokens themselves, moved only by `copy_rows` and written only by `step`, so a row or memory that is
confused with another changes what comes out.
"""

import zlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from service.engine.arrays import IntArray, RowCopy, StepInputs, StepOutputs
from service.engine.gaps import close_gaps
from service.errors import EngineError

START_ID, EOS_ID = 19, 0
VOCABULARY_SIZE = 20

Scores = npt.NDArray[np.float32]


def next_logits(source: Sequence[int], prefix: Sequence[int]) -> Scores:
    """Returns (V,) float32 logits after `prefix` (start token included); the end token gains with length."""
    seed = zlib.crc32(np.array([*source, -1, *prefix], np.int64).tobytes())
    logits = np.random.default_rng(seed).normal(size=VOCABULARY_SIZE).astype(np.float32) * 1.5
    logits[EOS_ID] += 0.25 * (len(prefix) - 1) - 1.0
    logits[START_ID] = -np.inf
    return logits


def banned_logit(source: Sequence[int]) -> float:
    """Returns what the model would give START_ID if it were not banned."""
    return 0.5 * (sum(source) % 7) - 1.0


def log_softmax(logits: npt.NDArray[np.floating]) -> Scores:
    """Returns normalised log-probabilities in float32, computed in float64."""
    wide = logits.astype(np.float64)
    top = wide.max()
    return (wide - top - np.log(np.exp(wide - top).sum())).astype(np.float32)


class ScriptedEngine:
    """Stands in for `service.engine.engine.Engine`.

    fail_next: the next encode or step raises. broken_sources: sources (as tuples) whose rows give NaN.
    """

    def __init__(self, max_rows: int = 256, max_length: int = 64) -> None:
        self._shape = (max_rows, max_length)
        self.fail_next = False
        self.broken_sources: set[tuple[int, ...]] = set()
        self.num_copies = 0
        self.row_counts: list[int] = []
        self.num_encoded: list[int] = []
        self.reset()

    def reset(self) -> None:
        self._cache = np.full(self._shape, -7, np.int64)
        self._memories: dict[bool, list[tuple[int, ...]]] = {True: [], False: []}

    @property
    def num_memories(self) -> int:
        return sum(map(len, self._memories.values()))

    def encode(self, sources: Sequence[IntArray]) -> list[tuple[int, ...]]:
        self._fail_if_asked()
        self.num_encoded.append(len(sources))
        return [tuple(source.tolist()) for source in sources]

    def hold(self, memories: Sequence[tuple[int, ...]], solo: npt.NDArray[np.bool_]) -> IntArray:
        indices = []
        for memory, alone in zip(memories, solo.tolist(), strict=True):
            indices.append(len(self._memories[alone]))
            self._memories[alone].append(memory)
        return np.array(indices, np.int64)

    def forget(self, memories: IntArray, *, solo: bool) -> IntArray:
        held = self._memories[solo]
        mapping = close_gaps(memories, len(held))
        self._memories[solo] = [held[old] for old in np.argsort(mapping, kind="stable") if mapping[old] >= 0]
        return mapping

    def copy_rows(self, copies: Sequence[RowCopy]) -> None:
        sources, targets = ({copy[side] for copy in copies} for side in (0, 1))
        assert not sources & targets, "a row is both read and written"
        assert len(targets) == len(copies), "a row is written twice"
        self.num_copies += len(copies)
        for source, target, start, stop in copies:
            assert (self._cache[target, :start] == self._cache[source, :start]).all(), "something was left out"
            self._cache[target, start:] = -7
            self._cache[target, start:stop] = self._cache[source, start:stop]

    def step(self, inputs: StepInputs) -> StepOutputs:
        self._fail_if_asked()
        rows = len(inputs.tokens)
        self.row_counts.append(rows)
        self._cache[np.arange(rows), inputs.positions] = inputs.tokens
        count = min(inputs.num_best, VOCABULARY_SIZE)
        log_probs = np.empty((rows, count), np.float32)
        ids = np.empty((rows, count), np.int64)
        normalizers = np.empty((rows, 1), np.float32)
        probes = np.empty(inputs.probes.shape, np.float32)
        banned = np.empty((rows, 1), np.float32)
        asked = set(inputs.aligned.tolist())
        alignment = np.zeros((rows, max(len(one) for held in self._memories.values() for one in held)), np.float32)
        for row in range(rows):
            source = self._memories[bool(inputs.solo[row])][inputs.memories[row]]
            logits = next_logits(source, self._cache[row, : inputs.positions[row] + 1].tolist())
            scores = log_softmax(logits)
            ids[row] = np.argsort(-scores, kind="stable")[:count]
            log_probs[row] = scores[ids[row]] if source not in self.broken_sources else np.nan
            probes[row] = scores[inputs.probes[row]]
            normalizers[row] = logits[EOS_ID] - scores[EOS_ID]
            banned[row] = banned_logit(source)
            if row in asked:
                alignment[row, inputs.positions[row] % len(source)] = 1.0
        return StepOutputs(log_probs, ids, probes, normalizers, banned, alignment)

    def _fail_if_asked(self) -> None:
        if self.fail_next:
            self.fail_next = False
            raise EngineError("scripted failure")
