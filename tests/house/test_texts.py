"""Committed text holds no left-over notes and nothing of the machine it was written on."""

import re

import pytest

# Assembled, so that this file does not break its own rules.
NOTES = re.compile(r"\b(?:" + "|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"]) + r")\b|<mea" + "sure>")
MACHINE = re.compile(
    "|".join(
        [
            r"(?<![\w.])/(?:work|root|Users)/",
            r"(?<![\w.])/home/[a-z]",
            r"\.pyenv\b",
            r"(?:pypi\.org|pythonhosted\.org|npmjs\.org|deb\.debian\.org|ghcr\.io)",
            r"(?:index[-_]url|find[-_]links|trusted[-_]host)\b",
            r"BEGIN [A-Z ]*PRIVATE KEY",
        ]
    )
)
THIS_FILE = "tests/house/test_texts.py"


def left_over_notes(path: str, text: str) -> list[str]:
    return [f"{path}:{number}" for number, line in enumerate(text.splitlines(), 1) if NOTES.search(line)]


def machine_names(path: str, text: str) -> list[str]:
    return [
        f"{path}:{number} {line.strip()[:80]}"
        for number, line in enumerate(text.splitlines(), 1)
        if MACHINE.search(line)
    ]


def test_no_left_over_notes(texts):
    problems = [problem for path, text in texts.items() for problem in left_over_notes(path, text)]
    assert not problems, "\n".join(problems)


def test_nothing_names_the_machine_it_was_written_on(texts):
    others = {path: text for path, text in texts.items() if path != THIS_FILE}
    problems = [problem for path, text in others.items() for problem in machine_names(path, text)]
    assert not problems, "\n".join(problems)


def test_every_text_ends_with_one_newline(texts):
    assert [path for path, text in texts.items() if text and (not text.endswith("\n") or text.endswith("\n\n"))] == []


@pytest.mark.parametrize("note", ["# TO" + "DO: later", "// FIX" + "ME", "x = 1  # XX" + "X"])
def test_the_rule_sees_a_note(note):
    assert left_over_notes("a.py", note)
    assert not left_over_notes("a.py", "# a to-do list is kept elsewhere")


@pytest.mark.parametrize(
    "line",
    [
        "see /work/x.md",
        "path = '/home/anna/x'",
        "https://files.pythonhosted.org/x",
        "--index-url https://x",
        "/root/.cache",
    ],
)
def test_the_rule_sees_a_machine(line):
    assert machine_names("a.md", line)


@pytest.mark.parametrize("line", ["/app/models", "docs/work/x", "./home/x", "a network/root cause"])
def test_the_rule_passes_ordinary_paths(line):
    assert not machine_names("a.md", line)
