"""M2M100 and NLLB-200 checkpoints: pre-norm with final norms, fairseq's sinusoids, no bias on the head.

Positions begin behind the pad id's, and a pad token itself has none.
"""

from export.checkpoint import Checkpoint
from export.families.bart import BartTraits, describe_bart
from export.families.spec import ModelSpec

_TRAITS = BartTraits(
    family="m2m100",
    norm_order="pre",
    has_embedding_norms=False,
    has_final_norms=True,
    has_head_bias=False,
    position_kind="sinusoid_fairseq",
    first_position=None,
    zero_at_pad=True,
    bans_pad=False,
    scales_embeddings=True,
    starts_from_language=False,
    switches={"normalize_before": (True, None), "normalize_embedding": (False, None)},
    flags={"head": "tie_word_embeddings"},
)


def describe_m2m100(checkpoint: Checkpoint) -> ModelSpec:
    """The network of an M2M100 or NLLB checkpoint. Raises ExportError with every reason why it cannot be one."""
    return describe_bart(checkpoint, _TRAITS)
