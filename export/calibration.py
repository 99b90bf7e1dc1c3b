"""Constant activation scales for int8: what ranges the float32 graphs' linear layers see on sample text.

A constant scale saves the reductions that a scale per row needs, and keeps rows apart just as well. It rounds more
coarsely where a layer's rows differ much in size; such layers keep a scale per row.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from export.families.spec import ModelSpec
from export.graph.quantized_linear import ACTIVATION_LIMIT, ActivationScale
from export.graphs import LinearInputs
from export.sample import LONGEST_TRANSLATION, groups_of_like_length
from export.verify.graph_pair import Arrays, GraphPair, Ids
from service.package.manifest import GraphFiles
from service.package.package import GraphKind

# How much coarser a constant scale may round than scales per row do on average.
_COARSEST = 4.0


@dataclass(slots=True)
class _Range:
    """What a layer's rows were: lowest and highest value, and the sum of squares of their largest magnitudes."""

    low: float = 0.0
    high: float = 0.0
    peak_squares: float = 0.0
    num_rows: int = 0

    def add(self, rows: NDArray[np.float32]) -> None:
        self.low, self.high = min(self.low, float(rows.min())), max(self.high, float(rows.max()))
        peaks = np.abs(rows).max(axis=1).astype(np.float64)
        self.peak_squares += float((peaks**2).sum())
        self.num_rows += len(rows)

    def scale(self) -> ActivationScale | None:
        """A constant scale, or None where one per row would round much more finely.

        It holds just what was seen: room to spare rounds everything more coarsely for the sake of a few values.
        """
        scale = ActivationScale.of_range(self.low, self.high)
        step_by_row = (self.peak_squares / self.num_rows) ** 0.5 / ACTIVATION_LIMIT
        return scale if float(scale.step) <= _COARSEST * step_by_row else None


class _ObservedPair(GraphPair):
    """The float32 graphs, watched at the inputs of their linear layers."""

    def __init__(self, encoder: Path, decoder: Path, spec: ModelSpec, inputs: LinearInputs) -> None:
        super().__init__(encoder, decoder, spec, {kind: values.values() for kind, values in inputs.items()})
        self._paths = {kind: {value: path for path, value in values.items()} for kind, values in inputs.items()}
        self.ranges = {path: _Range() for values in inputs.values() for path in values}

    def _run(self, kind: GraphKind, feeds: Mapping[str, NDArray[Any]]) -> Arrays:
        results = super()._run(kind, feeds)
        for value, path in self._paths[kind].items():
            rows = results.pop(value)
            self.ranges[path].add(rows.reshape(-1, rows.shape[-1]))
        return results


def calibrate(
    folder: Path, graphs: GraphFiles, spec: ModelSpec, inputs: LinearInputs, sources: Ids
) -> dict[str, ActivationScale]:
    """Translates source ids (special ids included) greedily in float32; returns the constant scales worth having."""
    pair = _ObservedPair(folder / graphs.encoder, folder / graphs.decoder, spec, inputs)
    limit = min(LONGEST_TRANSLATION, spec.max_target_tokens - 1)
    for group in groups_of_like_length(sources, pair.rows_at_once):
        pair.greedy(group, limit)
    scales = {path: found.scale() for path, found in pair.ranges.items()}
    return {path: scale for path, scale in scales.items() if scale is not None}
