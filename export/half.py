"""Copies a checkpoint with its weights in 16-bit floats: half the size, and what the default models are kept as.

    python -m export.half CHECKPOINT OUTPUT

The copy is a checkpoint like the first one; exporting it is the same as exporting any other.
"""

import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from export.checkpoint import Checkpoint
from export.half_range import beyond_half
from export.safetensors_file import write_safetensors
from service.errors import ExportError

WEIGHTS_FILE = "model.safetensors"
_TEXT_SUFFIXES = {".json", ".md", ".txt"}
_COPIED_SUFFIXES = {*_TEXT_SUFFIXES, ".spm", ".model"}


def copy_in_half(checkpoint: Path, output: Path) -> None:
    """Writes the copy into `output`, which must not exist.

    Raises ExportError when a weight is too large for 16 bits, and names every such tensor; and for Marian's own files,
    whose tensors are not stored as they are used.
    """
    if output.exists():
        raise ExportError(f"{output} exists already")
    opened = Checkpoint.open(checkpoint)
    if opened.native is not None:
        raise ExportError(
            f"{checkpoint} has Marian's own files, which are no tensors to be copied: export it as it is, with the "
            "precision fp16 if that is what is wanted"
        )
    if problems := beyond_half(opened, opened.names):
        raise ExportError("the weights do not fit into 16 bits", problems)
    output.mkdir(parents=True)
    write_safetensors(output / WEIGHTS_FILE, _Halved(opened))
    for path in sorted(checkpoint.iterdir()):
        if path.suffix in _COPIED_SUFFIXES and not path.name.endswith(".index.json"):
            _copy(path, output / path.name)


class _Halved(Mapping[str, NDArray[Any]]):
    """A checkpoint's tensors in 16 bits, each made when it is asked for."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._checkpoint.tensor(name).astype(np.float16)

    def __iter__(self) -> Iterator[str]:
        return iter(self._checkpoint.names)

    def __len__(self) -> int:
        return len(self._checkpoint.names)


def _copy(source: Path, output: Path) -> None:
    """Copies a file; texts end with a newline afterwards, as text files in a repository should."""
    shutil.copyfile(source, output)
    if source.suffix in _TEXT_SUFFIXES and not source.read_bytes().endswith(b"\n"):
        with output.open("ab") as file:
            file.write(b"\n")


def main() -> int:
    """The command; returns its exit status."""
    if len(sys.argv) != 3:
        sys.stderr.write("usage: python -m export.half CHECKPOINT OUTPUT\n")
        return 2
    try:
        copy_in_half(Path(sys.argv[1]), Path(sys.argv[2]))
    except ExportError as error:
        sys.stderr.write("\n".join([error.message, *error.problems]) + "\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
