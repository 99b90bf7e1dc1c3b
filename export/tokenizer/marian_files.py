"""The tokenizer side of a MarianMT checkpoint, read and checked: two SentencePiece models and one or two vocabularies.

Collects every problem before it raises. What the parts mean together is decided in `marian`.
"""

import json
import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from export.tokenizer.sentencepiece_model import ModelType, SentencePieceModel, read_sentencepiece_model
from service.errors import ExportError

_LANGUAGE_TOKEN = re.compile(r">>[^<>\s]+<<")


@dataclass(frozen=True, slots=True)
class SpecialPieces:
    """Names of the special pieces, which both vocabularies use."""

    eos: str
    unk: str
    pad: str

    @property
    def all(self) -> tuple[str, str, str]:
        """The three names."""
        return (self.eos, self.unk, self.pad)


@dataclass(frozen=True, slots=True)
class MarianFiles:
    """What the files say.

    source_ids, target_ids: piece to id; the same mapping unless the vocabularies are separate.
    num_source_rows, num_target_rows: rows of the embedding tables according to config.json.
    cleans_up_spaces: tokenizer_config.json asks for spaces before punctuation to be removed from output.
    """

    source_model: SentencePieceModel
    target_model: SentencePieceModel
    source_ids: Mapping[str, int]
    target_ids: Mapping[str, int]
    num_source_rows: int
    num_target_rows: int
    special: SpecialPieces
    separate: bool
    cleans_up_spaces: bool

    @property
    def language_ids(self) -> dict[str, int]:
        """Language tokens (`>>deu<<`) and their source ids."""
        return {piece: value for piece, value in self.source_ids.items() if _LANGUAGE_TOKEN.fullmatch(piece)}

    @property
    def hidden_source_pieces(self) -> frozenset[str]:
        """Pieces that mean nothing when a text spells them out: special and language tokens."""
        return frozenset(self.language_ids) | frozenset(self.special.all)


def read_marian_files(checkpoint: Path) -> MarianFiles:
    """Reads the tokenizer files of a checkpoint folder. Raises ExportError with every problem found."""
    reader = _Reader(checkpoint)
    config = reader.json("config.json")
    options = reader.json("tokenizer_config.json", required=False) or {}
    special = SpecialPieces(
        eos=_piece_name(options.get("eos_token"), "</s>"),
        unk=_piece_name(options.get("unk_token"), "<unk>"),
        pad=_piece_name(options.get("pad_token"), "<pad>"),
    )
    separate = options.get("separate_vocabs") is True
    num_source_rows = reader.count(config, "vocab_size")
    num_target_rows = reader.count(config, "decoder_vocab_size", default=num_source_rows)
    source_ids = reader.vocabulary("vocab.json", num_source_rows, special)
    if separate or num_target_rows != num_source_rows:
        target_name = "target_vocab.json" if separate else "vocab.json"
        target_ids = reader.vocabulary(target_name, num_target_rows, special)
    else:
        target_ids = source_ids
    for name in ("source.spm", "target.spm"):
        reader.sentencepiece(name)
    reader.raise_problems()
    return MarianFiles(
        source_model=reader.models["source.spm"],
        target_model=reader.models["target.spm"],
        source_ids=source_ids,
        target_ids=target_ids,
        num_source_rows=num_source_rows,
        num_target_rows=num_target_rows,
        special=special,
        separate=separate,
        cleans_up_spaces=options.get("clean_up_tokenization_spaces") is True,
    )


class _Reader:
    """Reads files of one folder and keeps what is wrong with them; what cannot be read comes back empty."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._problems: list[str] = []
        self.models: dict[str, SentencePieceModel] = {}

    def raise_problems(self) -> None:
        """Raises ExportError when there are problems."""
        if self._problems:
            raise ExportError(f"the tokenizer files in {self._folder} cannot be converted", self._problems)

    def json(self, name: str, *, required: bool = True) -> dict[str, Any] | None:
        """Reads a JSON object; None when there is none to be had."""
        path = self._folder / name
        if not path.is_file():
            if required:
                self._problems.append(f"{name} is missing")
            return None
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            self._problems.append(f"{name} is not JSON: {error}")
            return None
        if not isinstance(content, dict):
            self._problems.append(f"{name} is not a JSON object")
            return None
        return content

    def count(self, config: Mapping[str, Any] | None, key: str, default: int = 0) -> int:
        """A positive number of the configuration; 0 when it has none, which is a problem once it could be read."""
        if config is None:
            return 0
        value = config.get(key, default)
        if type(value) is int and value > 0:
            return value
        if key in config or not default:
            self._problems.append(f"config.json: {key} is not a positive number")
        return 0

    def vocabulary(self, name: str, num_rows: int, special: SpecialPieces) -> dict[str, int]:
        """Reads piece ids, which must be distinct, below `num_rows` (unless that is 0) and include the specials."""
        content = self.json(name)
        if content is None:
            return {}
        ids = {piece: value for piece, value in content.items() if type(value) is int and value >= 0}
        counts = Counter(ids.values())
        self._report(name, "entries without a valid id", content.keys() - ids.keys())
        self._report(name, "ids used twice", [value for value, count in counts.items() if count > 1])
        if num_rows:
            over = [value for value in counts if value >= num_rows]
            self._report(name, f"ids beyond the {num_rows} rows of the model", over)
        self._report(name, "special pieces missing", [piece for piece in special.all if piece not in ids])
        return ids

    def sentencepiece(self, name: str) -> None:
        """Reads a model into `models`."""
        try:
            model = read_sentencepiece_model(self._folder / name)
        except ExportError as error:
            self._problems.append(error.message)
            return
        self._problems.extend(f"{name}: {reason}" for reason in _unsupported(model))
        self.models[name] = model

    def _report(self, name: str, what: str, items: Collection[str] | Collection[int]) -> None:
        shown = sorted(map(str, items))
        if shown:
            more = f" and {len(shown) - 5} more" if len(shown) > 5 else ""
            self._problems.append(f"{name}: {what}: {', '.join(shown[:5])}{more}")


def _unsupported(model: SentencePieceModel) -> list[str]:
    """Properties of a SentencePiece model that a converted tokenizer could not honour."""
    checks = {
        f"its type is {model.model_type.name}, only UNIGRAM is converted for this family": (
            model.model_type is not ModelType.UNIGRAM
        ),
        "it marks spaces at the end of pieces": model.whitespace_as_suffix,
        "it keeps plain spaces inside pieces": not model.normalization.escape_whitespaces,
        "it rewrites decoded text": model.rewrites_output,
    }
    return [reason for reason, holds in checks.items() if holds]


def _piece_name(value: object, default: str) -> str:
    """A special piece as tokenizer_config.json writes it: a string, or an object with its content."""
    if isinstance(value, dict):
        value = value.get("content")
    return value if isinstance(value, str) else default
