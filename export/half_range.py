"""Which tensors of a checkpoint hold numbers that 16-bit floats cannot hold.

One tensor is read at a time. What is to be done about it is the caller's business.
"""

from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass

import numpy as np
from numpy.typing import NDArray

from export.checkpoint import Checkpoint
from export.families.spec import LinearKeys, NetworkKeys

LARGEST_HALF = float(np.finfo(np.float16).max)
_VALUES_AT_ONCE = 1 << 22


def beyond_half(checkpoint: Checkpoint, names: Iterable[str]) -> list[str]:
    """A sentence about each of these tensors that has finite numbers beyond the largest 16-bit float."""
    return [
        f"tensor {name} has values beyond {LARGEST_HALF:.0f}"
        for name in sorted(set(names))
        if _is_beyond(checkpoint.tensor(name))
    ]


def linear_tensors(keys: NetworkKeys) -> Iterator[str]:
    """Tensors of linear layers and token tables: what 16-bit graphs keep in 16 bits."""
    yield from (keys.source_table, keys.target_table, keys.head_table)
    for layer in (*keys.encoder, *keys.decoder):
        yield from _linear_tensors(layer)


def _linear_tensors(value: object) -> Iterator[str]:
    if isinstance(value, LinearKeys):
        yield value.weight
        if value.bias is not None:
            yield value.bias
    elif is_dataclass(value):
        for field in fields(value):
            yield from _linear_tensors(getattr(value, field.name))


def _is_beyond(tensor: NDArray[np.float32]) -> bool:
    flat = tensor.reshape(-1)
    stretches = (flat[start : start + _VALUES_AT_ONCE] for start in range(0, len(flat), _VALUES_AT_ONCE))
    return any(bool((np.isfinite(some) & (np.abs(some) > LARGEST_HALF)).any()) for some in stretches)
