"""What the options inside a model file say about its network, and which of them cannot be honoured.

An option this file does not know is ignored where it is off and refused where it is on.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from export.families.configuration import Findings
from export.families.spec import Activation, NormKind
from export.marian.opening import ORIGIN

_OFF: tuple[Any, ...] = (None, False, 0, "", [], {})
_LAST_SIGMOID_GELU = (1, 12, 0)

# Options that must have one of these values; an option that is not there has the first.
_FIXED: Mapping[str, tuple[Any, ...]] = {
    "type": ("transformer",),
    "transformer-ffn-depth": (2,),
    "transformer-decoder-ffn-depth": (0, 2),
    "transformer-attention-mask": ("default",),
    "transformer-pool": (False,),
    "transformer-disable-position-embeddings": (False,),
    "transformer-no-affine": (False,),
    "lemma-dim-emb": (0,),
    "lemma-dependency": ("",),
    "factors-dim-emb": (0,),
    "right-left": (False,),
    "ulr": (False,),
}
# Options that say nothing about the network of a transformer, or that are read below, or that tensors answer.
_ELSEWHERE = re.compile(
    r"bert-.*|enc-.*|dec-.*|dim-.*|factors-combine|input-types|layer-normalization|max-length|original-type"
    r"|model_type|output-omit-bias|separator-symbol|skip|tied-embeddings.*|ulr-.*|version"
    r"|transformer-(aan|alibi|dim)-.*|transformer-(pre|post)process.*|transformer-(decoder-)?(autoreg|dim-ffn)"
    r"|transformer-(depth-scaling|ffn-activation|guided-alignment-layer|heads|no-bias|no-projection|rnn-projection)"
    r"|transformer-(tied-layers|train-position-embeddings|train-positions)"
)


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """The network that the options describe.

    decoder_layers: number of the layer (from 1) whose tensors each decoder layer uses; tied layers repeat one.
    encoder_inner, decoder_inner: widths inside the feed-forward blocks.
    is_recurrent: decoder layers have an SSRU instead of self-attention.
    has_embedding_norms: norms after the embeddings.
    has_projections, has_biases: whether attention projects its result, whether linear layers have biases; a bias that
        the file has all the same is used.
    alignment_layer: decoder layer, from 0, that guided alignment was trained on or would be.
    """

    model_width: int
    num_heads: int
    encoder_depth: int
    decoder_layers: tuple[int, ...]
    encoder_inner: int
    decoder_inner: int
    activation: Activation
    is_recurrent: bool
    norm_kind: NormKind
    has_embedding_norms: bool
    has_projections: bool
    has_biases: bool
    alignment_layer: int


def read_model_options(options: Mapping[str, Any], found: Findings) -> ModelOptions:
    """Reads the options; what comes back must not be used where there are problems."""
    reader = _Reader(options, found)
    reader.refuse()
    width, heads = reader.count("dim-emb"), reader.count("transformer-heads")
    if width % heads:
        found.problems.append(f"{ORIGIN}: transformer-heads {heads} do not divide dim-emb {width}")
    inner = reader.count("transformer-dim-ffn")
    layers = reader.decoder_layers()
    is_recurrent, norm_kind = reader.is_recurrent(), reader.norm_kind()
    return ModelOptions(
        model_width=width,
        num_heads=heads,
        encoder_depth=reader.count("enc-depth"),
        decoder_layers=layers,
        encoder_inner=inner,
        decoder_inner=reader.count("transformer-decoder-dim-ffn", otherwise=inner),
        activation=reader.activation(),
        is_recurrent=is_recurrent,
        norm_kind=norm_kind,
        has_embedding_norms=reader.has_embedding_norms(norm_kind),
        has_projections=not options.get("transformer-no-projection"),
        has_biases=not options.get("transformer-no-bias"),
        alignment_layer=reader.alignment_layer(len(layers)),
    )


class _Reader:
    def __init__(self, options: Mapping[str, Any], found: Findings) -> None:
        self._options = options
        self._found = found

    def refuse(self) -> None:
        """Notes every option that makes the network one that is not supported."""
        for name, allowed in _FIXED.items():
            value = self._options.get(name, allowed[0])
            if value not in allowed:
                self._refuse(name, value)
        kinds = self._options.get("input-types") or []
        if any(kind != "sequence" for kind in kinds):
            self._refuse("input-types", kinds)
        for name, value in self._options.items():
            if name not in _FIXED and not _ELSEWHERE.fullmatch(name) and value not in _OFF:
                self._found.problems.append(f"{ORIGIN}: the option {name} = {value!r} is not known")

    def count(self, name: str, otherwise: int = 0) -> int:
        """A whole number of at least 1; 0 or none is `otherwise`, if that is one."""
        value = self._options.get(name) or otherwise
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            self._found.problems.append(f"{ORIGIN}: {name} must be a whole number of at least 1, not {value!r}")
            return 1
        return value

    def decoder_layers(self) -> tuple[int, ...]:
        """Whose tensors each decoder layer uses."""
        depth, tied = self.count("dec-depth"), self._options.get("transformer-tied-layers") or []
        if not tied:
            return tuple(range(1, depth + 1))
        if len(tied) != depth or not all(isinstance(number, int) and 1 <= number <= depth for number in tied):
            self._found.problems.append(f"{ORIGIN}: transformer-tied-layers {tied} does not fit dec-depth {depth}")
        self._found.decisions.append(f"decoder layers share tensors: {tied}")
        return tuple(tied)

    def is_recurrent(self) -> bool:
        """Whether decoder layers have an SSRU; any other kind but self-attention is refused."""
        kind = self._options.get("transformer-decoder-autoreg", "self-attention")
        if kind not in ("self-attention", "rnn"):
            self._refuse("transformer-decoder-autoreg", kind)
        if kind != "rnn":
            return False
        if self._options.get("dec-cell") != "ssru":
            self._refuse("dec-cell", self._options.get("dec-cell"))
        if self._options.get("layer-normalization"):
            self._refuse("layer-normalization", "true")
        return True

    def activation(self) -> Activation:
        """The activation between feed-forward layers; which gelu is meant depends on the version that trained it."""
        name = self._options.get("transformer-ffn-activation", "swish")
        if name == "relu":
            return "relu"
        if name == "gelu":
            return self._gelu()
        if name != "swish":
            self._refuse("transformer-ffn-activation", name)
        return "swish"

    def norm_kind(self) -> NormKind:
        """The kind of norm after each sub-layer. Dropout (d) does nothing in translation."""
        before, after = self._steps("transformer-preprocess"), self._steps("transformer-postprocess", "dan")
        top = self._steps("transformer-postprocess-top")
        if before:
            self._found.problems.append(
                f"{ORIGIN}: transformer-preprocess {before!r} is not supported: versions of Marian do not agree on "
                "what a norm before self-attention normalises"
            )
        if after not in ("an", "ar"):
            self._refuse("transformer-postprocess", after)
        if top:
            self._refuse("transformer-postprocess-top", top)
        return "rms" if after == "ar" else "layer"

    def has_embedding_norms(self, kind: NormKind) -> bool:
        """Whether embeddings are normalised, which is only possible with norms of the same kind as elsewhere."""
        steps = self._steps("transformer-postprocess-emb")
        if steps not in ("", "r" if kind == "rms" else "n"):
            self._refuse("transformer-postprocess-emb", steps)
        return steps != ""

    def alignment_layer(self, depth: int) -> int:
        """The decoder layer whose cross-attention aligns."""
        value = self._options.get("transformer-guided-alignment-layer", "last")
        if value == "last":
            return depth - 1
        number = int(value) if str(value).isdecimal() else 0
        if not 1 <= number <= depth:
            self._found.problems.append(f"{ORIGIN}: transformer-guided-alignment-layer {value!r} is no decoder layer")
            return depth - 1
        return number - 1

    def _gelu(self) -> Activation:
        version = str(self._options.get("version", ""))
        numbers = re.match(r"v?(\d+)\.(\d+)\.(\d+)", version)
        exact = numbers is not None and tuple(map(int, numbers.groups())) > _LAST_SIGMOID_GELU
        formula = "the exact one" if exact else "x sigmoid(1.702 x)"
        self._found.decisions.append(f"gelu is {formula}, as in Marian's version {version or 'before any was written'}")
        return "gelu" if exact else "quick_gelu"

    def _steps(self, name: str, otherwise: str = "") -> str:
        return str(self._options.get(name, otherwise) or "").replace("d", "")

    def _refuse(self, name: str, value: object) -> None:
        self._found.problems.append(f"{ORIGIN}: {name} = {value!r} is not supported")
