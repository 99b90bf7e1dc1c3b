"""Expected failures of the service, as one tree.

Each class has a stable `code` (part of the API), says whether the same request may succeed later
(`retryable`), and carries a public message that never contains text of the request. HTTP status codes
are decided in `api/problems.py` only.

    VersoError
    ├── CallerError      the caller can fix it: options, languages, sizes
    ├── MomentError      the moment is wrong: queue full, deadline, cancelled, not ready, decoding lost, shutting down
    ├── OperatorError    whoever runs the service can fix it: package, settings, engine
    └── InvalidDocumentError   a file given to the command line; never an answer over HTTP
"""

from collections.abc import Iterator, Sequence
from typing import ClassVar


class VersoError(Exception):
    """Root of all expected failures; `problems` lists every reason when there are several."""

    code: ClassVar[str] = "error"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, problems: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.problems = tuple(problems)


class CallerError(VersoError):
    """The request cannot succeed as it is."""

    code = "bad_request"


class MalformedBodyError(CallerError):
    """The body is not JSON in UTF-8."""

    code = "malformed_body"


class UnsupportedMediaTypeError(CallerError):
    """The body is of another kind than JSON, compressed, or in another encoding than UTF-8."""

    code = "unsupported_media_type"


class SlowBodyError(CallerError):
    """The body did not arrive within its time."""

    code = "slow_body"
    retryable = True


class InvalidRequestError(CallerError):
    """A field is missing, unknown, of the wrong type or out of range."""

    code = "invalid_request"


class InvalidOptionError(CallerError):
    """Decoding options are out of range or contradict each other."""

    code = "invalid_option"


class UnsupportedPairError(CallerError):
    """No loaded model translates between the two languages."""

    code = "unsupported_language_pair"


class TooLargeError(CallerError):
    """The body, a text or the number of texts is over a configured limit."""

    code = "too_large"


class UntranslatableError(CallerError):
    """A text has a stretch that no model input can hold and that must not be cut."""

    code = "untranslatable"


class MomentError(VersoError):
    """The request is fine; the service cannot take or finish it now."""

    code = "unavailable"
    retryable = True


class QueueFullError(MomentError):
    """Too much is waiting already; `retry_after_seconds` estimates when there will be room."""

    code = "queue_full"

    def __init__(self, message: str, retry_after_seconds: float) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class DeadlineExceededError(MomentError):
    """The request's time ran out before its translation was complete."""

    code = "deadline_exceeded"


class RequestCancelledError(MomentError):
    """The caller went away or withdrew the request."""

    code = "cancelled"


class NotReadyError(MomentError):
    """No model has shown yet that it can translate."""

    code = "not_ready"


class ShuttingDownError(MomentError):
    """The service is stopping and takes no new work."""

    code = "shutting_down"


class DecodingLostError(MomentError):
    """What was decoding the request has ended by itself, or is not back yet; it is being started again."""

    code = "decoding_lost"


class OperatorError(VersoError):
    """Something about the installation is wrong."""

    code = "internal_error"


class PackageInvalidError(OperatorError):
    """A model package is missing, damaged or of an unknown format version."""

    code = "package_invalid"


class SettingsError(OperatorError):
    """Settings are unknown or invalid; all of them are listed in `problems`."""

    code = "settings_invalid"


class EngineError(OperatorError):
    """Running a graph failed; the sequences of that run end with this error."""

    code = "engine_failed"


class ExportError(OperatorError):
    """A checkpoint cannot be exported, or its export does not compute what it must; `problems` lists every reason."""

    code = "export_failed"


class InvalidDocumentError(VersoError):
    """A file is not what its format says: damaged, encrypted, too large when unpacked, or in another encoding."""

    code = "invalid_document"


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yields an exception and its causes, outermost first, each once though they may go in a circle."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
