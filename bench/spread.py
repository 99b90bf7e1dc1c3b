"""Medians with spread, percentiles, and ratios of systems that were measured in the same rounds.

A ratio is taken inside each round before the median, so that what slows a whole round down does not count.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spread:
    """Several measurements of one thing; the unit is the column's."""

    median: float
    minimum: float
    maximum: float
    lower_quartile: float
    upper_quartile: float
    count: int

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """Summarises at least one value."""
        if not values:
            raise ValueError("a spread needs at least one value")
        return cls(
            median=percentile(values, 50),
            minimum=min(values),
            maximum=max(values),
            lower_quartile=percentile(values, 25),
            upper_quartile=percentile(values, 75),
            count=len(values),
        )


def percentile(values: Sequence[float], percent: float) -> float:
    """Returns the value below which `percent` of the values lie, interpolated linearly between neighbours."""
    if not values:
        raise ValueError("a percentile needs at least one value")
    if not 0 <= percent <= 100:
        raise ValueError(f"{percent} is not a percentage")
    ordered = sorted(values)
    place = (len(ordered) - 1) * percent / 100
    low, high = math.floor(place), math.ceil(place)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def median(values: Sequence[float]) -> float:
    """Returns the middle value, or the mean of the two in the middle."""
    return percentile(values, 50)


def ratio(numerators: Mapping[int, float], denominators: Mapping[int, float]) -> Spread | None:
    """Divides round by round, over the rounds (the keys) in which both were measured; None if there is none."""
    shared = sorted(numerators.keys() & denominators.keys())
    if not shared:
        return None
    return Spread.of([numerators[index] / denominators[index] for index in shared])
