"""The bodies of requests and answers, as they are documented in the OpenAPI document.

Numbers and booleans are strict: `false` is no number and `"3"` is no number either. Unknown fields are refused. Sizes
that are settings are checked in `limits`, contradictions between decoding options where they are resolved.
"""

from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag
from pydantic.config import JsonDict
from pydantic_core import PydanticCustomError

from service.search.options import MAX_BEAM_SIZE, MAX_TOP_K

MAX_ALTERNATIVES = 8
MAX_PROTECTED = 100
MAX_PROTECTED_CHARACTERS = 200
Include = Literal["segments", "scores", "tokens", "alignments", "timings", "usage"]
INCLUDES: tuple[str, ...] = get_args(Include)

_TEXT = "a text in the source language"
_EXAMPLE: JsonDict = {"q": "The house is small.", "source": "en", "target": "de"}


class RequestModel(BaseModel):
    """Strict, closed and without infinities."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False, frozen=True)


def _kind_of_texts(value: object) -> str | None:
    if isinstance(value, str):
        return "one"
    return "many" if isinstance(value, list) else None


def _refuse_surrogates(value: str) -> str:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise PydanticCustomError("lone_surrogate", "must not hold a lone surrogate") from None
    return value


def _refuse_blank(value: str) -> str:
    if not value.strip():
        raise PydanticCustomError("blank_text", "must not be blank")
    return value


Text = Annotated[str, AfterValidator(_refuse_surrogates)]
Texts = Annotated[
    Annotated[Text, Tag("one")] | Annotated[list[Text], Field(min_length=1, fail_fast=True), Tag("many")],
    Discriminator(
        _kind_of_texts,
        custom_error_type="text_or_texts",
        custom_error_message="must be a string or a list of strings",
    ),
]
Protected = Annotated[
    str, Field(max_length=MAX_PROTECTED_CHARACTERS), AfterValidator(_refuse_surrogates), AfterValidator(_refuse_blank)
]
LanguageCode = Annotated[str, Field(min_length=1, max_length=35, pattern=r"^[A-Za-z0-9_-]+$")]


class DecodingBody(RequestModel):
    """How to search for the translation; what is left out is as the model package says."""

    beam_size: int | None = Field(None, ge=1, le=MAX_BEAM_SIZE, description="Hypotheses kept alive; 1 is greedy.")
    num_hypotheses: int | None = Field(
        None, ge=1, le=MAX_BEAM_SIZE, description="Results per segment, best first; at most `beam_size`."
    )
    length_penalty: float | None = Field(
        None, ge=-2, le=5, description="Exponent p in score = sum of log-probabilities / length^p."
    )
    early_stopping: bool | Literal["never"] | None = Field(
        None,
        description="true: stop at `beam_size` finished hypotheses. false: stop when no live one can win by its "
        'present score. "never": stop when none can win at all.',
    )
    min_new_tokens: int | None = Field(None, ge=0, le=100_000, description="No end before so many tokens.")
    max_new_tokens: int | None = Field(
        None, ge=1, le=100_000, description="Tokens per segment at most, the end token included."
    )
    max_length_ratio: float | None = Field(
        None, ge=0, le=1_000, description="Tokens per segment at most, for each token of its source; 0 is off."
    )
    stop_loops: bool | None = Field(
        None, description="End a segment that repeats itself more than its source does, and try it again without."
    )
    repetition_penalty: float | None = Field(
        None, ge=0.01, le=100, description="Above 1 makes tokens already produced less likely."
    )
    no_repeat_ngram_size: int | None = Field(
        None, ge=0, le=100, description="N-grams of this size never occur twice; 0 is off."
    )
    sampling: bool | None = Field(None, description="Draw tokens instead of taking the best; needs a beam size of 1.")
    temperature: float | None = Field(None, ge=0.01, le=100, description="Flattens (above 1) or sharpens the draw.")
    top_k: int | None = Field(None, ge=1, le=MAX_TOP_K, description="Draw among so many most likely tokens.")
    top_p: float | None = Field(None, ge=0.0001, le=1, description="Draw among the fewest tokens of this probability.")
    seed: int | None = Field(
        None, ge=0, le=2**63 - 1, description="Start of the random stream; same seed, same translation."
    )


# What nobody wrote is one and the same value, whose meaning is then looked up and not worked out.
_AS_THE_MODEL_SAYS = DecodingBody()


class TranslateBody(RequestModel):
    """One text or several to translate, and how."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                _EXAMPLE,
                {
                    "q": ["Good morning.", "See you tomorrow."],
                    "source": "en",
                    "target": "de",
                    "alternatives": 2,
                    "decoding": {"beam_size": 4, "length_penalty": 0.6},
                    "include": ["scores", "timings"],
                },
            ]
        }
    )

    q: Texts = Field(description=f"A string, {_TEXT}, or a list of them. The answer has the same shape and order.")
    source: LanguageCode = Field(
        description="Language of the texts, as GET /languages lists it or by any usual code for it: "
        "`de`, `deu`, `DE`, `de-AT`, `deu_Latn`."
    )
    target: LanguageCode = Field(
        description="Language to translate into, likewise; `zh-Hant` or `pt-BR` for a variant."
    )
    format: Literal["text", "html"] = Field(
        "text",
        description="What the texts are. In `text` nothing is markup: tags and entities are ordinary characters. "
        'In `html` tags, attributes, comments, scripts and entities stay as they are; what `translate="no"` or the '
        "class `notranslate` marks is not translated.",
    )
    split_sentences: Literal["on", "off", "nonewlines"] = Field(
        "on",
        description="`on`: lines are cut into sentences. `nonewlines`: wrapped lines are joined first, and cut then. "
        "`off`: a paragraph is translated as it is. In `html` line breaks are white space anyway.",
    )
    protect: Annotated[list[Protected], Field(max_length=MAX_PROTECTED, fail_fast=True)] = Field(
        default_factory=list,
        description="What must not be translated, wherever a text says exactly that: names of products, people, firms.",
    )
    alternatives: int = Field(
        0, ge=0, le=MAX_ALTERNATIVES, description="Further translations wanted of each text; fewer may exist."
    )
    decoding: DecodingBody = Field(default_factory=lambda: _AS_THE_MODEL_SAYS, description="Options of the search.")
    include: Annotated[list[Include], Field(max_length=len(INCLUDES), fail_fast=True)] = Field(
        default_factory=list,
        description="What else to answer. `segments`: the sentences behind each text. `scores`, `tokens` and "
        "`alignments` add to the segments and imply them. `timings`: seconds by stage. `usage`: model and tokens.",
    )
    timeout_seconds: float | None = Field(
        None, ge=0.1, le=86_400, description="Answer 504 when it takes longer; the service has a maximum of its own."
    )


class AnswerModel(BaseModel):
    """A value we write; numbers that JSON cannot hold become null."""

    model_config = ConfigDict(frozen=True, ser_json_inf_nan="null")


class SpanAnswer(AnswerModel):
    """Where a segment is in its text, in Unicode code points, end excluded."""

    start: int
    end: int


class TokensAnswer(AnswerModel):
    """Tokens of a segment: model ids, their pieces, and natural log-probabilities (target only)."""

    ids: list[int]
    pieces: list[str]
    log_probs: list[float | None] | None = None


class WordLinkAnswer(AnswerModel):
    """Words that belong together: characters of the segment's source, and of the hypothesis' text."""

    source: SpanAnswer
    target: SpanAnswer
    weight: float = Field(description="How sure the model is, above 0 and at most 1.")


class HypothesisAnswer(AnswerModel):
    """One translation of a segment."""

    text: str
    stop_reason: str = Field(description="Why it ended: at the end token, at a length limit, or in a loop.")
    score: float | None = Field(None, description="Sum of log-probabilities / length^length_penalty.")
    tokens: TokensAnswer | None = None
    alignment: list[list[float | None]] | None = Field(
        None, description="alignment[t][s]: how much target token t attends to source token s."
    )
    words: list[WordLinkAnswer] | None = Field(None, description="Which words these weights link.")


class SegmentAnswer(AnswerModel):
    """A sentence of a text with its translations, best first."""

    source: str
    span: SpanAnswer
    source_tokens: TokensAnswer | None = None
    hypotheses: list[HypothesisAnswer]
    placeholders: Literal["copied", "aligned", "parts"] | None = Field(
        None,
        description="How what must not change came back: the model copied it, it was put where the alignment says, or "
        "the parts around it were translated on their own.",
    )
    retried: list[Literal["placeholders", "digits", "length", "repetition"]] | None = Field(
        None, description="Why the model was asked again, in order."
    )
    case: Literal["upper", "title"] | None = Field(
        None, description="The case that was taken off the source and put on the target."
    )


class TimingsAnswer(AnswerModel):
    """Seconds by stage; queue, encode and decode are of the slowest segment, whenever it was asked for again too."""

    preparation_seconds: float
    queue_seconds: float
    encode_seconds: float
    decode_seconds: float
    completion_seconds: float


class UsageAnswer(AnswerModel):
    """What was used for a request; languages as the model's package writes them."""

    model: str | None = Field(description="Left out where source and target are the same language.")
    source: str
    target: str
    num_source_tokens: int
    num_target_tokens: int
    num_length_stops: int = Field(description="Segments that ended at a length limit instead of an end token.")


class TranslateAnswer(AnswerModel):
    """The translations, in the shape of `q`: single values for a string, lists for a list."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"translatedText": "Das Haus ist klein."}]})

    translated_text: str | list[str] = Field(serialization_alias="translatedText")
    alternatives: list[str] | list[list[str]] | None = Field(None, description="When asked for.")
    scores: float | list[float | None] | None = Field(
        None, description="Sum of the scores of a text's segments; null when there was nothing to translate."
    )
    segments: list[SegmentAnswer] | list[list[SegmentAnswer]] | None = None
    timings: TimingsAnswer | None = None
    usage: UsageAnswer | None = None


class LanguageAnswer(AnswerModel):
    """A source language and what it can be translated into."""

    code: str
    name: str
    targets: list[str]


class StatusAnswer(AnswerModel):
    """That the service is in order."""

    status: str


class DetailAnswer(AnswerModel):
    """What is wrong with one field."""

    field: str
    problem: str


class FailureAnswer(AnswerModel):
    """What went wrong, for programs (`code`, `retryable`) and people (`message`, `details`)."""

    code: str
    message: str
    request_id: str
    retryable: bool = Field(description="Whether the same request may succeed later.")
    details: list[DetailAnswer]


class ErrorAnswer(AnswerModel):
    """The body of every answer that is not a success."""

    error: FailureAnswer


def any_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Gives the JSON schema of a model as it is written, with references into the components of an OpenAPI document."""
    mode: Literal["validation", "serialization"] = "validation" if issubclass(model, RequestModel) else "serialization"
    return model.model_json_schema(by_alias=True, mode=mode, ref_template="#/components/schemas/{model}")
