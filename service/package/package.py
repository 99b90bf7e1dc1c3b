"""Opens a model package: checks that it is complete and unchanged, then says where things are.

Running the graphs is the engine's job; this module never loads weights.
"""

import hashlib
from functools import cached_property
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from service.errors import PackageInvalidError
from service.package.manifest import FileRecord, Manifest
from service.package.tokenizer import SourceTokenizer, TargetTokenizer

MANIFEST_FILE = "manifest.json"

GraphKind = Literal["encoder", "decoder"]

_CHUNK_BYTES = 1 << 20


class ModelPackage:
    """A checked package. Its tokenizers are loaded when first asked for, and kept."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        self.manifest = manifest

    @classmethod
    def open(cls, folder: Path) -> "ModelPackage":
        """Reads the manifest and compares size and SHA-256 of every file.

        Raises PackageInvalidError, whose `problems` name every fault found.
        """
        manifest = read_manifest(folder)
        problems = [
            problem
            for name, record in sorted(manifest.files.items())
            if (problem := _file_problem(folder / name, record)) is not None
        ]
        if problems:
            raise PackageInvalidError(f"the model package {folder.name} is damaged", problems)
        return cls(folder, manifest)

    def graph(self, kind: GraphKind, precision: str) -> Path:
        """Path of one graph file. Raises PackageInvalidError when the package has no such precision."""
        graphs = self.manifest.precisions.get(precision)
        if graphs is None:
            known = ", ".join(sorted(self.manifest.precisions))
            raise PackageInvalidError(f"{self.manifest.name} has no precision {precision} (it has: {known})")
        return self.folder / (graphs.encoder if kind == "encoder" else graphs.decoder)

    @cached_property
    def source_tokenizer(self) -> SourceTokenizer:
        """The tokenizer of source texts. Raises PackageInvalidError when its file cannot be used."""
        return SourceTokenizer.load(
            self.folder / self.manifest.tokenizers.source,
            self.manifest.dimensions.source_vocabulary_size,
            self.manifest.special_ids.source_unk,
        )

    @cached_property
    def target_tokenizer(self) -> TargetTokenizer:
        """The tokenizer of target texts. Raises PackageInvalidError when its file cannot be used."""
        return TargetTokenizer.load(self.folder / self.manifest.tokenizers.target)


def read_manifest(folder: Path) -> Manifest:
    """The manifest alone, without a look at the files. Raises PackageInvalidError with every fault in it."""
    path = folder / MANIFEST_FILE
    try:
        content = path.read_bytes()
    except OSError as error:
        raise PackageInvalidError(f"{folder} is not a model package: {MANIFEST_FILE}: {error.strerror}") from None
    try:
        return Manifest.model_validate_json(content)
    except ValidationError as error:
        problems = [f"{'.'.join(map(str, fault['loc'])) or 'manifest'}: {fault['msg']}" for fault in error.errors()]
        raise PackageInvalidError(f"the manifest of {folder.name} is not valid", problems) from None


def file_record(path: Path) -> FileRecord:
    """Size and SHA-256 of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
    return FileRecord(size_bytes=path.stat().st_size, sha256=digest.hexdigest())


def _file_problem(path: Path, expected: FileRecord) -> str | None:
    if not path.is_file():
        return f"{path.name} is missing"
    size = path.stat().st_size
    if size != expected.size_bytes:
        return f"{path.name} has {size} bytes, not {expected.size_bytes}"
    if file_record(path).sha256 != expected.sha256:
        return f"{path.name} is not the file that was exported: its SHA-256 differs"
    return None
