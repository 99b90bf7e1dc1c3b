"""The bundled package is what the exporter makes of the bundled checkpoint today."""

from pathlib import Path

import pytest

from export.options import ExportOptions
from export.reading import read_checkpoint
from export.run import export_checkpoint
from service.package.package import ModelPackage

ROOT = Path(__file__).resolve().parents[2]
CHECKPOINT = ROOT / "checkpoints" / "en-de"
PACKAGE = ROOT / "models" / "en-de"


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fresh") / "en-de"
    export_checkpoint(ExportOptions(CHECKPOINT, folder))
    return folder, read_checkpoint(CHECKPOINT, (), ())


def test_the_bundled_package_is_whole():
    manifest = ModelPackage.open(PACKAGE).manifest
    assert manifest.name == "en-de"
    assert manifest.licence == "cc-by-4.0"
    assert "tatoeba.org" in manifest.attribution
    assert "Microsoft" in manifest.attribution


def test_its_files_are_those_of_a_fresh_export(fresh):
    folder, _ = fresh
    # The report holds measured numbers, whose last digits are the machine's, and the manifest its hash.
    files = [path.name for path in folder.iterdir() if path.name not in ("report.json", "manifest.json")]
    assert [name for name in files if (folder / name).read_bytes() != (PACKAGE / name).read_bytes()] == []


def test_it_says_what_the_checkpoint_says(fresh):
    _, read = fresh
    manifest = ModelPackage.open(PACKAGE).manifest
    assert manifest.origin.weights_sha256 == read.checkpoint.weights_sha256()
    assert manifest.generation == read.defaults.generation
    assert manifest.languages == read.languages
    assert manifest.banned_ids == read.spec.banned_ids


def test_everything_bundled_stays_small():
    files = [path for folder in (CHECKPOINT, PACKAGE) for path in folder.iterdir()]
    assert sum(path.stat().st_size for path in files) < 60_000_000
