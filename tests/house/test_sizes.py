"""Files, functions and parameter lists stay small enough to be read at once."""

import ast

import pytest

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60
MAX_PARAMETERS = 5
# A command's or route's parameters are its options: the framework reads them from the signature, and nobody calls it.
DECLARED_BY_DECORATOR = {"argument", "option", "command", "get", "post", "put", "delete", "patch", "websocket"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(tree: ast.Module) -> list[Function]:
    return [node for node in ast.walk(tree) if isinstance(node, Function)]


def num_lines(function: Function) -> int:
    """Lines from `def` to the last statement, without the docstring."""
    length = (function.end_lineno or function.lineno) - function.lineno + 1
    if ast.get_docstring(function, clean=False) is not None:
        docstring = function.body[0]
        length -= (docstring.end_lineno or docstring.lineno) - docstring.lineno + 1
    return length


def is_declaration(function: Function) -> bool:
    for decorator in function.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        if isinstance(target, ast.Attribute) and target.attr in DECLARED_BY_DECORATOR:
            return True
    return False


def num_parameters(function: Function) -> int:
    arguments = function.args
    names = [argument.arg for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]]
    return len([name for name in names if name not in ("self", "cls")])


def long_file(path: str, text: str) -> list[str]:
    length = len(text.splitlines())
    return [f"{path}: {length} lines"] if length > MAX_FILE_LINES else []


def long_functions(path: str, tree: ast.Module) -> list[str]:
    return [
        f"{path}:{function.lineno} {function.name}: {num_lines(function)} lines"
        for function in functions(tree)
        if num_lines(function) > MAX_FUNCTION_LINES
    ]


def wide_functions(path: str, tree: ast.Module) -> list[str]:
    return [
        f"{path}:{function.lineno} {function.name}: {num_parameters(function)} parameters"
        for function in functions(tree)
        if num_parameters(function) > MAX_PARAMETERS and not is_declaration(function)
    ]


def test_no_python_file_is_longer_than_the_limit(modules):
    problems = [problem for module in modules for problem in long_file(module.path, module.text)]
    assert not problems, "\n".join(problems)


def test_no_function_is_longer_than_a_screen(modules):
    problems = [problem for module in modules for problem in long_functions(module.path, module.tree)]
    assert not problems, "\n".join(problems)


def test_no_function_takes_more_parameters_than_one_can_remember(modules):
    code = [module for module in modules if not module.is_test]
    problems = [problem for module in code for problem in wide_functions(module.path, module.tree)]
    assert not problems, "\n".join(problems)


def test_the_rules_see_what_is_too_long():
    assert long_file("a.py", "x = 1\n" * (MAX_FILE_LINES + 1))
    assert not long_file("a.py", "x = 1\n" * MAX_FILE_LINES)
    body = "    x = 1\n" * MAX_FUNCTION_LINES
    assert long_functions("a.py", ast.parse("def f() -> None:\n" + body))
    assert not long_functions("a.py", ast.parse("def f() -> None:\n    '''One.\n\n    Two.'''\n" + body[10:]))


@pytest.mark.parametrize(
    "code",
    [
        "def f(a, b, c, d, /, e, *, f): ...",
        "@functools.cache\ndef f(a, b, c, d, e, f): ...",
        "class A:\n    def f(self, a, b, c, d, e, f): ...",
    ],
)
def test_the_rules_see_what_is_too_wide(code):
    assert wide_functions("a.py", ast.parse(code))


def test_the_rules_pass_what_a_framework_calls():
    assert not wide_functions("a.py", ast.parse("@click.option('--a')\ndef f(a, b, c, d, e, f): ..."))
    assert not wide_functions("a.py", ast.parse("class A:\n    def f(self, a, b, c, d, e): ..."))
