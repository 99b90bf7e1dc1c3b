"""Runs the two graphs of one precision step by step, plainly: no shared buffers, no rows joining or leaving.

For checks at export time; serving has its own engine.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from export.families.spec import ModelSpec

Ids = Sequence[Sequence[int]]
Arrays = dict[str, NDArray[Any]]

# One query per source takes another kernel, whose last digits differ; serving never uses it either.
_FEWEST_CELLS = 2


@dataclass(frozen=True, slots=True)
class Batch:
    """Encoded sources and the rows that ask them.

    memory: `lengths` [S] and every `cross_*` [S, H, L, D]. grid: [S, K], cell: [R], as the decoder wants them.
    """

    memory: Arrays
    grid: NDArray[np.int64]
    cell: NDArray[np.int64]

    @property
    def num_rows(self) -> int:
        """Rows R."""
        return len(self.cell)


class GraphPair:
    """An encoder and a decoder session, one thread each."""

    def __init__(self, encoder: Path, decoder: Path, spec: ModelSpec) -> None:
        self._encoder = _session(encoder)
        self._decoder = _session(decoder)
        self.spec = spec

    def batch(self, sources: Ids, widths: Sequence[int] | None = None) -> Batch:
        """Encodes sources together, for `widths[s]` rows (default 1) asking source s; rows are in that order."""
        lengths = np.array([len(source) for source in sources], np.int32)
        # What stands in padding must not matter; 0 is an id of every vocabulary, which the pad id need not be.
        ids = np.zeros((len(sources), int(lengths.max())), np.int64)
        for row, source in enumerate(sources):
            ids[row, : len(source)] = source
        memory = {"lengths": lengths, **self._run(self._encoder, {"ids": ids, "lengths": lengths})}
        return Batch(memory, *_layout(widths or [1] * len(sources)))

    def force(self, batch: Batch, targets: Ids, best: int = 1) -> Iterator[tuple[NDArray[np.int64], Arrays]]:
        """Feeds each row its target, all tokens of the vocabulary probed, and yields positions [R] and outputs.

        A row past its target repeats its last step, so rows stand at different positions. `best` is the graph's k.
        """
        last = np.array([len(target) - 1 for target in targets])
        start = self.spec.special_ids.decoder_start
        inputs = [[start, *target[:-1]] for target in targets]
        every_id = np.tile(np.arange(self.spec.target_vocabulary_size), (batch.num_rows, 1))
        cache = self._empty_cache(batch.num_rows, int(last.max()) + 1)
        for step in range(int(last.max()) + 1):
            position = np.minimum(step, last)
            token = np.array([row[place] for row, place in zip(inputs, position.tolist(), strict=True)], np.int64)
            feeds: Arrays = {"token": token, "position": position.astype(np.int32), "probe": every_id}
            yield position, self._step(batch, cache, feeds, best)

    def log_probs(self, batch: Batch, targets: Ids) -> list[NDArray[np.float32]]:
        """Log-probabilities [len(target), V] of every id at every position of each row's target."""
        size = self.spec.target_vocabulary_size
        collected = [np.zeros((len(target), size), np.float32) for target in targets]
        for position, result in self.force(batch, targets):
            for row, place in enumerate(position.tolist()):
                collected[row][place] = result["probe_log_probs"][row]
        return collected

    def greedy(self, sources: Ids, limit: int) -> list[list[int]]:
        """The best token at each step, to the end token included or `limit` tokens."""
        batch = self.batch(sources)
        cache = self._empty_cache(batch.num_rows, limit)
        token = np.full(batch.num_rows, self.spec.special_ids.decoder_start, np.int64)
        outputs: list[list[int]] = [[] for _ in sources]
        eos = self.spec.special_ids.eos
        for step in range(limit):
            position = np.full(batch.num_rows, step, np.int32)
            nothing = np.zeros((batch.num_rows, 0), np.int64)
            feeds: Arrays = {"token": token, "position": position, "probe": nothing}
            token = self._step(batch, cache, feeds, 1)["top_ids"][:, 0]
            for output, chosen in zip(outputs, token.tolist(), strict=True):
                if not output or output[-1] != eos:
                    output.append(chosen)
            if all(output[-1] == eos for output in outputs):
                break
        return outputs

    def _run(self, session: onnxruntime.InferenceSession, feeds: Mapping[str, NDArray[Any]]) -> Arrays:
        names = [output.name for output in session.get_outputs()]
        return dict(zip(names, session.run(names, dict(feeds)), strict=True))

    def _empty_cache(self, rows: int, length: int) -> Arrays:
        spec = self.spec
        shape = (rows, spec.num_heads, length, spec.cache_head_width)
        names = [f"past_{part}.{layer}" for layer in range(len(spec.keys.decoder)) for part in "kv"]
        return {name: np.zeros(shape, np.float32) for name in names}

    def _step(self, batch: Batch, cache: Arrays, feeds: Arrays, best: int) -> Arrays:
        """One step; `cache` is updated."""
        total = {"total_length": feeds["position"].max(keepdims=True) + np.int32(1), "k": np.array([best], np.int64)}
        layout = {"grid": batch.grid, "cell": batch.cell}
        result = self._run(self._decoder, {**batch.memory, **layout, **cache, **feeds, **total})
        for name in cache:
            cache[name] = result[name.replace("past", "present")]
        return result


def _layout(widths: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Grid [S, K] and cells [R]; spare cells of a source repeat its last row."""
    columns = max(_FEWEST_CELLS, *widths)
    grid = np.zeros((len(widths), columns), np.int64)
    cell: list[int] = []
    for source, width in enumerate(widths):
        grid[source] = len(cell) + np.minimum(np.arange(columns), width - 1)
        cell.extend(source * columns + column for column in range(width))
    return grid, np.array(cell, np.int64)


def _session(path: Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
