"""A loaded model: encode sources into memories, step rows through the decoder.

The decoder graph's contract is docs/model-packages.md. One thread uses an engine; nothing here locks.
"""

import copy
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import onnxruntime as ort

from service.engine.alignment import attention_weights
from service.engine.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    KeptArray,
    KeptType,
    RowCopy,
    StepInputs,
    StepOutputs,
)
from service.engine.binding import Binding
from service.engine.encoded import EncoderRun, Memory
from service.engine.kv_cache import CacheLayout, KVCache
from service.engine.layout import lay_out
from service.engine.memory import MemoryPool
from service.engine.options import EngineOptions
from service.engine.outputs import OutputBuffers
from service.engine.packing import PackedSources, like_lengths, pack
from service.engine.prefix import Prefix
from service.engine.sessions import open_session
from service.engine.threads import threads_of_run, usable_cpus
from service.errors import EngineError
from service.package.package import ModelPackage

# Widths of outputs whose buffers are kept.
_MOST_WIDTHS = 64


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
        self._alignment_layer, self._alignment_heads = manifest.alignment_layer, manifest.alignment_heads
        self._max_rows = max_rows
        self.num_threads = threads_of_run(options.num_threads, self._dimensions.model_width, usable_cpus())
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
        self._bound_layout: tuple[int, int, int, int] | None = None
        self._bound_rows: tuple[int, bytes, bytes] | None = None
        self._output_buffers: dict[tuple[int, int], OutputBuffers] = {}
        rows = self._max_rows
        self._tokens = Prefix(np.zeros(rows, np.int64))
        self._positions = Prefix(np.zeros(rows, np.int32))
        self._total_length = Prefix(np.zeros(1, np.int32))
        self._no_probes = Prefix(np.zeros((rows, 0), np.int64))
        self.reset()

    def reset(self) -> None:
        """Forgets all rows and memories."""
        dimensions = self._dimensions
        layers, heads, width = dimensions.decoder_layers, dimensions.num_heads, dimensions.cache_head_width
        self._cache, dtype = KVCache(self._cache_layout(), self._max_rows), self._kept_type()
        self._solo, self._shared, self._nobody = (MemoryPool(layers, heads, width, dtype) for _ in range(3))
        # The solo kernel cannot run over nothing; where there is no solo source it runs over this one, unheard.
        nothing = np.zeros((1, heads, 1, width), dtype)
        self._nobody.add(EncoderRun((nothing,) * (2 * layers), np.ones(1, np.int32)), [0])
        self._bound_layout = None

    def encode(self, sources: Sequence[IntArray]) -> list[Memory]:
        """Encodes sources (each (l,) int64, special tokens included). Raises EngineError if ONNX Runtime does."""
        memories: dict[int, Memory] = {}
        for members in like_lengths([len(source) for source in sources]):
            packed = pack([sources[index] for index in members])
            run = EncoderRun(self._run_encoder(packed), packed.lengths)
            memories.update((member, Memory(run, index)) for index, member in enumerate(members))
        return [memories[index] for index in range(len(sources))]

    def hold(self, memories: Sequence[Memory], solo: BoolArray) -> IntArray:
        """Takes memories in, for rows to look at.

        solo: (n,) bool, whether one row at a time will look at the source, or several. Returns (n,) int64, the index of
        each memory among those of its kind.
        """
        indices = np.zeros(len(memories), np.int64)
        by_run: dict[tuple[EncoderRun, bool], list[int]] = {}
        for place, (memory, alone) in enumerate(zip(memories, solo.tolist(), strict=True)):
            by_run.setdefault((memory.run, alone), []).append(place)
        for (run, alone), places in by_run.items():
            pool = self._pool(solo=alone)
            indices[places] = np.arange(len(places)) + len(pool)
            pool.add(run, [memories[place].index for place in places])
        return indices

    def forget(self, memories: IntArray, *, solo: bool) -> IntArray:
        """Drops memories (n,) int64 of one kind; returns the new index of every old one, -1 for those dropped."""
        return self._pool(solo=solo).remove(memories)

    def copy_rows(self, copies: Sequence[RowCopy]) -> None:
        """Copies what rows have cached; no row may be both read and written."""
        self._cache.copy_rows(copies)

    def step(self, inputs: StepInputs) -> StepOutputs:
        """Runs the decoder once over rows 0 to R-1, writing each row's new key and value at its position.

        The outputs hold until the next step. A row whose log_probs are not finite is broken, alone. Raises
        EngineError if ONNX Runtime fails.
        """
        num_rows, length = len(inputs.tokens), int(np.maximum.reduce(inputs.positions)) + 1
        self._cache.reserve(length, num_rows)
        self._bind_caches(num_rows)
        self._bind_rows(inputs)
        self._bind_tokens(inputs, length)
        num_best = min(inputs.num_best, self._dimensions.target_vocabulary_size)
        outputs = self._bind_outputs(num_rows, num_best, inputs.probes.shape[1])
        try:
            self._decoder.run()
        except Exception as error:
            # ONNX Runtime raises a dozen unrelated classes here, none documented.
            raise EngineError(f"the decoder failed: {error}") from error
        return replace(outputs, alignment=self._alignment(inputs)) if len(inputs.aligned) else outputs

    def _cache_layout(self) -> CacheLayout:
        """Reads off the decoder graph what each of its layers keeps of a row."""
        prefix = "past_"
        inputs = (value.name for value in self._session.get_inputs())
        names = [name.removeprefix(prefix) for name in inputs if name.startswith(prefix)]
        states = tuple(name for name in names if name.startswith("state."))
        attention = tuple(name for name in names if name not in states)
        sizes = self._dimensions
        widths = sizes.cache_head_width, sizes.model_width
        return CacheLayout(attention, states, sizes.num_heads, *widths, self._kept_type())

    def _kept_type(self) -> KeptType:
        """Reads off the decoder graph what it takes for keys and values of sources and rows."""
        (kind,) = {value.type for value in self._session.get_inputs() if value.name.startswith("cross_")}
        return np.float16 if kind == "tensor(float16)" else np.float32

    def _bind_caches(self, num_rows: int) -> None:
        layout = (num_rows, self._cache.version, self._solo.version, self._shared.version)
        if layout == self._bound_layout:
            return
        solo, bind = self._solo if len(self._solo) else self._nobody, self._decoder
        for layer in range(self._dimensions.decoder_layers):
            for offset, kind in enumerate("kv"):
                index = 2 * layer + offset
                own = solo.value(index)
                bind.bind_input(f"solo_{kind}.{layer}", own)
                bind.bind_output(f"solo_present_{kind}.{layer}", own)
                bind.bind_input(f"solo_last_{kind}.{layer}", solo.last_value(index))
                bind.bind_input(f"cross_{kind}.{layer}", self._shared.value(index))
        for name in self._cache.names:
            kept = self._cache.value(name, num_rows)
            bind.bind_input(f"past_{name}", kept)
            bind.bind_output(f"present_{name}", kept)
        bind.bind_input("solo_past", solo.past_value())
        bind.bind_input("solo_total", solo.longest_value())
        bind.bind_input("lengths", self._shared.lengths_value())
        self._bound_layout = layout

    def _bind_tokens(self, inputs: StepInputs, length: int) -> None:
        """Writes what changes in every step into buffers that stay bound."""
        num_rows = len(inputs.tokens)
        self._tokens.view(num_rows)[:] = inputs.tokens
        self._positions.view(num_rows)[:] = inputs.positions
        self._total_length.view(1)[0] = length
        self._decoder.bind_input("token", self._tokens.value(num_rows))
        self._decoder.bind_input("position", self._positions.value(num_rows))
        self._decoder.bind_input("total_length", self._total_length.value(1))
        some = inputs.probes.size > 0
        probes = ort.OrtValue.ortvalue_from_numpy(inputs.probes) if some else self._no_probes.value(num_rows)
        self._decoder.bind_input("probe", probes)

    def _bind_rows(self, inputs: StepInputs) -> None:
        key = (len(self._shared), inputs.memories.tobytes(), inputs.solo.tobytes())
        if key == self._bound_rows:
            return
        layout = lay_out(inputs.memories, inputs.solo, len(self._shared))
        for name, values in (("solo_row", layout.solo_rows), ("grid", layout.grid), ("cell", layout.cell)):
            self._decoder.bind_input(name, ort.OrtValue.ortvalue_from_numpy(values))
        self._bound_rows = key

    def _bind_outputs(self, num_rows: int, num_best: int, num_probes: int) -> StepOutputs:
        widths = (num_best, num_probes)
        buffers = self._output_buffers.get(widths)
        if buffers is None:
            if len(self._output_buffers) == _MOST_WIDTHS:
                self._output_buffers.clear()
            width = self._dimensions.num_heads * self._dimensions.cache_head_width
            buffers = OutputBuffers(self._max_rows, *widths, self._num_banned, width)
            self._output_buffers[widths] = buffers
        self._outputs = buffers
        return buffers.bind(self._decoder, num_rows)

    def _alignment(self, inputs: StepInputs) -> FloatArray:
        rows_of: dict[tuple[bool, int], list[int]] = {}
        for row in inputs.aligned.tolist():
            rows_of.setdefault((inputs.solo.item(row), inputs.memories.item(row)), []).append(row)
        longest = max(self._pool(solo=solo).lengths.item(memory) for solo, memory in rows_of)
        alignment = np.zeros((len(inputs.tokens), longest), np.float32)
        for (solo, memory), rows in rows_of.items():
            pool = self._pool(solo=solo)
            keys = pool.view(2 * self._alignment_layer)[memory, :, : pool.lengths[memory]]
            weights = attention_weights(self._outputs.queries[rows], keys, self._alignment_heads)
            alignment[rows, : weights.shape[1]] = weights
        return alignment

    def _pool(self, *, solo: bool) -> MemoryPool:
        return self._solo if solo else self._shared

    def _run_encoder(self, packed: PackedSources) -> tuple[KeptArray, ...]:
        try:
            results = tuple(self._encoder.run(self._memory_names, packed.feeds()))
        except Exception as error:
            # As above.
            raise EngineError(f"the encoder failed: {error}") from error
        return results
