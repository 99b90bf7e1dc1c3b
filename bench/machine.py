"""What a measurement was made on: processor, versions, commit, date. Read from Linux's own files where it has any."""

import os
import platform
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from service.engine.threads import usable_cpus

# Instructions that decide how fast integer and float32 products can be.
_FLAGS = (
    "avx",
    "avx2",
    "fma",
    "avx_vnni",
    "avx512f",
    "avx512_vnni",
    "avx512_bf16",
    "amx_int8",
    "asimddp",
    "i8mm",
    "sve",
)
_DISTRIBUTIONS = (
    "onnxruntime",
    "onnxruntime-gpu",
    "numpy",
    "tokenizers",
    "fastapi",
    "uvicorn",
    "ctranslate2",
    "transformers",
    "torch",
    "sacrebleu",
)


@dataclass(frozen=True, slots=True)
class Machine:
    """Facts for the head of a report.

    flags: of the processor, those that matter here. commit: with "+changes" when the tree differs from it; "none"
    outside a repository. load: running processes over the last minute, before the measurement.
    """

    processor: str
    flags: tuple[str, ...]
    cores: int
    usable_cores: int
    memory_gib: float
    load: float
    system: str
    python: str
    versions: dict[str, str]
    commit: str
    date: str


def describe_machine(root: Path) -> Machine:
    """Describes this machine; `root` is the folder of the repository."""
    info = _lines(Path("/proc/cpuinfo"))
    return Machine(
        processor=processor_name(info) or platform.processor() or platform.machine(),
        flags=processor_flags(info),
        cores=os.cpu_count() or 1,
        usable_cores=usable_cpus(),
        memory_gib=round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        load=round(os.getloadavg()[0], 2),
        system=f"{platform.system()} {platform.release()}",
        python=platform.python_version(),
        versions=installed_versions(_DISTRIBUTIONS),
        commit=commit_of(root),
        date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )


def processor_name(info: Iterable[str]) -> str:
    """Finds the processor's name in the lines of /proc/cpuinfo; empty when it has none."""
    return next((value for key, value in _pairs(info) if key == "model name"), "")


def processor_flags(info: Iterable[str]) -> tuple[str, ...]:
    """Finds the instructions that matter in the lines of /proc/cpuinfo."""
    found = next((value.split() for key, value in _pairs(info) if key in ("flags", "Features")), [])
    return tuple(flag for flag in _FLAGS if flag in found)


def installed_versions(distributions: Iterable[str]) -> dict[str, str]:
    """Gives the versions of those distributions that are installed."""
    versions = {}
    for name in distributions:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


def commit_of(root: Path) -> str:
    """Names the commit that is checked out, and whether the tree has changes."""
    commit = _git(root, "rev-parse", "--short=12", "HEAD")
    if not commit:
        return "none"
    return f"{commit}+changes" if _git(root, "status", "--porcelain") else commit


def _git(root: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _pairs(info: Iterable[str]) -> list[tuple[str, str]]:
    split = (line.partition(":") for line in info)
    return [(key.strip(), value.strip()) for key, colon, value in split if colon]


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []
