"""Command-line options that are settings: same names, and checked together with the environment.

Their values stay text until `load_settings` reads them, so that one message lists every problem of both sources.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import click

from service.settings import Settings, flag, load_settings, variable
from service.settings_page import default_text

F = TypeVar("F", bound=Callable[..., Any])

ENGINE_SETTINGS = (
    "models",
    "precision",
    "provider",
    "threads",
    "decode_threads",
    "spin_microseconds",
    "max_rows",
    "max_tokens",
)


def setting_options(names: Iterable[str]) -> Callable[[F], F]:
    """Gives a command the options of these settings."""

    def decorate(command: F) -> F:
        for name in reversed(list(names)):
            command = _option(name)(command)
        return command

    return decorate


def settings_from(options: Mapping[str, Any]) -> Settings:
    """Reads the settings of a command from its options and the environment; raises SettingsError."""
    return load_settings({name: value for name, value in options.items() if value not in (None, ())})


def _option(name: str) -> Callable[[F], F]:
    field = Settings.model_fields[name]
    text = f"{field.description}  [{variable(name)}; default: {default_text(field.default)}]"
    return click.option(flag(name), name, multiple=name == "models", metavar=_metavar(name), help=text)


def _metavar(name: str) -> str:
    kind = str(Settings.model_fields[name].annotation)
    return "PATH" if name == "models" else "NUMBER" if "int" in kind or "float" in kind else "TEXT"
