"""Log lines: structured, to one stream, and unable to carry texts.

Only fields named in FIELDS leave the process, and exceptions are written as types and places, without their messages:
either could hold a caller's text. Lines of libraries go through the same door.
"""

import json
import logging
from collections.abc import MutableMapping
from traceback import StackSummary, walk_tb
from types import TracebackType
from typing import Any, Literal, TextIO

import structlog
from structlog.typing import FilteringBoundLogger, Processor

from service.errors import chain

FIELDS = frozenset(
    {
        "address",
        "code",
        "event",
        "exception",
        "level",
        "logger",
        "method",
        "models",
        "num_characters",
        "num_source_tokens",
        "num_target_tokens",
        "num_texts",
        "outcome",
        "pair",
        "problems",
        "request_id",
        "route",
        "seconds",
        "signal",
        "status",
        "timestamp",
        "version",
    }
)
# uvicorn's messages and ours are fixed words, ports and counts; other libraries may write anything into theirs.
_SERVER_LOGGER = "uvicorn"
_TRUSTED_LOGGERS = {_SERVER_LOGGER, "service"}

Logger = FilteringBoundLogger

_encode = json.JSONEncoder(ensure_ascii=False, default=repr).encode


def create_logger(
    stream: TextIO, level: Literal["debug", "info", "warning", "error"], form: Literal["json", "console"]
) -> Logger:
    """Makes the logger of an app; it writes one line per event to `stream`."""
    renderer: Processor = _write_json if form == "json" else structlog.dev.ConsoleRenderer(colors=False)
    wrapped = structlog.wrap_logger(
        structlog.WriteLogger(stream),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _write_exception,
            _drop_unknown_fields,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
    )
    # Put together here, and not anew for every line.
    logger: Logger = wrapped.bind()
    return logger


def adopt_library_logs(logger: Logger, level: Literal["debug", "info", "warning", "error"]) -> None:
    """Sends the lines of every library that uses `logging` through `logger` (process-wide)."""
    root = logging.getLogger()
    root.handlers = [_Forwarder(logger)]
    root.setLevel(max(logging.INFO, getattr(logging, level.upper())))
    # Its start and stop are told by the server in better words.
    logging.getLogger(_SERVER_LOGGER).setLevel(logging.WARNING)


class _Forwarder(logging.Handler):
    def __init__(self, logger: Logger) -> None:
        super().__init__()
        self._logger = logger

    def emit(self, record: logging.LogRecord) -> None:
        trusted = record.name.split(".")[0] in _TRUSTED_LOGGERS
        event = record.getMessage() if trusted else "library message withheld"
        error = record.exc_info[1] if record.exc_info else None
        self._logger.log(record.levelno, event, logger=record.name, exc_info=error)


def _write_exception(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    error = event.pop("exc_info", None)
    if isinstance(error, BaseException):
        event["exception"] = describe_exception(error)
    return event


def _drop_unknown_fields(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    return {name: value for name, value in event.items() if name in FIELDS}


def _write_json(logger: Any, method: str, event: MutableMapping[str, Any]) -> str:
    return _encode(event)


def describe_exception(error: BaseException) -> list[str]:
    """Lists an exception and its causes as type names and code places, outermost first, without any message."""
    return [line for one in chain(error) for line in (type(one).__qualname__, *_places(one.__traceback__))]


def _places(trace: TracebackType | None) -> list[str]:
    # Source lines are not looked up: that reads files and says nothing that the place does not.
    frames = StackSummary.extract(walk_tb(trace), limit=-20, lookup_lines=False)
    return [f"  {frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
