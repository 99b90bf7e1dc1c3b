"""What an encoder-decoder translation network is, as data: the only thing graph and reference code look at.

A family fills a `ModelSpec` from a checkpoint; nothing that draws or computes a network asks for a family's name.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Literal

Activation = Literal["relu", "swish", "gelu", "gelu_tanh", "quick_gelu"]
NormOrder = Literal["post", "pre"]
NormKind = Literal["layer", "rms"]
PositionKind = Literal["sinusoid_halves", "sinusoid_fairseq", "learned"]
Side = Literal["encoder", "decoder"]


@dataclass(frozen=True, slots=True)
class LinearKeys:
    """Tensor names of y = x W^T + b, with W stored [out, in]."""

    weight: str
    bias: str | None


@dataclass(frozen=True, slots=True)
class NormKeys:
    """Tensor names of a norm's gain and shift; an RMS norm has no shift."""

    weight: str
    bias: str | None


@dataclass(frozen=True, slots=True)
class AttentionKeys:
    """Tensor names of one attention block."""

    query: LinearKeys
    key: LinearKeys
    value: LinearKeys
    output: LinearKeys


@dataclass(frozen=True, slots=True)
class RecurrentKeys:
    """Tensor names of a recurrent unit (SSRU, Kim et al. 2019), which a decoder layer may have for self-attention.

    f = sigmoid(forget(x)); state = f * state + (1 - f) * candidate(x), from zeros; the result is output(relu(state)),
    or relu(state) where there is no output layer.
    """

    candidate: LinearKeys
    forget: LinearKeys
    output: LinearKeys | None


@dataclass(frozen=True, slots=True)
class FeedForwardKeys:
    """Tensor names of outer(activation(inner(x))); with a gate, of outer(activation(gate(x)) * inner(x))."""

    inner: LinearKeys
    outer: LinearKeys
    gate: LinearKeys | None = None


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
    """Tensor names of one decoder layer; `attention` is what looks back at the target's own tokens."""

    attention: AttentionKeys | RecurrentKeys
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
        (one more of them when E is odd), cos of the same angles in the second (Marian). `sinusoid_fairseq`: likewise
        with angles p exp(-i ln(10000) / (E // 2 - 1)), and a column of zeros at the end when E is odd (M2M100).
        `learned`: a tensor of the checkpoint for each side.
    first: table row of position 0.
    count: positions there are.
    encoder_table, decoder_table: the learned tables [first + count or more rows, E].
    zero_at_pad: whether a pad token that the decoder is given has a position of zeros.
    """

    kind: PositionKind
    first: int
    count: int
    encoder_table: str | None = None
    decoder_table: str | None = None
    zero_at_pad: bool = False


@dataclass(frozen=True, slots=True)
class RelativePositions:
    """Relative positions added to the self-attention scores of every layer (Raffel et al. 2020, section 2.1).

    encoder_table, decoder_table: tensors [num_buckets, H]. Half of the encoder's buckets are for keys after the query.
    max_distance: distance from which on all keys share the last bucket.
    """

    encoder_table: str
    decoder_table: str
    num_buckets: int
    max_distance: int


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
    norm_kind: "layer" subtracts the mean, "rms" does not (Zhang and Sennrich 2019) and has no shift.
    head_width: width of one attention head as trained, D before padding; not always model_width / num_heads.
    attention_scale: factor on query-key products.
    embedding_scale: factor on looked-up embeddings.
    head_scale: factor on the decoder's output before the head; other than 1 only after a final norm.
    positions, relative: absolute positions, relative ones, or neither.
    max_source_tokens, max_target_tokens: tokens of one sequence, special ones included.
    alignment_layer: decoder layer whose cross-attention queries are an output.
    alignment_heads: heads of that layer whose weights are averaged; all if empty.
    banned_ids: target ids that can never be produced.
    decisions: what the file decided where configuration and file could disagree, for the report.
    """

    family: str
    model_width: int
    num_heads: int
    head_width: int
    norm_order: NormOrder
    norm_kind: NormKind
    norm_epsilon: float
    activation: Activation
    embedding_scale: float
    attention_scale: float
    head_scale: float
    positions: PositionSpec | None
    relative: RelativePositions | None
    max_source_tokens: int
    max_target_tokens: int
    source_vocabulary_size: int
    target_vocabulary_size: int
    special_ids: SpecialIds
    banned_ids: tuple[int, ...]
    alignment_layer: int
    keys: NetworkKeys
    decisions: tuple[str, ...] = ()
    alignment_heads: tuple[int, ...] = ()

    @property
    def cache_head_width(self) -> int:
        """Head width in the graphs: the next multiple of 8, as the cached attention kernel wants it."""
        return -(-self.head_width // 8) * 8

    def tensor_names(self) -> Iterator[str]:
        """Every tensor that the network is made of; tied ones occur as often as they are named."""
        yield from self.keys.names()
        yield from tables_of_positions(self.positions, self.relative)


def tables_of_positions(positions: PositionSpec | None, relative: RelativePositions | None) -> Iterator[str]:
    """Tensors that positions are made of."""
    for spec in (positions, relative):
        if spec is not None:
            yield from (name for name in (spec.encoder_table, spec.decoder_table) if name is not None)


def _names_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _names_in(item)
    elif is_dataclass(value):
        for field in fields(value):
            yield from _names_in(getattr(value, field.name))
