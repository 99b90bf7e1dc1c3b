"""Modules are named after their job, and one word stands for one thing."""

import ast
import re
from pathlib import PurePosixPath

import pytest

BANNED_MODULES = {"base", "common", "constants", "helper", "helpers", "misc", "types", "util", "utils"}
# "source" and "target" everywhere.
BANNED_WORDS = re.compile(r"(?:^|_)(?:src|tgt|trg)(?:_|$)")
# A class needs a noun that says what it manages, handles, helps or processes.
BARE_CLASSES = re.compile(r"^_*(?:Manager|Handler|Helper|Processor)s?$")


def banned_module(path: str) -> list[str]:
    parts = PurePosixPath(path).with_suffix("").parts
    return [f"{path}: no module is called {part}" for part in parts if part in BANNED_MODULES]


def identifiers(tree: ast.Module) -> set[str]:
    """Every name the file introduces: variables, parameters, functions, classes, attributes it sets."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.attr)
    return names


def banned_words(path: str, tree: ast.Module) -> list[str]:
    return [f"{path}: {name}" for name in sorted(identifiers(tree)) if BANNED_WORDS.search(name.lower())]


def bare_classes(path: str, tree: ast.Module) -> list[str]:
    classes = [node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    return [f"{path}: {name}" for name in classes if BARE_CLASSES.match(name)]


def test_no_module_is_a_drawer(modules):
    problems = [problem for module in modules for problem in banned_module(module.path)]
    assert not problems, "\n".join(problems)


def test_source_and_target_are_never_abbreviated(modules):
    problems = [problem for module in modules for problem in banned_words(module.path, module.tree)]
    assert not problems, "\n".join(problems)


def test_every_class_says_what_it_is_about(modules):
    problems = [problem for module in modules for problem in bare_classes(module.path, module.tree)]
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("path", ["service/utils.py", "service/common/clock.py", "export/helpers.py"])
def test_the_rules_see_a_drawer(path):
    assert banned_module(path)
    assert not banned_module("service/text/segmentation.py")


@pytest.mark.parametrize(
    "code", ["src = 1", "def f(tgt_ids): ...", "self.trg = 1", "for src_id in x: ...", "def tgt(): ..."]
)
def test_the_rules_see_an_abbreviation(code):
    assert banned_words("a.py", ast.parse(code))


def test_the_rules_see_a_bare_class():
    assert bare_classes("a.py", ast.parse("class Manager: ..."))
    assert not bare_classes("a.py", ast.parse("class RepetitionProcessor: ..."))
