"""How large a network is, and how many sentences it can be tried on in reasonable time."""

import math

from export.checkpoint import Checkpoint
from export.families.spec import ModelSpec

_FEWEST_SENTENCES = 6


def num_parameters(checkpoint: Checkpoint, spec: ModelSpec) -> int:
    """Numbers that the network is made of; a tied table counts once."""
    return sum(math.prod(checkpoint.shape(name)) for name in set(spec.tensor_names()))


def affordable_sentences(checkpoint: Checkpoint, spec: ModelSpec, most_read: int) -> int:
    """How many sentences can be gone through when each takes all weights once, and `most_read` numbers may be read.

    There are always some: without any nothing would be known.
    """
    return max(_FEWEST_SENTENCES, most_read // num_parameters(checkpoint, spec))
