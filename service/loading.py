"""Opening the models that settings name, for the app and the command line alike."""

from collections.abc import Sequence
from pathlib import Path

from service.engine.options import EngineOptions
from service.errors import SettingsError
from service.scheduler.options import SchedulerOptions
from service.scheduler.stats import StatsSink
from service.settings import Settings, flag, variable
from service.translation.registry import Registry, open_registry

_IN_PROCESSES = {"auto": None, "on": True, "off": False}


def open_models(settings: Settings, sink: StatsSink) -> Registry:
    """Loads and warms up every model package in the calling thread; raises SettingsError or PackageInvalidError."""
    engine = EngineOptions(
        precision=settings.precision,
        num_threads=settings.threads,
        num_decode_threads=settings.decode_threads,
        in_processes=_IN_PROCESSES[settings.decode_processes],
        provider=settings.provider,
        spin_microseconds=settings.spin_microseconds,
    )
    limits = SchedulerOptions(
        max_rows=settings.max_rows,
        max_tokens=settings.max_tokens,
        max_kept_tokens=settings.max_kept_tokens,
        max_waiting_sequences=settings.max_waiting_sequences,
        max_waiting_tokens=settings.max_waiting_tokens,
        max_encode_tokens=settings.max_encode_tokens,
    )
    return open_registry(package_folders(settings.models), engine, limits, sink)


def package_folders(paths: Sequence[Path]) -> tuple[Path, ...]:
    """Finds the package folders among paths: a path itself, or its subfolders that are packages, in order of name.

    Raises SettingsError that lists every path without a package.
    """
    folders: list[Path] = []
    problems: list[str] = []
    for path in paths:
        found = [path] if _is_package(path) else sorted(filter(_is_package, path.glob("*")))
        if not found:
            problems.append(f"{variable('models')} ({flag('models')}): no model package at {path}")
        folders += found
    if problems:
        raise SettingsError("settings are not valid", problems)
    return tuple(dict.fromkeys(folders))


def _is_package(path: Path) -> bool:
    return (path / "manifest.json").is_file()
