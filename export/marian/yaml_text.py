"""YAML as Marian writes it: option mappings, and vocabularies whose keys are any text at all."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped] # PyYAML comes without types

from service.errors import ExportError

# libyaml where it is installed: a vocabulary has some ten thousand lines.
_NODES = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_SHOWN = 5


def read_options_text(text: str, label: str) -> dict[str, Any]:
    """A mapping of option names to values. Raises ExportError when the text is anything else."""
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ExportError(f"{label} is not YAML: {_one_line(error)}") from None
    if not isinstance(content, dict):
        raise ExportError(f"{label} is not a mapping of options")
    return {str(name): value for name, value in content.items()}


def read_vocabulary(path: Path) -> dict[str, int]:
    """Pieces and ids of a vocabulary file, YAML or JSON. Raises ExportError with every fault."""
    try:
        text = path.read_text(encoding="utf-8")
        pairs = list(_json_pairs(text) if path.suffix == ".json" else _yaml_pairs(text))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise ExportError(f"{path.name} is not a vocabulary: {_one_line(error)}") from None
    counts = Counter(piece for piece, _ in pairs)
    ids = {piece: int(value) for piece, value in pairs if value.isdecimal()}
    id_counts = Counter(int(value) for _, value in pairs if value.isdecimal())
    faults = {
        "pieces without a whole number as their id": [piece for piece, value in pairs if not value.isdecimal()],
        "pieces that occur twice": [piece for piece, count in counts.items() if count > 1],
        "ids that occur twice": [str(value) for value, count in id_counts.items() if count > 1],
    }
    problems = [f"{path.name}: {what}: {_shown(items)}" for what, items in faults.items() if items]
    if problems:
        raise ExportError(f"{path.name} cannot be used", problems)
    return ids


def _yaml_pairs(text: str) -> Iterator[tuple[str, str]]:
    """Keys and values as they are spelled: `no`, `~`, `1` and `=` are pieces, not values of YAML."""
    root = yaml.compose(text, Loader=_NODES)
    if not isinstance(root, yaml.MappingNode):
        raise ValueError("it is not a mapping of pieces to ids")
    for key, value in root.value:
        if not isinstance(key, yaml.ScalarNode) or not isinstance(value, yaml.ScalarNode):
            raise ValueError(f"line {key.start_mark.line + 1} is not a piece and its id")
        yield key.value, value.value


def _json_pairs(text: str) -> Iterator[tuple[str, str]]:
    content = json.loads(text, object_pairs_hook=list)
    if not isinstance(content, list) or not all(isinstance(item, tuple) for item in content):
        raise ValueError("it is not a mapping of pieces to ids")
    for piece, value in content:
        yield piece, str(value)


def _shown(items: list[str]) -> str:
    more = f" and {len(items) - _SHOWN} more" if len(items) > _SHOWN else ""
    return ", ".join(map(repr, items[:_SHOWN])) + more


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
