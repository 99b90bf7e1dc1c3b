"""What is declared is pinned, pins are versions only, and nothing but the parity environment can bring PyTorch."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

PIN = re.compile(r"^[A-Za-z0-9._-]+==[A-Za-z0-9.!_]+$")


# Import name -> distribution, where they differ.
DISTRIBUTIONS = {"google": "protobuf", "yaml": "pyyaml"}
# Comes with a declared distribution that is built on it and gives it out.
INHERITED = {
    "annotated-types": "pydantic",
    "protobuf": "onnx",
    "pydantic-core": "pydantic",
    "starlette": "fastapi",
}


def imported(tree: ast.Module) -> set[str]:
    """Distributions whose modules a file imports, the standard library and our own packages aside."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    tops = {name.split(".")[0] for name in names} - sys.stdlib_module_names - {"service", "export", "bench"}
    return {canonical(DISTRIBUTIONS.get(name, name)) for name in tops}


def canonical(requirement: str) -> str:
    name = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert name, requirement
    return re.sub(r"[-_.]+", "-", name.group()).lower()


def pins(text: str) -> list[str]:
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def unusual_pins(text: str) -> list[str]:
    """Lines that are not `name==version`: addresses, hashes, options, ranges, local builds."""
    return [line for line in pins(text) if not PIN.match(line)]


@pytest.fixture(scope="module")
def project(root: Path) -> dict[str, list[str]]:
    """Extra -> canonical names of what it asks for; "" is what is always installed."""
    declared = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {"": declared["dependencies"], **declared["optional-dependencies"]}
    return {extra: [canonical(requirement) for requirement in wanted] for extra, wanted in extras.items()}


def pinned(root: Path, name: str) -> set[str]:
    return {canonical(line) for line in pins((root / name).read_text(encoding="utf-8"))}


def test_constraints_are_versions_and_nothing_else(root):
    files = sorted(root.glob("constraints*.txt"))
    assert len(files) == 3
    assert [line for path in files for line in unusual_pins(path.read_text(encoding="utf-8"))] == []


def test_nothing_is_pinned_twice(root):
    names = [name for path in root.glob("constraints*.txt") for name in sorted(pinned(root, path.name))]
    assert sorted(names) == sorted(set(names))


def test_everything_declared_is_pinned(root, project):
    ordinary = pinned(root, "constraints.txt")
    usual = [name for extra, names in project.items() if extra not in ("gpu", "parity") for name in names]
    assert set(usual) <= ordinary
    assert set(project["gpu"]) <= pinned(root, "constraints-gpu.txt")
    assert set(project["parity"]) <= pinned(root, "constraints-parity.txt")


@pytest.mark.parametrize(
    ("folder", "extras"), [("service/", ["", "cpu"]), ("export/", ["", "cpu", "export", "parity"])]
)
def test_what_the_code_imports_is_what_it_declares(modules, project, folder, extras):
    used = set[str]().union(*(imported(module.tree) for module in modules if module.path.startswith(folder)))
    declared = {name for extra in extras for name in project[extra]}
    assert {name for name in used if name not in declared and INHERITED.get(name) not in declared} == set()


def test_nothing_is_declared_that_no_code_imports(modules, project):
    used = set[str]().union(*(imported(module.tree) for module in modules))
    declared = {*project[""], *project["cpu"], *project["export"]}
    assert declared - used == set()


def test_only_the_parity_environment_knows_pytorch(root, project):
    assert "torch" not in pinned(root, "constraints.txt") | pinned(root, "constraints-gpu.txt")
    assert [extra for extra, names in project.items() if "torch" in names] == ["parity"]


def test_no_environment_gets_both_builds_of_the_runtime(project):
    both = {"onnxruntime", "onnxruntime-gpu"}
    assert [extra for extra, names in project.items() if both <= {*names, *project[""]}] == []
    assert not both & set(project[""])


@pytest.mark.parametrize(
    "line", ["a @ file:///x", "--hash=sha256:0", "a>=1", "a==1+cpu", "-e .", "https://example.org/a.whl"]
)
def test_the_rule_sees_an_unusual_pin(line):
    assert unusual_pins(f"# note\nb==1.0\n{line}\n") == [line]


def test_the_rule_sees_imports_wherever_they_are():
    top = "import os, numpy.typing\nfrom google.protobuf import message\n"
    inner = "def f():\n    import torch.nn\n    from service import x\n"
    assert imported(ast.parse(top + inner)) == {"numpy", "protobuf", "torch"}
