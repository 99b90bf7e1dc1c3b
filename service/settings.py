"""Every setting of the service: its name, type, bounds, default and meaning.

One field is one environment variable (`VERSO_` and the name in capitals) and one flag of `verso serve`. Flags win over
the environment. Read by `app` and `cli` only; every other room gets the small option objects they make from it.
"""

import os
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from service.engine.options import EngineOptions
from service.errors import SettingsError
from service.scheduler.options import SchedulerOptions
from service.search.options import MAX_BEAM_SIZE

PREFIX = "VERSO_"
_SCHEDULER = SchedulerOptions()
_ENGINE = EngineOptions()


def setting(group: str, default: Any, description: str, **bounds: Any) -> Any:
    """Declares a field with the group it is documented under."""
    return Field(default, description=description, json_schema_extra={"group": group}, **bounds)


class Settings(BaseSettings):
    """All settings, complete and valid."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_ignore_empty=True, extra="forbid", frozen=True)

    models: Annotated[tuple[Path, ...], NoDecode] = setting(
        "Models",
        (Path("models"),),
        "Model packages to load: folders of a package, or folders whose subfolders are packages. Several are separated "
        "by commas, or by repeating the flag. Each package takes memory and a decode thread of its own.",
        min_length=1,
    )
    precision: str | None = setting(
        "Models",
        None,
        "Precision of the graphs, `fp32`, `int8` or `fp16`; `auto` is each package's default. fp32 takes more memory "
        "and is slower on a CPU; fp16 is for GPUs.",
    )
    provider: Literal["auto", "cpu", "cuda"] = setting(
        "Models",
        "auto",
        "Where graphs run. `cuda` refuses to start without a usable GPU; `auto` is the processor.",
    )
    threads: int | None = setting(
        "Models",
        None,
        "Threads of one graph run; `auto` takes one for each 256 of the model's width, at most the processors that "
        "affinity and the container's quota leave. More shortens the steps of wide models and wastes time on narrow "
        "ones.",
        ge=1,
        le=1024,
    )
    decode_threads: int | None = setting(
        "Models",
        None,
        "Steps of a model that run at once, each over a batch of its own; `auto` takes the processors divided by "
        "`threads`. They share the weights. More raises throughput until threads times decode threads exceed the "
        "processors.",
        ge=1,
        le=256,
    )
    decode_processes: Literal["auto", "on", "off"] = setting(
        "Models",
        "auto",
        "Whether each of a model's decode threads has a process of its own. They then do not wait for each other's "
        "Python code or that of requests, and one that crashes is started again; each holds the weights once. `auto` "
        "is `on` unless the copies would take more than 2 GiB.",
    )
    spin_microseconds: int = setting(
        "Models",
        _ENGINE.spin_microseconds,
        "How long idle graph threads wait actively for the next operator, in microseconds. More is faster with few "
        "rows and burns more processor time; 0 is off.",
        ge=0,
        le=1_000_000,
    )

    max_rows: int = setting(
        "Batching",
        _SCHEDULER.max_rows,
        "Rows (sequences times beam width) in one decoder step. More raises throughput under load, memory for the "
        "cache, and the time of each step.",
        ge=MAX_BEAM_SIZE,
        le=65_536,
    )
    max_tokens: int = setting(
        "Batching",
        _SCHEDULER.max_tokens,
        "Running sources times the length of the longest. Bounds the memory of cross-attention: more lets more "
        "long segments run together.",
        ge=1,
        le=100_000_000,
    )
    max_encode_tokens: int = setting(
        "Batching",
        _SCHEDULER.max_encode_tokens,
        "Padded source tokens encoded between two decoder steps. More lets waiting segments join faster, and running "
        "ones wait longer for them.",
        ge=1,
        le=100_000_000,
    )
    max_waiting_sequences: int = setting(
        "Batching",
        _SCHEDULER.max_waiting_sequences,
        "Segments that may wait for a place; requests over it are answered 429. More accepts longer bursts and lets "
        "requests wait longer.",
        ge=1,
        le=100_000_000,
    )
    max_kept_tokens: int = setting(
        "Batching",
        _SCHEDULER.max_kept_tokens,
        "Source and target tokens of results that are kept for identical segments under identical options; answers do "
        "not change. More takes memory (some 100 bytes a token) and spares more work. 0 decodes every segment anew, "
        "also identical ones at the same time: for callers who must not learn from timing what others translate.",
        ge=0,
        le=1_000_000_000,
    )
    max_waiting_tokens: int = setting(
        "Batching",
        _SCHEDULER.max_waiting_tokens,
        "Source tokens that may wait for a place; requests over it are answered 429. More accepts longer bursts and "
        "lets requests wait longer.",
        ge=1,
        le=10_000_000_000,
    )

    max_body_bytes: int = setting(
        "Limits",
        2_097_152,
        "Largest request body in bytes; larger ones are answered 413. More takes more memory per request.",
        ge=1,
        le=1_073_741_824,
    )
    max_texts: int = setting(
        "Limits",
        256,
        "Texts in one request; more are answered 413. More lets one request take more of the queue.",
        ge=1,
        le=1_000_000,
    )
    max_text_characters: int = setting(
        "Limits",
        50_000,
        "Characters (code points) in one text; longer ones are answered 413. More lets one request take more of the "
        "queue.",
        ge=1,
        le=1_000_000_000,
    )
    default_timeout_seconds: float = setting(
        "Limits",
        60.0,
        "Time a request gets when it names none, in seconds; then it is answered 504. More lets work pile up whose "
        "caller has given up.",
        gt=0,
        le=86_400,
        allow_inf_nan=False,
    )
    max_timeout_seconds: float = setting(
        "Limits",
        300.0,
        "Longest time a request may ask for, in seconds; at least the default.",
        gt=0,
        le=86_400,
        allow_inf_nan=False,
    )
    body_timeout_seconds: float = setting(
        "Limits",
        30.0,
        "Time for a request body to arrive, in seconds; then it is answered 408. More lets slow clients hold "
        "connections longer.",
        gt=0,
        le=86_400,
        allow_inf_nan=False,
    )

    host: str = setting(
        "Server",
        "127.0.0.1",
        "Address or name to listen on. `0.0.0.0` is every IPv4 interface: whoever reaches it can use the service.",
        min_length=1,
    )
    port: int = setting("Server", 8080, "TCP port to listen on; 0 takes a free one.", ge=0, le=65_535)
    keep_alive_seconds: int = setting(
        "Server",
        75,
        "How long an idle connection stays open, in seconds. Keep it above the idle time of a proxy in front, or the "
        "proxy meets closed connections.",
        ge=1,
        le=86_400,
    )
    drain_delay_seconds: float = setting(
        "Server",
        0.0,
        "After SIGTERM, how long to go on serving with readiness at 503, in seconds, so that load balancers notice. "
        "About twice the interval of the readiness probe behind a balancer; more delays the stop.",
        ge=0,
        le=3_600,
        allow_inf_nan=False,
    )
    drain_timeout_seconds: float = setting(
        "Server",
        25.0,
        "After the drain delay, how long requests already running may take, in seconds; the rest is answered 503. The "
        "sum of both and 5 seconds must fit into the grace period of the container.",
        ge=0,
        le=3_600,
        allow_inf_nan=False,
    )
    log_format: Literal["json", "console"] = setting(
        "Server", "json", "Form of log lines on standard error: one JSON object each, or for people to read."
    )
    log_level: Literal["debug", "info", "warning", "error"] = setting(
        "Server",
        "info",
        "Least severe log lines written. `debug` adds requests for health and metrics; no level writes texts.",
    )

    @field_validator("models", mode="before")
    @classmethod
    def _split_models(cls, value: object) -> object:
        given = value if isinstance(value, (list, tuple)) else (value,)
        parts = [part.split(",") if isinstance(part, str) else [part] for part in given]
        return tuple(part for listed in parts for part in listed if part != "")

    @field_validator("threads", "decode_threads", "precision", mode="before")
    @classmethod
    def _read_auto(cls, value: object) -> object:
        return None if value == "auto" else value

    @model_validator(mode="after")
    def _check_timeouts(self) -> "Settings":
        if self.default_timeout_seconds > self.max_timeout_seconds:
            raise ValueError(f"{variable('default_timeout_seconds')}: at most {variable('max_timeout_seconds')}")
        return self


def load_settings(flags: Mapping[str, Any] | None = None) -> Settings:
    """Reads settings from flags (by field name) and the environment.

    Raises SettingsError that lists every unknown variable and every invalid value at once; values are never shown.
    """
    problems = _unknown_variables(os.environ)
    try:
        settings = Settings(**dict(flags or {}))
    except ValidationError as error:
        problems += [_problem(detail["loc"], detail["msg"]) for detail in error.errors(include_input=False)]
        raise SettingsError("settings are not valid", problems) from None
    if problems:
        raise SettingsError("settings are not valid", problems)
    return settings


def variable(name: str) -> str:
    """Names the environment variable of a field."""
    return PREFIX + name.upper()


def flag(name: str) -> str:
    """Names the command-line flag of a field."""
    return "--" + name.replace("_", "-")


def _unknown_variables(environment: Mapping[str, str]) -> list[str]:
    known = {variable(name) for name in Settings.model_fields}
    problems = []
    for name in sorted(environment):
        if name.upper().startswith(PREFIX) and name.upper() not in known:
            near = get_close_matches(name.upper(), sorted(known), n=1)
            problems.append(f"{name}: unknown setting" + (f"; did you mean {near[0]}?" if near else ""))
    return problems


def _problem(location: tuple[int | str, ...], message: str) -> str:
    message = message.removeprefix("Value error, ")
    if not location:
        return message
    name = str(location[0])
    return f"{variable(name)} ({flag(name)}): {message}"
