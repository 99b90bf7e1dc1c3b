"""What the house rules look at: the files that are, or are about to be, committed, and the parsed Python among them."""

import ast
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT_SUFFIXES = {".py", ".md", ".toml", ".txt", ".yml", ".yaml", ".json", ".html", ".css", ".js", ".cfg", ".ini", ""}
LARGEST_TEXT_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Module:
    """One Python file: `path` is relative to the repository, with forward slashes."""

    path: str
    text: str
    tree: ast.Module

    @property
    def is_product(self) -> bool:
        return self.path.startswith(("service/", "export/"))

    @property
    def is_test(self) -> bool:
        return self.path.startswith("tests/")


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def committed_files() -> list[Path]:
    """Files that git knows or would add; outside a clone, every file that is no build product."""
    git = shutil.which("git")
    if git and (ROOT / ".git").exists():
        command = [git, "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode()
        paths = [ROOT / name for name in listed.split("\0") if name]
    else:
        hidden = (".venv", ".git", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis", "build", "__pycache__")
        paths = [path for path in ROOT.rglob("*") if not any(part.startswith(hidden) for part in path.parts)]
    return sorted(path for path in paths if path.is_file())


@pytest.fixture(scope="session")
def texts(committed_files: list[Path]) -> dict[str, str]:
    """Path relative to the repository -> content, for every committed text file of ordinary size."""
    chosen = {}
    for path in committed_files:
        if path.suffix in TEXT_SUFFIXES and path.stat().st_size <= LARGEST_TEXT_BYTES:
            chosen[path.relative_to(ROOT).as_posix()] = path.read_text(encoding="utf-8")
    return chosen


@pytest.fixture(scope="session")
def modules(texts: dict[str, str]) -> list[Module]:
    found = [Module(path, text, ast.parse(text, path)) for path, text in texts.items() if path.endswith(".py")]
    assert any(module.is_product for module in found), "the rules found no code to look at"
    return found
