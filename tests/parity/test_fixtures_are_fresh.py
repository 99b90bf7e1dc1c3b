"""The committed fixtures are what transformers computes today from the committed checkpoints."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.golden.hf import golden_cases
from tests.golden.hf.golden_cases import FAMILY_NAMES, REAL_NAME, TINY_NAMES, GoldenCase

pytestmark = [pytest.mark.parity, pytest.mark.timeout(900)]

SCORE_TOLERANCE = 2e-5
ROW_TOLERANCE = 5e-5


@pytest.mark.parametrize("name", [*TINY_NAMES, *FAMILY_NAMES, REAL_NAME])
def test_generate_still_gives_the_committed_cases(oracle_of: Callable[[str], Any], name: str) -> None:
    from tests.parity.make_fixtures import compute_cases

    sources, committed = golden_cases.read_sources(name), golden_cases.read_cases(name)
    settings = golden_cases.read_settings(name)
    computed = list(compute_cases(oracle_of(name), sources, settings, full=name == REAL_NAME))

    assert [(case.setting, case.source) for case in computed] == [(case.setting, case.source) for case in committed]
    pairs = zip(computed, committed, strict=True)
    stale = [new for new, old in pairs if not old.near_tie and (new.outputs != old.outputs or not _close(new, old))]
    assert stale == []


@pytest.mark.parametrize("name", [*TINY_NAMES, *FAMILY_NAMES])
def test_teacher_forcing_still_gives_the_committed_rows(oracle_of: Callable[[str], Any], name: str) -> None:
    from tests.parity.make_fixtures import compute_rows

    computed = compute_rows(oracle_of(name), golden_cases.read_sources(name))

    committed = golden_cases.read_rows(name)
    assert [(rows.source, rows.target) for rows in computed] == [(rows.source, rows.target) for rows in committed]
    for new, old in zip(computed, committed, strict=True):
        assert new.top_ids == old.top_ids
        for new_row, old_row in zip(new.top_log_probs, old.top_log_probs, strict=True):
            assert new_row == pytest.approx(old_row, abs=ROW_TOLERANCE)


def test_tokenizer_still_gives_the_committed_ids_and_texts(real_checkpoint: Path) -> None:
    from tests.parity.make_fixtures import english_sentences
    from tests.parity.oracle import load_tokenizer

    tokenizer, sources = load_tokenizer(real_checkpoint), golden_cases.read_sources(REAL_NAME)

    assert [source.text for source in sources] == english_sentences()
    assert [source.ids for source in sources] == [tokenizer(source.text)["input_ids"] for source in sources]
    for case in golden_cases.read_cases(REAL_NAME):
        assert case.texts == [tokenizer.decode(output, skip_special_tokens=True) for output in case.outputs]


def _close(new: GoldenCase, old: GoldenCase) -> bool:
    scores = new.scores == pytest.approx(old.scores, abs=SCORE_TOLERANCE)
    return scores and new.log_probs == pytest.approx(old.log_probs, abs=ROW_TOLERANCE)
