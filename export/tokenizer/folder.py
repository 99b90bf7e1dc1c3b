"""Reads the tokenizer files of one checkpoint folder and keeps what is wrong with them, so that all of it is reported.

What the files mean together is decided by the families. What cannot be read comes back empty.
"""

import json
from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from export.tokenizer.sentencepiece_model import (
    SPACE_MARK,
    ModelType,
    PieceKind,
    SentencePieceModel,
    read_sentencepiece_model,
)
from service.errors import ExportError

_SHOWN = 5


class TokenizerFolder:
    """One folder; `problems` grows with every file that is not as it must be."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problems: list[str] = []

    def raise_problems(self) -> None:
        """Raises ExportError when there are problems."""
        if self.problems:
            raise ExportError(f"the tokenizer files in {self.path} cannot be converted", self.problems)

    def has(self, name: str) -> bool:
        """Whether there is such a file."""
        return (self.path / name).is_file()

    def json(self, name: str, *, required: bool = False) -> dict[str, Any] | None:
        """Reads a JSON object; None when there is none to be had, which is a problem for a required file."""
        if not self.has(name):
            if required:
                self.problems.append(f"{name} is missing")
            return None
        try:
            content = json.loads((self.path / name).read_text(encoding="utf-8"))
        except ValueError as error:
            self.problems.append(f"{name} is not JSON: {error}")
            return None
        if not isinstance(content, dict):
            self.problems.append(f"{name} is not a JSON object")
            return None
        return content

    def number(self, config: Mapping[str, Any] | None, key: str, *, least: int, default: int | None = None) -> int:
        """A whole number of config.json, at least `least`; anything else is a problem, and then 0 comes back.

        A key that is not there means the default, if there is one. No configuration (None) is a problem already.
        """
        if config is None:
            return 0
        value = config.get(key, default)
        if type(value) is int and value >= least:
            return value
        # A default that cannot be used comes from a key that is a problem already.
        if key in config or default is None:
            self.problems.append(f"config.json: {key} is not {'a positive number' if least else 'a token id'}")
        return 0

    def vocabulary(self, name: str, num_rows: int, needed: Collection[str]) -> dict[str, int]:
        """Reads piece ids, which must be distinct, below `num_rows` (unless that is 0) and include the needed ones."""
        content = self.json(name, required=True)
        if content is None:
            return {}
        ids = {piece: value for piece, value in content.items() if type(value) is int and value >= 0}
        self.report(name, "entries without a valid id", content.keys() - ids.keys())
        self.check_ids(name, ids, num_rows)
        self.report(name, "special pieces missing", [piece for piece in needed if piece not in ids])
        return ids

    def check_ids(self, name: str, ids: Mapping[str, int], num_rows: int) -> None:
        """Adds a problem for ids that are used twice or have no row; any id is fine while `num_rows` is 0."""
        counts = Counter(ids.values())
        self.report(name, "ids used twice", [value for value, count in counts.items() if count > 1])
        if num_rows:
            over = [value for value in counts if value >= num_rows]
            self.report(name, f"ids beyond the {num_rows} rows of the model", over)

    def sentencepiece(self, name: str) -> SentencePieceModel | None:
        """Reads a model; None when it cannot be read. What no converted tokenizer could honour is a problem."""
        try:
            model = read_sentencepiece_model(self.path / name)
        except ExportError as error:
            self.problems.append(error.message)
            return None
        self.problems.extend(f"{name}: {reason}" for reason in _unsupported(model))
        return model

    def report(self, name: str, what: str, items: Collection[str] | Collection[int]) -> None:
        """Adds a problem that names the first few items, if there are any."""
        shown = sorted(map(str, items))
        if shown:
            more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
            self.problems.append(f"{name}: {what}: {', '.join(shown[:_SHOWN])}{more}")


def token_name(value: object) -> str | None:
    """A token as configuration files write it: a string, or an object with its content."""
    if isinstance(value, Mapping):
        value = value.get("content")
    return value if isinstance(value, str) and value else None


def _unsupported(model: SentencePieceModel) -> list[str]:
    """Properties of a SentencePiece model that a converted tokenizer could not honour."""
    is_bpe = model.model_type is ModelType.BPE
    checks = {
        f"its type is {model.model_type.name}, only UNIGRAM and BPE are converted": (
            not is_bpe and model.model_type is not ModelType.UNIGRAM
        ),
        "it marks spaces at the end of pieces": model.whitespace_as_suffix,
        "it keeps plain spaces inside pieces": not model.normalization.escape_whitespaces,
        "it rewrites decoded text": model.rewrites_output,
        "it has user-defined pieces with spaces, which its type BPE never cuts": is_bpe
        and _has_spaced_user_pieces(model),
        "it has unused pieces, which its type BPE takes apart again": is_bpe and bool(model.of_kind(PieceKind.UNUSED)),
    }
    return [reason for reason, holds in checks.items() if holds]


def _has_spaced_user_pieces(model: SentencePieceModel) -> bool:
    return any(SPACE_MARK in piece.text for piece in model.of_kind(PieceKind.USER_DEFINED))
