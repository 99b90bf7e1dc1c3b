"""Nothing lost, nothing invented: the bundled model over HTTP on short texts that usually break something."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.faithful_checks import problems
from tests.integration.running import PACKAGE
from tests.integration.served import served, translate

GOLDEN = Path(__file__).parents[1] / "golden" / "faithful.jsonl"
LINES = [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").split("\n") if line]


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    with served(PACKAGE) as url:
        yield url


@pytest.mark.parametrize("beam_size", [1, 4])
@pytest.mark.parametrize("line", LINES, ids=lambda line: line["id"])
def test_a_text_comes_back_whole(service, line, beam_size):
    decoding = {"beam_size": beam_size}
    answer = translate(service, q=line["q"], include=["segments"], decoding=decoding, **line.get("request", {}))
    target = answer["translatedText"]
    assert problems(line["q"], target, answer["segments"], line["checks"]) == [], target


def test_there_are_enough_lines_of_enough_kinds():
    assert len(LINES) >= 150
    assert len({line["kind"] for line in LINES}) >= 12
    assert len({line["id"] for line in LINES}) == len(LINES)
