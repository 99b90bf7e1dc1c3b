"""Reads and writes the committed outputs of Hugging Face `generate`; README.md beside it describes the files.

Needs nothing but the standard library and the option class, so every test may use it.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from service.search.options import DecodingOptions

FOLDER = Path(__file__).parent
TINY_NAMES = ("deep-encoder", "deep-decoder", "two-vocabularies", "late-end-id")
# Checkpoints of the other families, without tokenizers.
FAMILY_NAMES = ("m2m100", "mbart", "t5", "t5-gated")
REAL_NAME = "en-de"
DEFAULTS_SETTING = "package_defaults"


@dataclass(frozen=True, slots=True)
class GoldenCase:
    """What `generate` returned for one source under one setting.

    outputs: token ids of each returned sequence, best first, without the start token, up to and with the end token.
    scores: `sequences_scores` of beam search, one per output (fp32, six decimals); None for greedy search.
    log_probs: for greedy search the log-probability of each token of the output (fp32, five decimals), else None.
    texts: decoded outputs, for the real checkpoint only.
    near_tie: a change of the arithmetic (fp64, a head bias moved by about 2e-6) gives other tokens, so an exact
        comparison would be unfair.
    """

    setting: str
    source: int
    outputs: list[list[int]]
    scores: list[float] | None = None
    log_probs: list[float] | None = None
    texts: list[str] | None = None
    near_tie: bool = False


@dataclass(frozen=True, slots=True)
class GoldenRows:
    """Teacher-forced distributions: entry t is the ten best next tokens after the start token and `target[:t]`."""

    source: int
    target: list[int]
    top_ids: list[list[int]]
    top_log_probs: list[list[float]]


@dataclass(frozen=True, slots=True)
class GoldenSource:
    """Source ids with the end token; `text` for the real checkpoint only."""

    ids: list[int]
    text: str | None = None


def checkpoint_folder(name: str) -> Path:
    """Returns the folder of a tiny checkpoint in Hugging Face layout."""
    return FOLDER / "checkpoints" / name


def read_settings(name: str) -> dict[str, DecodingOptions]:
    """Returns the complete decoding options of every setting used with a checkpoint."""
    settings = json.loads((FOLDER / "settings.json").read_text(encoding="utf-8"))
    kind = "real" if name == REAL_NAME else "family" if name in FAMILY_NAMES else "tiny"
    return {key: DecodingOptions(**options) for key, options in settings[kind].items()}


def read_sources(name: str) -> list[GoldenSource]:
    """Returns the sources of a checkpoint; cases and rows name them by their index here."""
    return [GoldenSource(**fields) for fields in _read_lines(FOLDER / f"{name}.sources.jsonl")]


def read_cases(name: str) -> list[GoldenCase]:
    """Returns the committed cases of a checkpoint."""
    return [GoldenCase(**fields) for fields in _read_lines(FOLDER / f"{name}.cases.jsonl")]


def read_rows(name: str) -> list[GoldenRows]:
    """Returns the committed teacher-forced distributions of a checkpoint."""
    return [GoldenRows(**fields) for fields in _read_lines(FOLDER / f"{name}.rows.jsonl")]


def write_sources(name: str, sources: Iterable[GoldenSource]) -> None:
    """Replaces the source file of a checkpoint."""
    _write_lines(FOLDER / f"{name}.sources.jsonl", map(_compact, sources))


def write_cases(name: str, cases: Iterable[GoldenCase]) -> None:
    """Replaces the case file of a checkpoint."""
    _write_lines(FOLDER / f"{name}.cases.jsonl", map(_compact, cases))


def write_rows(name: str, rows: Iterable[GoldenRows]) -> None:
    """Replaces the row file of a checkpoint."""
    _write_lines(FOLDER / f"{name}.rows.jsonl", map(_compact, rows))


def _compact(value: GoldenSource | GoldenCase | GoldenRows) -> dict[str, Any]:
    return {key: field for key, field in asdict(value).items() if field is not None and field is not False}


def _read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _write_lines(path: Path, lines: Iterable[dict[str, Any]]) -> None:
    text = "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines)
    path.write_text(text, encoding="utf-8")
