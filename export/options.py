"""What a caller of the exporter may choose."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from export.graph.quantized_linear import WeightBits
from export.graphs import PRECISIONS, Precision
from export.verify.agreement import AgreementLimits
from service.errors import ExportError

# 16-bit graphs are for other processors than most exports are made for; they are written when asked for.
_USUAL: tuple[Precision, ...] = ("fp32", "int8")
_PREFERRED: tuple[Precision, ...] = ("int8", "fp32", "fp16")


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """What to export, and how.

    output: folder of the package; must not exist unless `replace_output`.
    name: the model's name in the API; empty takes the output folder's name.
    sources, targets: language codes; empty to read them off the checkpoint.
    precisions: graphs to write. fp32 is what others are calibrated on and compared with; without it int8 scales every
        row, and they are compared with a plain computation of the network on a few sentences.
    default_precision: what the service runs unless told otherwise; None takes int8 where it is exported.
    text_prefixes: target code to the words in front of a source that ask for it, where the checkpoint does not say.
    sample: sentences of the source language to calibrate int8 activations on; empty takes built-in ones if that
        language is English, and otherwise leaves every row its own scale.
    weight_bits: bits of int8 weights; 7 is faster on most processors, 8 is closer to float32.
    licence, attribution: of the weights; empty to take what the checkpoint says.
    limits: agreement with float32 that rounded precisions must reach.
    """

    checkpoint: Path
    output: Path
    name: str = ""
    sources: Sequence[str] = ()
    targets: Sequence[str] = ()
    text_prefixes: Mapping[str, str] = field(default_factory=dict)
    precisions: Sequence[Precision] = _USUAL
    default_precision: Precision | None = None
    sample: Sequence[str] = ()
    weight_bits: WeightBits = 7
    licence: str = ""
    attribution: str = ""
    limits: AgreementLimits = field(default_factory=AgreementLimits)
    replace_output: bool = False

    def __post_init__(self) -> None:
        """Raises ExportError with everything that contradicts itself."""
        problems = []
        if unknown := sorted(set(self.precisions) - set(PRECISIONS)):
            problems.append(f"unknown precisions: {', '.join(unknown)} (known: {', '.join(PRECISIONS)})")
        if not self.precisions:
            problems.append("no precision is to be written")
        if self.default_precision not in (None, *self.precisions):
            problems.append(f"the default precision {self.default_precision} is not among the precisions")
        if self.weight_bits not in (7, 8):
            problems.append(f"weight_bits is 7 or 8, not {self.weight_bits}")
        if problems:
            raise ExportError("the export options are not valid", problems)

    @property
    def chosen_precision(self) -> Precision:
        """The default precision, settled."""
        if self.default_precision is not None:
            return self.default_precision
        return next(precision for precision in _PREFERRED if precision in self.precisions)
