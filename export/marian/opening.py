"""Opens a folder of Marian's own files: the options inside the model, its tensors, and settings under common names.

`Checkpoint` holds what comes out; what it means for a network is decided in `network`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from export.marian.decoding import read_decoding
from export.marian.folder import MarianFolder, find_marian_folder
from export.marian.weights import MarianWeights
from export.marian.yaml_text import read_options_text
from service.errors import ExportError

FAMILY = "marian-native"
"""The model type under which such folders are opened."""

ORIGIN = "special:model.yml"
"""The tensor that holds the options, which every message about them names."""


@dataclass(frozen=True, slots=True)
class OpenedMarian:
    """One opened model.

    options: those inside the model, with `FAMILY` as their model_type. generation: decoding settings under the names of
    Hugging Face `generate`. languages: source_lang and target_lang where file names tell them.
    """

    files: MarianFolder
    options: Mapping[str, Any]
    weights: MarianWeights
    generation: Mapping[str, Any]
    languages: Mapping[str, str]


def open_marian(folder: Path) -> OpenedMarian | None:
    """The model in a folder, None when it has none of Marian's. Raises ExportError when it cannot be read."""
    files = find_marian_folder(folder)
    if files is None:
        return None
    file = files.open_model()
    if ORIGIN not in file.names:
        raise ExportError(f"{files.model.name} has no {ORIGIN}, the options of its network")
    options = {**read_options_text(file.text(ORIGIN), ORIGIN), "model_type": FAMILY}
    weights = MarianWeights(file, without_projection=bool(options.get("transformer-no-projection")))
    source, target = files.languages or ("", "")
    languages = {"source_lang": source, "target_lang": target} if files.languages else {}
    return OpenedMarian(files, options, weights, read_decoding(files).settings, languages)
