"""Marian (OPUS-MT) checkpoints: post-norm, generated sinusoids, a bias on the head, decoding that starts from pad.

Pad is banned before the softmax: it would take probability, and no Marian network was trained to produce it.
"""

from export.checkpoint import Checkpoint
from export.families.bart import BartTraits, describe_bart
from export.families.spec import ModelSpec

_TRAITS = BartTraits(
    family="marian",
    norm_order="post",
    has_embedding_norms=False,
    has_final_norms=False,
    has_head_bias=True,
    position_kind="sinusoid_halves",
    first_position=0,
    zero_at_pad=False,
    bans_pad=True,
    scales_embeddings=False,
    starts_from_language=False,
    switches={"normalize_before": (False, None), "normalize_embedding": (False, None)},
    flags={"source": "share_encoder_decoder_embeddings", "head": "tie_word_embeddings"},
)


def describe_marian(checkpoint: Checkpoint) -> ModelSpec:
    """The network of a Marian checkpoint. Raises ExportError with every reason why it cannot be one."""
    return describe_bart(checkpoint, _TRAITS)
