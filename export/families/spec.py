"""What an encoder-decoder translation network is, as data: the only thing graph and reference code look at.

A family fills a `ModelSpec` from a checkpoint; nothing that draws or computes a network asks for a family's name.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Literal

Activation = Literal["relu", "swish", "gelu", "gelu_tanh", "quick_gelu"]
NormOrder = Literal["post", "pre"]
PositionKind = Literal["sinusoid_halves"]


@dataclass(frozen=True, slots=True)
class LinearKeys:
    """Tensor names of y = x W^T + b, with W stored [out, in]."""

    weight: str
    bias: str | None


@dataclass(frozen=True, slots=True)
class NormKeys:
    """Tensor names of a layer norm's gain and shift."""

    weight: str
    bias: str


@dataclass(frozen=True, slots=True)
class AttentionKeys:
    """Tensor names of one attention block."""

    query: LinearKeys
    key: LinearKeys
    value: LinearKeys
    output: LinearKeys


@dataclass(frozen=True, slots=True)
class FeedForwardKeys:
    """Tensor names of outer(activation(inner(x)))."""

    inner: LinearKeys
    outer: LinearKeys


@dataclass(frozen=True, slots=True)
class EncoderLayerKeys:
    """Tensor names of one encoder layer."""

    attention: AttentionKeys
    attention_norm: NormKeys
    feed_forward: FeedForwardKeys
    feed_forward_norm: NormKeys

    @property
    def norms(self) -> tuple[NormKeys, ...]:
        """Norms in the order of their sub-layers."""
        return (self.attention_norm, self.feed_forward_norm)


@dataclass(frozen=True, slots=True)
class DecoderLayerKeys:
    """Tensor names of one decoder layer."""

    attention: AttentionKeys
    attention_norm: NormKeys
    cross_attention: AttentionKeys
    cross_attention_norm: NormKeys
    feed_forward: FeedForwardKeys
    feed_forward_norm: NormKeys

    @property
    def norms(self) -> tuple[NormKeys, ...]:
        """Norms in the order of their sub-layers."""
        return (self.attention_norm, self.cross_attention_norm, self.feed_forward_norm)


@dataclass(frozen=True, slots=True)
class NetworkKeys:
    """Tensor names of a whole network; None where the architecture has no such part.

    source_table, target_table: token embeddings [V, E]. head_table [V, E] may be the same tensor as either.
    head_bias: [V] or [1, V].
    """

    source_table: str
    target_table: str
    head_table: str
    head_bias: str | None
    encoder: tuple[EncoderLayerKeys, ...]
    decoder: tuple[DecoderLayerKeys, ...]
    source_embedding_norm: NormKeys | None = None
    target_embedding_norm: NormKeys | None = None
    encoder_final_norm: NormKeys | None = None
    decoder_final_norm: NormKeys | None = None

    def names(self) -> Iterator[str]:
        """Every tensor name, tables first; tied tables occur as often as they are named."""
        yield from _names_in(self)


@dataclass(frozen=True, slots=True)
class PositionSpec:
    """Absolute positions added to the embeddings.

    kind: how row p of the table is made. `sinusoid_halves`: sin(p / 10000^(2i/E)) in the first half of the columns
        (one more of them when E is odd), cos of the same angles in the second (Marian).
    first: table row of position 0.
    count: positions there are; a hard limit on the length of either side.
    """

    kind: PositionKind
    first: int
    count: int


@dataclass(frozen=True, slots=True)
class SpecialIds:
    """Token ids with a role in decoding."""

    decoder_start: int
    eos: int
    pad: int


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A network and the facts about it that decoding needs.

    norm_order: "post" normalises the sum of a sub-layer's input and output; "pre" normalises the input only.
    head_width: width of one attention head as trained, D before padding.
    attention_scale: factor on query-key products.
    embedding_scale: factor on looked-up embeddings.
    alignment_layer: decoder layer whose cross-attention queries are an output.
    banned_ids: target ids that can never be produced.
    decisions: what the file decided where configuration and file could disagree, for the report.
    """

    family: str
    model_width: int
    num_heads: int
    head_width: int
    norm_order: NormOrder
    norm_epsilon: float
    activation: Activation
    embedding_scale: float
    attention_scale: float
    positions: PositionSpec
    source_vocabulary_size: int
    target_vocabulary_size: int
    special_ids: SpecialIds
    banned_ids: tuple[int, ...]
    alignment_layer: int
    keys: NetworkKeys
    decisions: tuple[str, ...] = ()

    @property
    def cache_head_width(self) -> int:
        """Head width in the graphs: the next multiple of 8, as the cached attention kernel wants it."""
        return -(-self.head_width // 8) * 8


def _names_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _names_in(item)
    elif is_dataclass(value):
        for field in fields(value):
            yield from _names_in(getattr(value, field.name))
