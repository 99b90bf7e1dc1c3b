"""What the use case takes and gives: a request for several documents, and a Translation of each.

Plain values without behaviour, shared by the HTTP routes and the command line.
"""

from dataclasses import dataclass, field
from typing import Literal

from service.search.hypothesis import StopReason
from service.search.options import PartialOptions
from service.text.alignment import Link
from service.text.document import Document, Span
from service.text.segmentation import SplitSentences

Format = Literal["text", "html", "xml"]
PlaceholderWay = Literal["copied", "aligned", "parts"]
CaseName = Literal["upper", "title"]
RetryReason = Literal["placeholders", "digits", "length", "repetition"]


@dataclass(frozen=True, slots=True)
class Details:
    """What is wanted beside the texts; the rest is not even computed.

    segments: the segments with their hypotheses. tokens: their pieces, for display. alignments: attention weights, and
    the words they link. The last two imply the first.
    """

    segments: bool = False
    tokens: bool = False
    alignments: bool = False

    @property
    def any(self) -> bool:
        """Whether segments are wanted at all."""
        return self.segments or self.tokens or self.alignments


@dataclass(frozen=True, slots=True)
class TranslationRequest:
    """Documents of one language pair that share their options.

    texts: texts in `format`, or documents that were taken apart already.
    source, target: language codes as the caller wrote them.
    num_alternatives: further translations wanted beside the best.
    deadline_seconds: time from submission after which unfinished work is given up; None is no limit.
    protect: what must not be translated, wherever a text says it.
    """

    texts: tuple[str | Document, ...]
    source: str
    target: str
    options: PartialOptions = field(default_factory=PartialOptions)
    num_alternatives: int = 0
    deadline_seconds: float | None = None
    format: Format = "text"
    split_sentences: SplitSentences = "on"
    protect: tuple[str, ...] = ()
    details: Details = field(default_factory=Details)


@dataclass(frozen=True, slots=True)
class SegmentHypothesis:
    """One translation of one segment.

    text: as it stands in the document.
    score: sum of log-probabilities / length^length_penalty; token_ids and their log-probabilities end with the
    end token when stop_reason is END_TOKEN. tokens: their pieces, when asked for. alignment[t][s] is how much target
    token t attends to source token s (each row sums to one), and words are the words it links, by characters of the
    segment's source and of the text; both empty unless asked for.

    Where a segment was translated in parts, tokens and weights of the parts stand behind one another and the score is
    the sum of theirs.
    """

    text: str
    score: float
    token_ids: tuple[int, ...]
    tokens: tuple[str, ...]
    token_log_probs: tuple[float, ...]
    stop_reason: StopReason
    alignment: tuple[tuple[float, ...], ...] = ()
    words: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True)
class Treatment:
    """How a segment was translated, where it was not simply given to the model.

    placeholders: how they came back: the model copied them, they were put where the alignment says, or the parts
    around them were translated on their own; None if there are none. retried: why the model was asked again, in order.
    case: the pattern that was taken off the source and put on the target.
    """

    placeholders: PlaceholderWay | None = None
    retried: tuple[RetryReason, ...] = ()
    case: CaseName | None = None


@dataclass(frozen=True, slots=True)
class SegmentTranslation:
    """A segment of the source document with its hypotheses, best first.

    source: as it stands in the document. source_tokens: the pieces behind the ids, when asked for.
    """

    source: str
    span: Span
    source_token_ids: tuple[int, ...]
    source_tokens: tuple[str, ...]
    hypotheses: tuple[SegmentHypothesis, ...]
    treatment: Treatment = field(default_factory=Treatment)


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

    segments: empty unless asked for.
    score: sum of the scores of its segments' best hypotheses; None when nothing was given to the model.
    """

    text: str
    alternatives: tuple[str, ...]
    segments: tuple[SegmentTranslation, ...]
    score: float | None


@dataclass(frozen=True, slots=True)
class TranslationResult:
    """All translations of a request, in its order, with counts and timings for metrics.

    model: None where source and target are the same language and texts came back as they were. Tokens are of what the
    translations are made of, tries that were thrown away not counted. placeholders, retries: how many segments were
    treated in each way.
    """

    translations: tuple[Translation, ...]
    model: str | None
    source: str
    target: str
    num_source_tokens: int
    num_target_tokens: int
    num_length_stops: int
    timings: Timings
    placeholders: dict[PlaceholderWay, int] = field(default_factory=dict)
    retries: dict[RetryReason, int] = field(default_factory=dict)
