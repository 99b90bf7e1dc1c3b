"""Every module says its job, and every function on arrays says their shapes."""

import ast
import re

import pytest

ARRAY_ROOMS = ("service/search/", "service/engine/")
ARRAY = re.compile(r"ndarray|NDArray|Array\b|Ids\b|Logits\b|OrtValue")
# (R, V) or [S, L] in the letters of docs/architecture.md; (n, c) or (count,) for lengths of the function's own.
SHAPE = re.compile(
    r"[(\[](?:[\w+*/ -]+, ?)*(?:[\w+*/ -]*\b(?:[SLRKTVHDEP]|k)\b[\w+*/ -]*)(?:, ?[\w+*/ -]+)*,?[)\]]"
    r"|\(\w(?:, \w)+\)|\([\w+]+,\)"
)
# Arrays of any shape, and the same arrays as a documented function's.
ELSEWHERE = re.compile(r"\bshapes?\b|\bsee [A-Z]\w+\.\w+")

Function = ast.FunctionDef | ast.AsyncFunctionDef


def silent_module(path: str, tree: ast.Module) -> list[str]:
    return [] if ast.get_docstring(tree) else [f"{path}: does not say its job"]


def is_protocol(node: ast.ClassDef) -> bool:
    return any("Protocol" in ast.unparse(base) for base in node.bases)


def silent_methods(path: str, tree: ast.Module) -> list[str]:
    """Public methods without a docstring; a protocol's are documented by the protocol."""
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]
    methods = [(node, method) for node in classes if not is_protocol(node) for method in node.body]
    return [
        f"{path}:{method.lineno} {node.name}.{method.name}: no docstring"
        for node, method in methods
        if isinstance(method, Function) and not method.name.startswith("_") and not ast.get_docstring(method)
    ]


def bare_asserts(path: str, tree: ast.Module) -> list[str]:
    asserts = [node for node in ast.walk(tree) if isinstance(node, ast.Assert)]
    return [f"{path}:{node.lineno}: an assertion without its sentence" for node in asserts if node.msg is None]


def touches_arrays(function: Function) -> bool:
    """Whether the signature names an array type, also inside another type."""
    arguments = function.args
    annotations = [argument.annotation for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]]
    return any(ARRAY.search(ast.unparse(annotation)) for annotation in [*annotations, function.returns] if annotation)


def mentions_shape(docstring: str) -> bool:
    return bool(SHAPE.search(docstring) or ELSEWHERE.search(docstring))


def shapeless(path: str, tree: ast.Module) -> list[str]:
    classes = {node: ast.get_docstring(node) or "" for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    owner = {child: text for node, text in classes.items() for child in node.body}
    problems = []
    for node in ast.walk(tree):
        if not isinstance(node, Function) or node.name.startswith("_") or not touches_arrays(node):
            continue
        if not mentions_shape((ast.get_docstring(node) or "") + owner.get(node, "")):
            problems.append(f"{path}:{node.lineno} {node.name}: no shape")
    return problems


def test_every_module_says_its_job(modules):
    code = [module for module in modules if not module.is_test]
    problems = [problem for module in code for problem in silent_module(module.path, module.tree)]
    assert not problems, "\n".join(problems)


def test_every_folder_of_code_is_a_package(modules):
    paths = {module.path for module in modules if module.is_product}
    folders = {path.rsplit("/", 1)[0] for path in paths}
    assert sorted(folder for folder in folders if f"{folder}/__init__.py" not in paths) == []


def test_public_methods_say_what_their_names_do_not(modules):
    code = [module for module in modules if module.is_product]
    problems = [problem for module in code for problem in silent_methods(module.path, module.tree)]
    assert not problems, "\n".join(problems)


def test_every_assertion_says_what_it_relies_on(modules):
    code = [module for module in modules if module.is_product]
    problems = [problem for module in code for problem in bare_asserts(module.path, module.tree)]
    assert not problems, "\n".join(problems)


def test_functions_on_arrays_say_their_shapes(modules):
    code = [module for module in modules if module.path.startswith(ARRAY_ROOMS)]
    problems = [problem for module in code for problem in shapeless(module.path, module.tree)]
    assert not problems, "\n".join(problems)


def test_the_rules_see_silence():
    assert silent_module("a.py", ast.parse("x = 1"))
    assert not silent_module("a.py", ast.parse('"""Counts."""\nx = 1'))


def test_the_rules_see_a_silent_method_and_a_bare_assertion():
    method = "\n    def read(self) -> str: ..."
    assert silent_methods("a.py", ast.parse(f"class A:{method}"))
    assert not silent_methods("a.py", ast.parse(f"class A(Protocol):{method}\nclass _B:{method}"))
    assert bare_asserts("a.py", ast.parse("def f():\n    assert x"))
    assert not bare_asserts("a.py", ast.parse("assert x, 'x is set by y'"))


@pytest.mark.parametrize(
    "code",
    [
        "def f(x: NDArray[float32]) -> None:\n    '''Adds one.'''",
        "def f(x: int) -> list[np.ndarray]: ...",
        "class A:\n    def f(self, ids: np.ndarray) -> None:\n        '''Adds one (twice).'''",
    ],
)
def test_the_rules_see_an_array_without_a_shape(code):
    assert shapeless("a.py", ast.parse(code))


@pytest.mark.parametrize(
    "code",
    [
        "def f(x: NDArray[float32]) -> None:\n    '''Adds one to x (R, V).'''",
        "def f(x: NDArray[float32]) -> None:\n    '''Copies ids [S, L] int64.'''",
        "def f(x: NDArray[float32]) -> None:\n    '''Reorders rows (R,).'''",
        "def f(x: NDArray[int64]) -> None:\n    '''Takes order (n, c).'''",
        "def f(x: int) -> None: ...",
        "def _f(x: np.ndarray) -> None: ...",
        "class A:\n    '''Keeps ids (R,).'''\n    def f(self, ids: np.ndarray) -> None: ...",
    ],
)
def test_the_rules_pass_a_shape(code):
    assert not shapeless("a.py", ast.parse(code))
