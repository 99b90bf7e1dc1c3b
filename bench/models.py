"""Models as every system wants them: the checkpoint, Verso's package of it, and CTranslate2's conversion.

What has to be made is kept in a cache folder, under the hash of what it was made from.
"""

import hashlib
import json
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from bench.random_checkpoint import Sizes, write_random_checkpoint
from bench.rivals.ctranslate import convert


@dataclass(frozen=True, slots=True)
class BenchModel:
    """One model for all systems.

    checkpoint: in Hugging Face layout, to be read as float32. converted: for CTranslate2.
    """

    name: str
    package: Path
    checkpoint: Path
    converted: Path


def random_model(sizes: Sizes, cache: Path, root: Path) -> BenchModel:
    """Makes a model with random weights of these sizes, or finds it in the cache."""
    name = f"base-{sizes.vocabulary_size // 1000}k"
    checkpoint = cache / f"{name}-{_digest([root / 'bench/random_checkpoint.py'])}"
    if not checkpoint.is_dir():
        for folder in cache.glob(f"{name}-*"):
            shutil.rmtree(folder)
        write_random_checkpoint(checkpoint, sizes)
    exporter = sorted([*(root / "export").rglob("*.py"), root / "service/package/manifest.py"])
    package = cache / f"{checkpoint.name}-package-{_digest(exporter)}"
    if not package.is_dir():
        earlier = list(cache.glob(f"{checkpoint.name}-package-*"))
        _export(checkpoint, package)
        for folder in earlier:
            shutil.rmtree(folder)
    return BenchModel(name, package, checkpoint, _converted(checkpoint, cache))


def bundled_model(package: Path, checkpoint: Path, cache: Path) -> BenchModel:
    """Takes a package and the checkpoint it was made from, and converts the latter for CTranslate2."""
    weights = [checkpoint / name for name in ("config.json", "model.safetensors", "pytorch_model.bin")]
    known = _digest(path for path in weights if path.is_file())
    widened = _widened(checkpoint, cache / f"{checkpoint.name}-{known}")
    return BenchModel(package.name, package, widened, _converted(widened, cache))


def _converted(checkpoint: Path, cache: Path) -> Path:
    return convert(checkpoint, cache / f"{checkpoint.name}-ctranslate2-{version('ctranslate2')}")


def _export(checkpoint: Path, package: Path) -> None:
    """Exports with the exporter's defaults, its verification left out: it takes minutes and would judge noise."""
    from unittest.mock import patch

    from export.options import ExportOptions
    from export.run import export_checkpoint
    from export.tokenizer.parity import ParityReport, TokenizerParity
    from export.verify.agreement import AgreementLimits
    from export.verify.verification import Verification

    nothing = TokenizerParity(0, (), 0)
    unverified = Verification({}, {}, {}, AgreementLimits(), ParityReport(nothing, nothing, 0))
    with patch("export.run.verify", return_value=unverified):
        export_checkpoint(ExportOptions(checkpoint=checkpoint, output=package))


def _widened(checkpoint: Path, folder: Path) -> Path:
    """Makes the same checkpoint, by links, with a configuration that asks for float32.

    CTranslate2's converter computes in the type the configuration names; in float16 it would round the positions.
    """
    if folder.is_dir():
        return folder
    folder.mkdir(parents=True)
    for path in checkpoint.iterdir():
        if path.is_file() and path.name != "config.json":
            (folder / path.name).symlink_to(path.resolve())
    config = json.loads((checkpoint / "config.json").read_text(encoding="utf-8"))
    config = {name: value for name, value in config.items() if name not in ("dtype", "torch_dtype")}
    (folder / "config.json").write_text(json.dumps({**config, "dtype": "float32"}, indent=1) + "\n", encoding="utf-8")
    return folder


def _digest(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:12]
