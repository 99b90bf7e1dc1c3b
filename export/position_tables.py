"""Tables that positions are looked up in: the two kinds of sinusoids, and the buckets of relative distances.

Pure arithmetic, in the layout that graphs use. Which kind a network has is the families' business.
"""

import math

import numpy as np
from numpy.typing import NDArray

from export.families.spec import RelativePositions, Side

Floats = NDArray[np.float32]


def sinusoid_halves(count: int, width: int) -> Floats:
    """Position table [count, width]: sines in the first half of the columns, cosines in the second.

    Angle i of row p is p / 10000^(2i / width), computed in double precision (Vaswani et al. 2017, section 3.5, with
    Marian's column order). An odd width has one more sine than cosines.
    """
    frequencies = 10000.0 ** (-2.0 * np.arange((width + 1) // 2) / width)
    angles = np.arange(count)[:, None] * frequencies[None, :]
    return np.concatenate([np.sin(angles), np.cos(angles[:, : width // 2])], axis=1).astype(np.float32)


def sinusoid_fairseq(count: int, width: int) -> Floats:
    """Position table [count, width]: sines in the first half of the columns, cosines in the second, as fairseq has it.

    Angle i of row p is p exp(-i ln(10000) / (width // 2 - 1)), computed in double precision: the last frequency is
    1 / 10000. An odd width has a column of zeros at the end.
    """
    half = width // 2
    frequencies = np.exp(-math.log(10000.0) / (half - 1) * np.arange(half))
    angles = np.arange(count)[:, None] * frequencies[None, :]
    nothing = np.zeros((count, width % 2))
    return np.concatenate([np.sin(angles), np.cos(angles), nothing], axis=1).astype(np.float32)


def relative_buckets(relative: RelativePositions, side: Side) -> NDArray[np.int64]:
    """The bucket of every distance that has one of its own.

    decoder: [max_distance + 1], of a key that many tokens before the query. encoder: [2 * max_distance + 1], of a key
    at the query's place plus the index minus max_distance; half of the buckets are for keys after the query.
    """
    furthest = relative.max_distance
    if side == "decoder":
        return _buckets(np.arange(furthest + 1), relative.num_buckets, furthest)
    half = relative.num_buckets // 2
    offsets = np.arange(-furthest, furthest + 1)
    return _buckets(np.abs(offsets), half, furthest) + np.where(offsets > 0, half, 0)


def _buckets(distances: NDArray[np.int64], num_buckets: int, max_distance: int) -> NDArray[np.int64]:
    """Buckets of distances of at least 0: exact ones up to half of them, then logarithmic ones up to max_distance.

    In single precision, as such networks are trained, because a distance on the border of two buckets goes by the
    rounding (Raffel et al. 2020).
    """
    exact = num_buckets // 2
    ratios = np.maximum(distances, exact).astype(np.float32) / np.float32(exact)
    logarithmic = np.log(ratios) / np.float32(math.log(max_distance / exact)) * np.float32(num_buckets - exact)
    beyond = np.minimum(exact + logarithmic.astype(np.int64), num_buckets - 1)
    return np.where(distances < exact, distances, beyond)
