"""What the use case takes and gives: a request for several documents, and a Translation of each.

Plain values without behaviour, shared by the HTTP routes and the command line.
"""

from dataclasses import dataclass, field

from service.search.hypothesis import StopReason
from service.search.options import PartialOptions
from service.text.segmentation import Span


@dataclass(frozen=True, slots=True)
class TranslationRequest:
    """Documents of one language pair that share their options.

    source, target: language codes as the caller wrote them.
    num_alternatives: further translations wanted beside the best.
    deadline_seconds: time from submission after which unfinished work is given up; None is no limit.
    with_alignments: whether segments carry their cross-attention weights.
    """

    texts: tuple[str, ...]
    source: str
    target: str
    options: PartialOptions = field(default_factory=PartialOptions)
    num_alternatives: int = 0
    deadline_seconds: float | None = None
    with_alignments: bool = False


@dataclass(frozen=True, slots=True)
class SegmentHypothesis:
    """One translation of one segment.

    score: sum of log-probabilities / length^length_penalty; token_ids and their log-probabilities end with the
    end token when stop_reason is END_TOKEN. alignment[t][s] is how much target token t attends to source token s
    (each row sums to one); empty unless asked for.
    """

    text: str
    score: float
    token_ids: tuple[int, ...]
    tokens: tuple[str, ...]
    token_log_probs: tuple[float, ...]
    stop_reason: StopReason
    alignment: tuple[tuple[float, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class SegmentTranslation:
    """A segment of the source document with its hypotheses, best first."""

    source: str
    span: Span
    source_token_ids: tuple[int, ...]
    source_tokens: tuple[str, ...]
    hypotheses: tuple[SegmentHypothesis, ...]


@dataclass(frozen=True, slots=True)
class Timings:
    """Seconds spent on one request, by stage; queue, encode and decode are of its slowest sequence."""

    preparation_seconds: float
    queue_seconds: float
    encode_seconds: float
    decode_seconds: float
    completion_seconds: float


@dataclass(frozen=True, slots=True)
class Translation:
    """The result for one document: its text, alternatives (whole documents, all different), and its segments.

    score: sum of the scores of its segments' best hypotheses; None when nothing was given to the model.
    """

    text: str
    alternatives: tuple[str, ...]
    segments: tuple[SegmentTranslation, ...]
    score: float | None


@dataclass(frozen=True, slots=True)
class TranslationResult:
    """All translations of a request, in its order, with token counts and timings for metrics."""

    translations: tuple[Translation, ...]
    model: str
    source: str
    target: str
    num_source_tokens: int
    num_target_tokens: int
    num_length_stops: int
    timings: Timings
