"""Runs the two graphs of one precision step by step, plainly: no shared buffers, no rows joining or leaving.

For checks at export time; serving has its own engine.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from export.families.spec import ModelSpec, RecurrentKeys
from export.sample import LONGEST_TRANSLATION
from export.verify.sections import SectionedGraph
from service.engine.alignment import attention_weights
from service.engine.layout import lay_out
from service.engine.packing import pack
from service.package.package import GraphKind

Ids = Sequence[Sequence[int]]
Arrays = dict[str, NDArray[Any]]
Watched = Mapping[str, Iterable[str]]

_NOTHING: Watched = MappingProxyType({})

_MOST_ROWS = 20
_MOST_NUMBERS = 1 << 25
# As log-probabilities, logits, ids, and in comparisons in double precision.
_COPIES_OF_LOG_PROBS = 15


@dataclass(frozen=True, slots=True)
class Batch:
    """Encoded sources and the rows that ask them.

    memory: `lengths` [S] and every `cross_*` [S, H, L, D], of all sources. feeds: what the decoder is told of them.
    source_of_row: [R]. is_solo: whether the sources are solo ones, which one row each asks.
    """

    memory: Arrays
    feeds: Arrays
    source_of_row: NDArray[np.int64]
    is_solo: bool

    @property
    def num_rows(self) -> int:
        """Rows R."""
        return len(self.source_of_row)


class GraphPair:
    """An encoder and a decoder, one thread each, a section at a time where they are large.

    watched: for each of the two by its name, values inside the graph that its runs give too.
    """

    def __init__(self, encoder: Path, decoder: Path, spec: ModelSpec, watched: Watched = _NOTHING) -> None:
        self._encoder = SectionedGraph(encoder, watched.get("encoder", ()))
        self._decoder = SectionedGraph(decoder, watched.get("decoder", ()))
        self.spec = spec

    @property
    def rows_at_once(self) -> int:
        """Rows whose caches and log-probabilities need no more memory than there should be for them."""
        spec = self.spec
        cached = 2 * len(spec.keys.decoder) * spec.num_heads * spec.cache_head_width * LONGEST_TRANSLATION
        numbers = cached + _COPIES_OF_LOG_PROBS * spec.target_vocabulary_size
        return max(2, min(_MOST_ROWS, _MOST_NUMBERS // numbers))

    def batch(self, sources: Ids, widths: Sequence[int] | None = None) -> Batch:
        """Encodes sources together, for `widths[s]` rows asking source s; rows are in that order.

        Without widths one row asks each, by the kernel for solo sources; with them all sources are shared ones.
        """
        packed = pack(sources)
        memory = {"lengths": packed.lengths, **self._run("encoder", packed.feeds())}
        rows = np.repeat(np.arange(len(sources)), widths or 1)
        return Batch(memory, _feeds(memory, rows, solo=widths is None), rows, widths is None)

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
            before = dict(cache)
            yield position, self._step(batch, cache, feeds, best)
            # A step that is repeated writes keys and values where they are already, but it would move a state on.
            for name in _states(cache):
                cache[name] = np.where((step < last)[:, None], cache[name], before[name])

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

    def _run(self, kind: GraphKind, feeds: Mapping[str, NDArray[Any]]) -> Arrays:
        return (self._encoder if kind == "encoder" else self._decoder).run(feeds)

    def _empty_cache(self, rows: int, length: int) -> Arrays:
        spec, cache = self.spec, {}
        for index, layer in enumerate(spec.keys.decoder):
            if isinstance(layer.attention, RecurrentKeys):
                # What stands there before the first step must not matter.
                cache[f"past_state.{index}"] = np.full((rows, spec.model_width), np.nan, np.float32)
                continue
            for part in "kv":
                shape = (rows, spec.num_heads, length, spec.cache_head_width)
                name = f"past_{part}.{index}"
                cache[name] = np.zeros(shape, self._decoder.input_types[name])
        return cache

    def _step(self, batch: Batch, cache: Arrays, feeds: Arrays, best: int) -> Arrays:
        """One step; `cache` is updated."""
        total = {"total_length": feeds["position"].max(keepdims=True) + np.int32(1), "k": np.array([best], np.int64)}
        result = self._run("decoder", {**batch.feeds, **cache, **feeds, **total})
        for name in cache:
            cache[name] = result[name.replace("past", "present")]
        result["alignment"] = self._alignment(batch, result["alignment_query"])
        return result

    def _alignment(self, batch: Batch, queries: NDArray[np.float32]) -> NDArray[np.float32]:
        """Cross-attention weights [R, L] of the alignment layer, as the service computes them."""
        keys, lengths = batch.memory[f"cross_k.{self.spec.alignment_layer}"], batch.memory["lengths"]
        alignment = np.zeros((batch.num_rows, int(lengths.max())), np.float32)
        for source, length in enumerate(lengths.tolist()):
            own = batch.source_of_row == source
            heads = self.spec.alignment_heads
            alignment[own, :length] = attention_weights(queries[own], keys[source, :, :length], heads)
        return alignment


def _feeds(memory: Arrays, source_of_row: NDArray[np.int64], *, solo: bool) -> Arrays:
    """What the decoder is told of sources and rows; the kind of source that is not there has an idle one, or none."""
    tensors = {name: values for name, values in memory.items() if name != "lengths"}
    lengths, rows = memory["lengths"], len(source_of_row)
    layout = lay_out(source_of_row if not solo else np.arange(rows), np.full(rows, solo), 0 if solo else len(lengths))
    feeds: Arrays = {"solo_row": layout.solo_rows, "grid": layout.grid, "cell": layout.cell}
    own, shared = (slice(None), slice(0, 0)) if solo else (slice(0, 1), slice(None))
    feeds["lengths"] = lengths[shared]
    feeds["solo_past"], feeds["solo_total"] = lengths[own] - 1, lengths[own].max(keepdims=True)
    for name, values in tensors.items():
        part, held = name.removeprefix("cross_"), values[own]
        last = held[np.arange(len(held)), :, lengths[own] - 1]
        feeds[f"cross_{part}"], feeds[f"solo_{part}"] = values[shared], held
        feeds[f"solo_last_{part}"] = last.reshape(len(held), 1, -1)
    return feeds


def _states(cache: Arrays) -> list[str]:
    """Names of the recurrent states among what is kept of rows."""
    return [name for name in cache if name.startswith("past_state.")]
