"""A loaded model: encode sources into memories, step rows through the decoder.

The decoder graph's contract is docs/model-packages.md. One thread uses an engine; nothing here locks.
"""

import copy
from collections.abc import Sequence
from itertools import groupby

import numpy as np
import numpy.typing as npt

from service.engine.arrays import FloatArray, IntArray, StepInputs, StepOutputs
from service.engine.binding import Binding
from service.engine.kv_cache import KVCache
from service.engine.memory import MemoryPool
from service.engine.options import EngineOptions
from service.engine.sessions import open_session
from service.engine.threads import decode_threads, threads_of_run, usable_cpus
from service.errors import EngineError
from service.package.package import ModelPackage

# A source with one query would be multiplied by another kernel than a source with several, and their last digits
# differ: then a beam elsewhere in the batch would change a greedy row's scores. So there are always at least two.
_MIN_QUERIES = 2

# Sources are padded to a multiple of this and encoded only with sources of the same padded length, so what the
# encoder computes for one never depends on the others.
LENGTH_STEP = 8


def padded_length(length: int) -> int:
    """Returns the padded length of a source of `length` tokens."""
    return -(-length // LENGTH_STEP) * LENGTH_STEP


class Engine:
    """Two graphs of one package with their caches.

    Rows and memories are dense; the caller owns their numbering and says when they move.
    """

    def __init__(self, package: ModelPackage, options: EngineOptions, max_rows: int) -> None:
        manifest = package.manifest
        self.precision = options.precision or manifest.default_precision
        if self.precision not in manifest.precisions:
            raise EngineError(
                f"package {manifest.name} has no {self.precision} graphs, only {', '.join(manifest.precisions)}"
            )
        self._dimensions = manifest.dimensions
        self._num_banned = len(manifest.banned_ids)
        self._max_rows = max_rows
        cpus = usable_cpus()
        self.num_threads = threads_of_run(options.num_threads, self._dimensions.model_width, cpus)
        self.num_decode_threads = decode_threads(options.num_decode_threads, self.num_threads, cpus)
        self._encoder = open_session(package.graph("encoder", self.precision), options, self.num_threads)
        self._session = open_session(package.graph("decoder", self.precision), options, self.num_threads)
        self.provider = self._session.get_providers()[0]
        self._memory_names = [
            f"cross_{kind}.{layer}" for layer in range(self._dimensions.decoder_layers) for kind in "kv"
        ]
        self._start()

    def twin(self) -> "Engine":
        """Returns another engine over the same graphs, with rows and memories of its own.

        Both may run at the same time: ONNX Runtime's sessions allow that, their bindings do not.
        """
        other = copy.copy(self)
        other._start()
        return other

    def _start(self) -> None:
        self._decoder = Binding(self._session)
        # What the decoder's binding was last made for, so that a step binds only what has changed.
        self._bound_layout: tuple[int, int, int] | None = None
        self._bound_grid: tuple[int, bytes] | None = None
        self._output_shape: tuple[int, int, int, int] | None = None
        self.reset()

    @property
    def num_memories(self) -> int:
        """Sources held."""
        return len(self._memories)

    def reset(self) -> None:
        """Forgets all rows and memories."""
        dimensions = self._dimensions
        layers, heads, width = dimensions.decoder_layers, dimensions.num_heads, dimensions.cache_head_width
        self._cache = KVCache(layers, self._max_rows, heads, width)
        self._memories = MemoryPool(layers, heads, width)
        self._bound_layout = None

    def encode(self, sources: Sequence[IntArray]) -> IntArray:
        """Encodes sources (each (l,) int64, special tokens included); returns their memories' indices (n,) int64.

        Raises EngineError if ONNX Runtime does; no memory is added then.
        """
        order = sorted(range(len(sources)), key=lambda index: padded_length(len(sources[index])))
        indices = np.zeros(len(sources), np.int64)
        runs = []
        for padded, members in groupby(order, key=lambda index: padded_length(len(sources[index]))):
            batch = list(members)
            lengths = np.array([len(sources[index]) for index in batch], np.int32)
            ids = np.zeros((len(batch), padded), np.int64)
            for row, index in enumerate(batch):
                ids[row, : lengths[row]] = sources[index]
            runs.append((batch, lengths, self._run_encoder(ids, lengths)))
        for batch, lengths, tensors in runs:
            indices[batch] = np.arange(len(batch)) + len(self._memories)
            self._memories.add(tensors, lengths)
        return indices

    def forget(self, memories: IntArray) -> IntArray:
        """Drops memories (n,) int64; returns the new index of every old one, -1 for those dropped."""
        return self._memories.remove(memories)

    def copy_rows(self, sources: IntArray, targets: IntArray, lengths: IntArray) -> None:
        """Copies what rows have cached; see KVCache.copy_rows."""
        self._cache.copy_rows(sources, targets, lengths)

    def step(self, inputs: StepInputs) -> StepOutputs:
        """Runs the decoder once over rows 0 to R-1, writing each row's new key and value at its position.

        The outputs hold until the next step. A row whose log_probs are not finite is broken, alone. Raises
        EngineError if ONNX Runtime fails.
        """
        num_rows, length = len(inputs.tokens), int(inputs.positions.max()) + 1
        self._cache.reserve(length, num_rows)
        self._bind_caches(num_rows)
        self._bind_grid(inputs.memories)
        self._decoder.bind_input("token", inputs.tokens)
        self._decoder.bind_input("position", inputs.positions.astype(np.int32))
        self._decoder.bind_input("total_length", np.array([length], np.int32))
        self._decoder.bind_input("probe", inputs.probes)
        num_best = min(inputs.num_best, self._dimensions.target_vocabulary_size)
        outputs = self._bind_outputs(num_rows, num_best, inputs.probes.shape[1])
        try:
            self._decoder.run()
        except Exception as error:
            # ONNX Runtime raises a dozen unrelated classes here, none documented.
            raise EngineError(f"the decoder failed: {error}") from error
        return outputs

    def _bind_caches(self, num_rows: int) -> None:
        layout = (num_rows, self._cache.version, self._memories.version)
        if layout == self._bound_layout:
            return
        for layer in range(self._dimensions.decoder_layers):
            for offset, kind in enumerate("kv"):
                cache = self._cache.view(2 * layer + offset, num_rows)
                self._decoder.bind_input(f"past_{kind}.{layer}", cache)
                self._decoder.bind_output(f"present_{kind}.{layer}", cache)
                self._decoder.bind_input(f"cross_{kind}.{layer}", self._memories.view(2 * layer + offset))
        self._decoder.bind_input("lengths", self._memories.lengths)
        self._bound_layout = layout

    def _bind_grid(self, memories: IntArray) -> None:
        key = (len(self._memories), memories.tobytes())
        if key == self._bound_grid:
            return
        grid, cell = grid_of(memories, len(self._memories))
        self._decoder.bind_input("grid", grid)
        self._decoder.bind_input("cell", cell)
        self._bound_grid = key

    def _bind_outputs(self, num_rows: int, num_best: int, num_probes: int) -> StepOutputs:
        shape = (num_rows, num_best, num_probes, self._memories.padded_length)
        if shape != self._output_shape:
            self._outputs = StepOutputs(
                log_probs=np.empty((num_rows, num_best), np.float32),
                ids=np.empty((num_rows, num_best), np.int64),
                probes=np.empty((num_rows, num_probes), np.float32),
                log_normalizers=np.empty((num_rows, 1), np.float32),
                banned_logits=np.empty((num_rows, self._num_banned), np.float32),
                alignment=np.empty((num_rows, shape[3]), np.float32),
            )
            self._decoder.bind_input("k", np.array([num_best], np.int64))
            self._decoder.bind_output("top_log_probs", self._outputs.log_probs)
            self._decoder.bind_output("top_ids", self._outputs.ids)
            self._decoder.bind_output("probe_log_probs", self._outputs.probes)
            self._decoder.bind_output("log_normalizer", self._outputs.log_normalizers)
            self._decoder.bind_output("banned_logits", self._outputs.banned_logits)
            self._decoder.bind_output("alignment", self._outputs.alignment)
            self._output_shape = shape
        return self._outputs

    def _run_encoder(self, ids: IntArray, lengths: npt.NDArray[np.int32]) -> list[FloatArray]:
        try:
            results = self._encoder.run(self._memory_names, {"ids": ids, "lengths": lengths})
        except Exception as error:
            # As above.
            raise EngineError(f"the encoder failed: {error}") from error
        return [np.asarray(result, np.float32) for result in results]


def grid_of(memories: IntArray, num_memories: int) -> tuple[IntArray, IntArray]:
    """Lays R rows out by the memory they look at.

    memories: (R,) int64. Returns grid (S, K) int64, the row behind each query cell (row 0 where there is none), and
    cell (R,) int64, the flat cell of each row; K is the largest number of rows that share a memory, at least 2.
    """
    num_rows = len(memories)
    counts = np.bincount(memories, minlength=num_memories)
    width = max(int(counts.max()), _MIN_QUERIES)
    order = np.argsort(memories, kind="stable")
    starts = np.cumsum(counts) - counts
    cell = np.empty(num_rows, np.int64)
    cell[order] = memories[order] * width + np.arange(num_rows) - starts[memories[order]]
    grid = np.zeros(num_memories * width, np.int64)
    grid[cell] = np.arange(num_rows)
    return grid.reshape(num_memories, width), cell
