"""Finds Marian's files in a folder: the model, vocabularies, SentencePiece models and decoding settings.

Where names leave it open which file is meant, a decoder.yml decides; where it does not either, nothing is guessed.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from export.marian.binary_file import MarianBinaryFile
from export.marian.npz_file import MarianNpzFile
from export.marian.yaml_text import read_options_text
from service.errors import ExportError

_DECODER_FILES = ("decoder.yml", "decoder.yaml")
_BINARY_START = (1).to_bytes(8, "little")
_NO_MODEL = (".optimizer.npz", ".progress.npz")
_PIECES = ".spm"
_TABLES = (".yml", ".yaml", ".json")
_SIDES = (
    re.compile(r"(?:^|[._-])(?:src|source)(?:vocab)?(?=[._-])"),
    re.compile(r"(?:^|[._-])(?:trg|tgt|target)(?:vocab)?(?=[._-])"),
)
# model.ende.intgemm.alphas.bin beside vocab.ende.spm, or srcvocab.ende.spm and trgvocab.ende.spm.
_MODEL_PAIR = re.compile(r"model\.([a-z]{4})\.")
_VOCABULARY_PAIR = re.compile(r"(?:src|trg)?vocab\.([a-z]{4})\.spm")

MarianFile = MarianNpzFile | MarianBinaryFile


@dataclass(frozen=True, slots=True)
class MarianFolder:
    """Files of one model; the two sides share a file where they share a vocabulary.

    vocabularies: source and target, `.spm` or a table of pieces. pieces: SentencePiece models of source and target.
    decoding, decoding_file: settings of Marian's decoder and where they stand; both empty where there are none.
    languages: source and target code where the names tell them.
    """

    model: Path
    vocabularies: tuple[Path, Path]
    pieces: tuple[Path, Path]
    decoding: Mapping[str, Any]
    decoding_file: str
    languages: tuple[str, str] | None
    decisions: tuple[str, ...]

    def open_model(self) -> MarianFile:
        """The weight file. Raises ExportError when it is damaged."""
        return MarianNpzFile(self.model) if self.model.suffix == ".npz" else MarianBinaryFile(self.model)


@dataclass
class _Search:
    folder: Path
    names: Sequence[str]
    problems: list[str] = field(default_factory=list)
    decisions: list[str] = field(default_factory=list)


def find_marian_folder(folder: Path) -> MarianFolder | None:
    """The model of a folder, None when it has no weights of Marian's. Raises ExportError with every problem."""
    names = sorted(path.name for path in folder.iterdir() if path.is_file())
    models = [name for name in names if _is_model(folder / name)]
    if not models:
        packed = [name for name in names if name.endswith((".npz.gz", ".bin.gz"))]
        if packed:
            raise ExportError(f"{folder} has packed files only", [f"{name}: unpack it first" for name in packed])
        return None
    search = _Search(folder, names)
    decoding_file = _decoding_file(search, models)
    decoding = _read_decoding(search, decoding_file)
    model = _model(search, models, decoding, decoding_file)
    vocabularies = _vocabularies(search, decoding, decoding_file)
    pieces = _pieces(search, vocabularies)
    if search.problems or model is None or vocabularies is None or pieces is None:
        raise ExportError(f"the Marian model in {folder} cannot be read", search.problems)
    search.decisions.append(
        f"model {model.name}; vocabularies {vocabularies[0].name} and {vocabularies[1].name}; "
        f"pieces {pieces[0].name} and {pieces[1].name}"
    )
    languages = _languages(model, vocabularies, search)
    return MarianFolder(model, vocabularies, pieces, decoding, decoding_file, languages, tuple(search.decisions))


def _is_model(path: Path) -> bool:
    if path.suffix == ".npz":
        return not path.name.endswith(_NO_MODEL)
    if path.suffix != ".bin":
        return False
    with path.open("rb") as file:
        return file.read(len(_BINARY_START)) == _BINARY_START


def _decoding_file(search: _Search, models: Sequence[str]) -> str:
    """The file with settings of Marian's decoder: decoder.yml, what training wrote beside the model, or a config."""
    beside = [f"{model}.decoder.yml" for model in models]
    for group in (_DECODER_FILES, beside):
        present = [name for name in group if name in search.names]
        if len(present) == 1:
            return present[0]
    configs = [name for name in search.names if re.fullmatch(r"config\b.*\.ya?ml", name)]
    return configs[0] if len(configs) == 1 else ""


def _read_decoding(search: _Search, name: str) -> dict[str, Any]:
    if not name:
        search.decisions.append("no decoder.yml: decoding settings are this program's own")
        return {}
    try:
        return read_options_text((search.folder / name).read_text(encoding="utf-8"), name)
    except (ExportError, UnicodeError) as error:
        search.problems.append(str(error))
        return {}


def _model(search: _Search, models: Sequence[str], decoding: Mapping[str, Any], origin: str) -> Path | None:
    named = _base_names(decoding.get("models"))
    if len(named) > 1:
        search.problems.append(f"{origin}: models names {len(named)} files; ensembles are not supported")
        return None
    if named:
        if named[0] not in models:
            search.problems.append(f"{origin}: models names {named[0]}, which is no weight file in the folder")
            return None
        return search.folder / named[0]
    if len(models) > 1:
        search.problems.append(f"several weight files and no decoder.yml that names one: {', '.join(models)}")
        return None
    return search.folder / models[0]


def _vocabularies(search: _Search, decoding: Mapping[str, Any], origin: str) -> tuple[Path, Path] | None:
    named = _base_names(decoding.get("vocabs"))
    if named:
        if len(named) != 2:
            search.problems.append(f"{origin}: vocabs names {len(named)} files; one source and one target are expected")
            return None
        missing = [name for name in dict.fromkeys(named) if name not in search.names]
        search.problems += [f"{origin}: vocabs names {name}, which is not in the folder" for name in missing]
        chosen = None if missing else (named[0], named[1])
    else:
        tables = [name for name in search.names if "vocab" in name and name.endswith(_TABLES)]
        candidates = tables or [name for name in search.names if name.endswith(_PIECES)]
        chosen = _sides(search, candidates, "vocabularies")
    if chosen is None:
        return None
    strange = [name for name in dict.fromkeys(chosen) if not name.endswith((_PIECES, *_TABLES))]
    search.problems += [f"{name}: vocabularies are read from .spm, .yml or .json files only" for name in strange]
    return None if strange else (search.folder / chosen[0], search.folder / chosen[1])


def _sides(search: _Search, candidates: Sequence[str], what: str) -> tuple[str, str] | None:
    """One file for both sides, or one for each whose name says which."""
    if len(candidates) == 1:
        return candidates[0], candidates[0]
    sides = [[name for name in candidates if pattern.search(name)] for pattern in _SIDES]
    if len(candidates) == 2 and all(len(side) == 1 for side in sides) and sides[0] != sides[1]:
        return sides[0][0], sides[1][0]
    found = ", ".join(candidates) or "none"
    search.problems.append(f"{what} cannot be told from the names of the files, and no decoder.yml names them: {found}")
    return None


def _pieces(search: _Search, vocabularies: tuple[Path, Path] | None) -> tuple[Path, Path] | None:
    """The vocabularies themselves, or source.spm and target.spm beside tables of pieces."""
    if vocabularies is None:
        return None
    chosen = []
    for path, name in zip(vocabularies, ("source.spm", "target.spm"), strict=True):
        if path.suffix == _PIECES:
            chosen.append(path)
        elif name in search.names:
            chosen.append(search.folder / name)
        else:
            search.problems.append(f"{path.name} needs {name}: only SentencePiece cuts texts, no other program")
    return (chosen[0], chosen[1]) if len(chosen) == 2 else None


def _languages(model: Path, vocabularies: tuple[Path, Path], search: _Search) -> tuple[str, str] | None:
    """A pair with English that names of model and vocabularies agree on, as in Firefox's models."""
    found = [_MODEL_PAIR.match(model.name), *(_VOCABULARY_PAIR.fullmatch(path.name) for path in vocabularies)]
    pairs = {match[1] if match else "" for match in found}
    pair = pairs.pop()
    if pairs or not (pair.startswith("en") or pair.endswith("en")):
        return None
    languages = (pair[:2], pair[2:])
    search.decisions.append(f"languages {languages[0]} to {languages[1]}, from the names of model and vocabularies")
    return languages


def _base_names(value: object) -> list[str]:
    """File names in a list of paths, which were written on another machine."""
    items = value if isinstance(value, list) else [value] if isinstance(value, str) else []
    return [re.split(r"[/\\]", str(item))[-1] for item in items]
