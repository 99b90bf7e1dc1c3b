"""Threads, processes and locks stay where they are accounted for: decode loops, and one crossing into each."""

import ast

import pytest

CONCURRENCY = {"threading", "_thread", "multiprocessing", "concurrent", "queue", "subprocess"}
OFF_LOOP_CALLS = {"to_thread", "run_in_executor", "run_sync"}
# Room or file -> why it may.
ALLOWED = {
    "service/app.py": "loads and closes models in a worker thread while the event loop answers",
    "service/translation/translator.py": "takes long texts apart and puts them together off the event loop",
    "service/translation/windows.py": "prepares and advances windows of long texts off the event loop",
    "service/scheduler/": "owns decode threads and processes and the gate, the only crossing into them",
}


def concurrency(path: str, tree: ast.Module) -> list[str]:
    problems = []
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in OFF_LOOP_CALLS:
            problems.append(f"{path}:{node.lineno} calls {node.func.attr}")
        problems += [f"{path}:{node.lineno} imports {name}" for name in names if name.split(".")[0] in CONCURRENCY]
    return problems


def test_threads_and_locks_live_in_the_scheduler(modules):
    code = [module for module in modules if module.is_product and not module.path.startswith(tuple(ALLOWED))]
    problems = [problem for module in code for problem in concurrency(module.path, module.tree)]
    assert not problems, "\n".join(problems)


def test_every_exception_is_still_needed(modules):
    used = {
        place
        for module in modules
        for place in ALLOWED
        if module.path.startswith(place) and concurrency(module.path, module.tree)
    }
    assert used == set(ALLOWED)


@pytest.mark.parametrize(
    "code",
    [
        "import threading",
        "from concurrent.futures import Future",
        "import queue as q",
        "async def f():\n    await asyncio.to_thread(g)",
        "loop.run_in_executor(None, g)",
    ],
)
def test_the_rule_sees_a_thread(code):
    assert concurrency("a.py", ast.parse(code))


def test_the_rule_passes_ordinary_code():
    assert not concurrency("a.py", ast.parse("import asyncio\nfrom collections import deque\nasyncio.run(f())"))
