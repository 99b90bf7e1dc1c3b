"""Verso's fp32 decoding of held-out sentences, token for token what Hugging Face `generate` gives.

All settings of all sentences run in one crowd on Verso's side, one by one on the other.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from service.package.package import ModelPackage
from service.search.options import DecodingOptions
from service.translation.model import default_options
from tests.golden.hf import golden_cases

pytestmark = [pytest.mark.parity, pytest.mark.timeout(1500)]

HELD_OUT = golden_cases.FOLDER.parent / "heldout.en-de.tsv"
NUM_TATOEBA = 1000
MAX_ROWS = 128
MAX_NEW_TOKENS = 128
SPREAD_PER_SENTENCE = 3
MAX_TIE_SHARE = 0.01
SCORE_TOLERANCE = 1e-4

PLAIN = DecodingOptions(max_new_tokens=MAX_NEW_TOKENS)
BEAM_4 = replace(PLAIN, beam_size=4)
SPREAD = {
    **{
        f"beam_{beam}_length_{penalty}_early_{early}": replace(
            PLAIN, beam_size=beam, num_hypotheses=beam, length_penalty=penalty, early_stopping=early
        )
        for beam in (2, 4, 5)
        for penalty in (0.6, 1.0, 1.4)
        for early in (False, True)
    },
    "beam_4_never": replace(BEAM_4, early_stopping="never"),
    "beam_5_never_length_0.6": replace(PLAIN, beam_size=5, early_stopping="never", length_penalty=0.6),
    "greedy_ngram_2": replace(PLAIN, no_repeat_ngram_size=2),
    "greedy_ngram_3": replace(PLAIN, no_repeat_ngram_size=3),
    "beam_4_ngram_2": replace(BEAM_4, no_repeat_ngram_size=2),
    "beam_4_ngram_3": replace(BEAM_4, no_repeat_ngram_size=3, num_hypotheses=4),
    "greedy_repetition_1.3": replace(PLAIN, repetition_penalty=1.3),
    "beam_4_repetition_1.3": replace(BEAM_4, repetition_penalty=1.3),
    "beam_4_min_12": replace(BEAM_4, min_new_tokens=12),
    "beam_4_max_8": replace(BEAM_4, max_new_tokens=8, num_hypotheses=4),
}


def test_every_source_is_tokenised_as_the_reference_does(real_checkpoint: Path, real_package: Path) -> None:
    from tests.parity.oracle import load_tokenizer

    tokenizer, package = load_tokenizer(real_checkpoint), ModelPackage.open(real_package)
    texts = [line.split("\t")[0] for line in HELD_OUT.read_text(encoding="utf-8").splitlines()]

    eos_id = package.manifest.special_ids.eos
    ours = [[*ids, eos_id] for ids in package.source_tokenizer.encode_batch(texts)]
    differing = [text for text, ids in zip(texts, ours, strict=True) if ids != tokenizer(text)["input_ids"]]
    assert differing == []


def test_held_out_sentences_decode_as_generate_does(
    oracle_of: Callable[[str], Any], real_checkpoint: Path, real_package: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from tests.parity.comparison import Comparison, difference, score_errors
    from tests.parity.oracle import generate, load_oracle
    from tests.parity.verso_side import decode

    oracle = oracle_of(golden_cases.REAL_NAME)
    exact_oracle = load_oracle(real_checkpoint, half_weights=True, double=True)
    sources, defaults = _source_ids(real_checkpoint), default_options(ModelPackage.open(real_package), MAX_ROWS)
    plan = _plan(len(sources), defaults)
    got = decode(real_package, "fp32", [sources[index] for _, index, _ in plan], [options for _, _, options in plan])
    cases = [
        Comparison(setting, index, sources[index], options, generate(oracle, sources[index], options), hypotheses)
        for (setting, index, options), hypotheses in zip(plan, got, strict=True)
    ]
    differences = [found for case in cases if (found := difference(case, oracle, exact_oracle)) is not None]
    ties = [found for found in differences if found.is_tie]
    differing = {(found.setting, found.source) for found in differences}
    errors = [error for case in cases if (case.setting, case.source) not in differing for error in score_errors(case)]
    with capsys.disabled():
        print(f"\n{len(cases)} decodings of {len(sources)} sentences; {len(differences)} differ, {len(ties)} by a tie")
        print(f"largest difference of a beam score {max(errors):.1e}; {dict(Counter(case.setting for case in cases))}")
        print(*differences, sep="\n")

    assert [found for found in differences if not found.is_tie] == []
    assert len(ties) <= MAX_TIE_SHARE * len(cases)
    assert max(errors) <= SCORE_TOLERANCE


def _source_ids(checkpoint: Path) -> list[list[int]]:
    from tests.parity.oracle import load_tokenizer

    tokenizer = load_tokenizer(checkpoint)
    lines = HELD_OUT.read_text(encoding="utf-8").splitlines()
    chosen = [*lines[:NUM_TATOEBA:4], *lines[NUM_TATOEBA::3]]
    return [tokenizer(line.split("\t")[0])["input_ids"] for line in chosen]


def _plan(num_sources: int, defaults: DecodingOptions) -> list[tuple[str, int, DecodingOptions]]:
    """Greedy and the package defaults for every sentence; the other settings in turn, three for each sentence."""
    greedy = DecodingOptions(max_new_tokens=defaults.max_new_tokens)
    plan = [("greedy", index, greedy) for index in range(num_sources)]
    plan += [("package_defaults", index, defaults) for index in range(num_sources)]
    names = list(SPREAD)
    for index in range(num_sources):
        for turn in range(SPREAD_PER_SENTENCE):
            name = names[(index * SPREAD_PER_SENTENCE + turn) % len(names)]
            plan.append((name, index, SPREAD[name]))
    return plan
