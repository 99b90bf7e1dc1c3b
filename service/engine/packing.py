"""Sources of different lengths as the encoder graph takes them: token after token, without padding."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from service.engine.arrays import IntArray
from service.engine.memory import whole_vectors


@dataclass(frozen=True, slots=True, eq=False)
class PackedSources:
    """S sources of N tokens altogether, laid out over S x L cells for attention alone.

    ids: (N,) int64. positions: (N,) int32, of each token in its source. grid: (S, L) int64, the token in each cell;
    cells beyond a source's end name its first token. cell: (N,) int64, the cell of each token. lengths: (S,) int32.
    """

    ids: IntArray
    positions: npt.NDArray[np.int32]
    grid: IntArray
    cell: IntArray
    lengths: npt.NDArray[np.int32]

    def feeds(self) -> dict[str, npt.NDArray[np.generic]]:
        """Returns the encoder graph's inputs by name."""
        return {
            "ids": self.ids,
            "position": self.positions,
            "grid": self.grid,
            "cell": self.cell,
            "lengths": self.lengths,
        }


def pack(sources: Sequence[Sequence[int] | IntArray]) -> PackedSources:
    """Packs at least one source, ids (l,) each; L is the padded length of the longest."""
    lengths = np.array([len(source) for source in sources], np.int32)
    padded = whole_vectors(int(lengths.max()))
    starts = np.cumsum(lengths) - lengths
    places = np.arange(padded)[None, :]
    real = places < lengths[:, None]
    grid = starts[:, None] + np.where(real, places, 0)
    return PackedSources(
        ids=np.concatenate([np.asarray(source, np.int64) for source in sources]),
        positions=np.concatenate([np.arange(length, dtype=np.int32) for length in lengths]),
        grid=grid.astype(np.int64),
        cell=np.flatnonzero(real),
        lengths=lengths,
    )


def like_lengths(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yields the indices of sources to encode in one run each: longest first, none half as long as the run's longest.

    Attention is padded, all else is not; where padding is most of what attention looks at, another run is cheaper.
    """
    run: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        if run and 2 * whole_vectors(lengths[index]) < whole_vectors(lengths[run[0]]):
            yield run
            run = []
        run.append(index)
    if run:
        yield run
