"""mBART-25 and mBART-50 checkpoints: pre-norm with norms on the embeddings and after both stacks, learned positions.

The first two rows of a position table belong to no position. mBART-25 starts from the target language's id, which is
not the network's business.
"""

from export.checkpoint import Checkpoint
from export.families.bart import BartTraits, describe_bart
from export.families.spec import ModelSpec

_TRAITS = BartTraits(
    family="mbart",
    norm_order="pre",
    has_embedding_norms=True,
    has_final_norms=True,
    has_head_bias=True,
    position_kind="learned",
    first_position=2,
    zero_at_pad=False,
    bans_pad=False,
    scales_embeddings=False,
    starts_from_language=True,
    switches={"normalize_before": (True, None), "normalize_embedding": (True, None)},
    flags={"head": "tie_word_embeddings"},
)


def describe_mbart(checkpoint: Checkpoint) -> ModelSpec:
    """The network of an mBART checkpoint. Raises ExportError with every reason why it cannot be one."""
    return describe_bart(checkpoint, _TRAITS)
