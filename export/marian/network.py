"""The network of a Marian model: transformer with self-attention or SSRU decoder, by the names Marian gives tensors.

Options say what the network is, tensors say what it is made of; what either does not account for is refused.
"""

import re
from math import sqrt

from export.checkpoint import Checkpoint
from export.families.configuration import Findings
from export.families.spec import (
    AttentionKeys,
    DecoderLayerKeys,
    EncoderLayerKeys,
    FeedForwardKeys,
    LinearKeys,
    ModelSpec,
    NetworkKeys,
    NormKeys,
    PositionSpec,
    RecurrentKeys,
    SpecialIds,
)
from export.families.tensors import LayerSizes, check_shapes, check_tables, layer_shapes
from export.marian.decoding import read_decoding
from export.marian.opening import FAMILY
from export.marian.options import ModelOptions, read_model_options
from export.marian.tokenizers import embedding_tables, marian_files, read_marian_native, unspeakable_ids
from export.marian.weights import HEAD, HEAD_BIAS, POSITIONS
from export.tokenizer.original import PieceOriginal
from service.errors import ExportError

# What Marian adds to a variance.
_NORM_EPSILON = 1e-6
# Marian's sinusoids have no end. Long segments are cut before this; few networks have seen as many tokens.
_MOST_TOKENS = 512
_LEARNED_POSITIONS = ("transformer-train-position-embeddings", "transformer-train-positions")
# Options that say which tables are one.
_TIES = {
    "source": ("tied-embeddings-all", "tied-embeddings-src"),
    "head": ("tied-embeddings-all", "tied-embeddings"),
}
# Multipliers of activations for Marian's own integer arithmetic, and its index of the output layer.
_UNUSED = re.compile(r".*_QuantMultA|lsh_output_.*")


def describe_marian_native(checkpoint: Checkpoint) -> ModelSpec:
    """The network of a Marian model. Raises ExportError with every reason why it cannot be exported."""
    files, found = marian_files(checkpoint), Findings()
    found.decisions += files.decisions
    options = read_model_options(checkpoint.config, found)
    decoding = read_decoding(files)
    found.problems += decoding.problems
    found.decisions += decoding.decisions
    if found.problems:
        raise ExportError("the settings of the model are not supported", found.problems)
    keys = _network_keys(checkpoint, options, found)
    positions = _positions(checkpoint, found)
    _check_tensors(checkpoint, keys, positions, options, found)
    original = _original(checkpoint, found)
    if found.problems or original is None:
        raise ExportError("this is not a Marian network that can be exported", found.problems)
    roles, head_width = original.target.vocabulary.roles, options.model_width // options.num_heads
    unspeakable = unspeakable_ids(original.target, files.decoding)
    found.decisions += [f"{piece} is never written, as in Marian's decoder" for piece in unspeakable]
    return ModelSpec(
        family=FAMILY,
        model_width=options.model_width,
        num_heads=options.num_heads,
        head_width=head_width,
        norm_order="post",
        norm_kind=options.norm_kind,
        norm_epsilon=_NORM_EPSILON,
        activation=options.activation,
        embedding_scale=1.0 if positions.kind == "learned" else sqrt(options.model_width),
        attention_scale=head_width**-0.5,
        head_scale=1.0,
        positions=positions,
        relative=None,
        max_source_tokens=positions.count,
        max_target_tokens=positions.count,
        source_vocabulary_size=checkpoint.shape(keys.source_table)[0],
        target_vocabulary_size=checkpoint.shape(keys.target_table)[0],
        special_ids=SpecialIds(decoder_start=roles.pad, eos=roles.eos, pad=roles.pad),
        banned_ids=tuple(sorted({roles.pad, *unspeakable.values()})),
        alignment_layer=options.alignment_layer,
        # Marian trains guided alignment on the first head, and gives out that one's weights in any case.
        alignment_heads=(0,),
        keys=keys,
        decisions=tuple(found.decisions),
    )


def _original(checkpoint: Checkpoint, found: Findings) -> PieceOriginal | None:
    """The vocabularies. Their problems are told by those who convert them."""
    try:
        return read_marian_native(checkpoint)
    except ExportError:
        found.problems.append("the special ids are not known, because the vocabularies cannot be read")
        return None


def _positions(checkpoint: Checkpoint, found: Findings) -> PositionSpec:
    """Learned positions where the options ask for them and the file has a table of them, otherwise sinusoids."""
    wanted = any(checkpoint.config.get(name) for name in _LEARNED_POSITIONS)
    if wanted and POSITIONS in checkpoint.names:
        rows = checkpoint.shape(POSITIONS)[0]
        found.decisions.append(f"positions: {rows} learned ones, so embeddings are not scaled")
        return PositionSpec("learned", 0, rows, POSITIONS, POSITIONS)
    remark = f" (the options ask for learned ones, but the file has no {POSITIONS})" if wanted else ""
    found.decisions.append(f"positions: sinusoids{remark}, {_MOST_TOKENS} of them; Marian sets no limit")
    return PositionSpec("sinusoid_fairseq", 0, _MOST_TOKENS)


def _network_keys(checkpoint: Checkpoint, options: ModelOptions, found: Findings) -> NetworkKeys:
    names = _Names(checkpoint.names, options)
    source, target = embedding_tables(checkpoint.names)
    head = next((name for name in (f"{HEAD}_Wt", f"{HEAD}_W") if name in checkpoint.names), target)
    for role, table in (("source", source), ("head", head)):
        said = ", ".join(f"{name} = {checkpoint.config.get(name)}" for name in _TIES[role])
        found.decisions.append(f"{role} and target table: {'one' if table == target else 'two'} in the file ({said})")
    has_norms = options.has_embedding_norms
    return NetworkKeys(
        source,
        target,
        head,
        head_bias=HEAD_BIAS,
        encoder=tuple(names.encoder_layer(number) for number in range(1, options.encoder_depth + 1)),
        decoder=tuple(names.decoder_layer(number) for number in options.decoder_layers),
        source_embedding_norm=names.norm("encoder_emb", "_pre") if has_norms else None,
        target_embedding_norm=names.norm("decoder_emb", "_pre") if has_norms else None,
    )


class _Names:
    """Tensor names of the parts of a network. A bias is named unless the options say so and the file has none."""

    def __init__(self, present: frozenset[str], options: ModelOptions) -> None:
        self._present = present
        self._options = options

    def encoder_layer(self, number: int) -> EncoderLayerKeys:
        """Names of an encoder layer; the first has number 1."""
        prefix = f"encoder_l{number}"
        return EncoderLayerKeys(
            attention=self._attention(f"{prefix}_self"),
            attention_norm=self.norm(f"{prefix}_self_Wo"),
            feed_forward=self._feed_forward(f"{prefix}_ffn"),
            feed_forward_norm=self.norm(f"{prefix}_ffn_ffn"),
        )

    def decoder_layer(self, number: int) -> DecoderLayerKeys:
        """Names of a decoder layer; the first has number 1."""
        prefix = f"decoder_l{number}"
        is_recurrent = self._options.is_recurrent
        return DecoderLayerKeys(
            attention=self._recurrence(f"{prefix}_rnn") if is_recurrent else self._attention(f"{prefix}_self"),
            attention_norm=self.norm(f"{prefix}_rnn_ffn" if is_recurrent else f"{prefix}_self_Wo"),
            cross_attention=self._attention(f"{prefix}_context"),
            cross_attention_norm=self.norm(f"{prefix}_context_Wo"),
            feed_forward=self._feed_forward(f"{prefix}_ffn"),
            feed_forward_norm=self.norm(f"{prefix}_ffn_ffn"),
        )

    def _attention(self, prefix: str) -> AttentionKeys:
        query, key, value = (self._linear(prefix, part) for part in "qkv")
        output = self._linear(prefix, "o", may_lack_bias=not self._options.has_projections)
        return AttentionKeys(query, key, value, output)

    def _recurrence(self, prefix: str) -> RecurrentKeys:
        """An SSRU; it has a projection of its output where the file has one (`transformer-rnn-projection`)."""
        output = self._linear(prefix, "o") if f"{prefix}_Wo" in self._present else None
        return RecurrentKeys(LinearKeys(f"{prefix}_W", None), self._linear(prefix, "f"), output)

    def _feed_forward(self, prefix: str) -> FeedForwardKeys:
        return FeedForwardKeys(self._linear(prefix, "1"), self._linear(prefix, "2"))

    def _linear(self, prefix: str, part: str, *, may_lack_bias: bool = False) -> LinearKeys:
        bias = f"{prefix}_b{part}"
        lacks_bias = bias not in self._present and (may_lack_bias or not self._options.has_biases)
        return LinearKeys(f"{prefix}_W{part}", None if lacks_bias else bias)

    def norm(self, prefix: str, suffix: str = "") -> NormKeys:
        """Names of a norm."""
        if self._options.norm_kind == "rms":
            return NormKeys(f"{prefix}_rms_scale{suffix}", None)
        return NormKeys(f"{prefix}_ln_scale{suffix}", f"{prefix}_ln_bias{suffix}")


def _check_tensors(
    checkpoint: Checkpoint, keys: NetworkKeys, positions: PositionSpec, options: ModelOptions, found: Findings
) -> None:
    width, heads = options.model_width, options.num_heads
    sizes = LayerSizes(width, heads, width // heads, options.encoder_inner, options.decoder_inner)
    check_shapes(checkpoint, layer_shapes(keys, sizes), found)
    tables = (keys.source_table, keys.target_table, keys.head_table)
    missing = [name for name in dict.fromkeys(tables) if name not in checkpoint.names]
    found.problems += [f"tensor {name} is missing" for name in missing]
    check_tables(checkpoint, keys, width, found)
    _check_vocabulary_sizes(checkpoint, keys, found)
    learned = {positions.encoder_table} if positions.encoder_table else set()
    if learned and checkpoint.shape(POSITIONS)[1:] != (width,):
        found.problems.append(f"tensor {POSITIONS} has shape {list(checkpoint.shape(POSITIONS))}, not [n, {width}]")
    if not learned and (width % 2 or width < 4):
        found.problems.append(f"dim-emb {width} is not an even number of at least 4, which sinusoids need")
    unused = sorted(name for name in checkpoint.names - set(keys.names()) - learned if not _UNUSED.fullmatch(name))
    found.problems += [f"tensor {name} belongs to no part of the network" for name in unused]


def _check_vocabulary_sizes(checkpoint: Checkpoint, keys: NetworkKeys, found: Findings) -> None:
    """Adds tables whose rows are not what dim-vocabs says; it may say nothing, or 0 for all there are."""
    said = checkpoint.config.get("dim-vocabs") or []
    for table, size in zip((keys.source_table, keys.target_table), said, strict=False):
        rows = checkpoint.shape(table)[0] - 1 if table in checkpoint.names else size
        if size and rows != size:
            found.problems.append(f"tensor {table} has {rows} rows, and dim-vocabs is {said}")
