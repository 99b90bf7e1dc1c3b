"""Search in the running batch against a plain reference over whole vocabularies."""

import itertools

import numpy as np
import pytest

from service.scheduler.batch import RunningBatch
from service.scheduler.sequence import Sequence, Submission
from service.search.group import SearchTask
from service.search.hypothesis import StopReason
from service.search.options import DecodingOptions
from service.search.rules import DecodingRules
from tests.doubles.reference_search import search
from tests.doubles.scripted_engine import EOS_ID, START_ID, ScriptedEngine, banned_logit, next_logits

RULES = DecodingRules(START_ID, EOS_ID, forced_eos_id=EOS_ID, renormalize=True)
SOURCES = [tuple(range(1, 2 + n)) for n in range(6)] + [(3, 3, n) for n in range(6)]


def run(sources, options, rules=RULES, forced_first_id=None, engine=None):
    """Decodes all sources in one batch; returns their hypotheses in order."""
    batch = RunningBatch(engine or ScriptedEngine(max_rows=256), rules)
    tasks = options if isinstance(options, list) else [options] * len(sources)
    sequences = [
        Sequence(np.array(source, np.int64), SearchTask(task, forced_first_id, len(source), with_alignment=True))
        for source, task in zip(sources, tasks, strict=True)
    ]
    for sequence in sequences:
        Submission([sequence])
    batch.admit(sequences)
    results = {}
    while len(batch):
        results.update({ended.sequence: ended.hypotheses for ended in batch.step()})
    assert batch.num_rows == 0
    return [results[sequence] for sequence in sequences]


def assert_equals_reference(options, rules=RULES, forced_first_id=None):
    for source, hypotheses in zip(SOURCES, run(SOURCES, options, rules, forced_first_id), strict=True):
        expected = search(
            lambda prefix, s=source: next_logits(s, prefix), options, rules, forced_first_id, banned_logit(source)
        )
        assert [list(one.token_ids) for one in hypotheses] == [tokens for tokens, _ in expected]
        if rules.renormalize or options.beam_size > 1:
            np.testing.assert_allclose(
                [one.score for one in hypotheses], [score for _, score in expected], rtol=2e-5, atol=2e-5
            )


@pytest.mark.parametrize(
    ("beam_size", "length_penalty", "early_stopping"),
    list(itertools.product([2, 3, 5], [-1.0, 0.0, 0.6, 1.0, 1.4], [False, True, "never"])),
)
def test_beam_search_follows_the_reference(beam_size, length_penalty, early_stopping):
    assert_equals_reference(
        DecodingOptions(
            beam_size=beam_size,
            num_hypotheses=beam_size,
            length_penalty=length_penalty,
            early_stopping=early_stopping,
            max_new_tokens=14,
        )
    )


PROCESSED = [
    {"no_repeat_ngram_size": 1},
    {"no_repeat_ngram_size": 2},
    {"no_repeat_ngram_size": 3},
    {"repetition_penalty": 1.4},
    {"repetition_penalty": 0.7},
    {"min_new_tokens": 7},
    {"min_new_tokens": 4, "repetition_penalty": 1.2, "no_repeat_ngram_size": 2},
    {"max_new_tokens": 1},
    {"max_new_tokens": 3},
]


@pytest.mark.parametrize("renormalize", [True, False])
@pytest.mark.parametrize("beam_size", [1, 2, 4])
@pytest.mark.parametrize("changes", PROCESSED)
def test_processors_equal_processing_the_whole_vocabulary(changes, beam_size, renormalize):
    rules = DecodingRules(START_ID, EOS_ID, forced_eos_id=EOS_ID, renormalize=renormalize)
    assert_equals_reference(DecodingOptions(**{"beam_size": beam_size, "max_new_tokens": 12, **changes}), rules)


@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_forced_first_token_comes_first_and_counts(beam_size):
    options = DecodingOptions(beam_size=beam_size, num_hypotheses=beam_size, max_new_tokens=10)
    assert_equals_reference(options, forced_first_id=5)
    assert all(one.token_ids[0] == 5 for hypotheses in run(SOURCES, options, forced_first_id=5) for one in hypotheses)


@pytest.mark.parametrize("beam_size", [1, 3])
def test_without_a_forced_end_a_result_may_stop_at_its_length(beam_size):
    rules = DecodingRules(START_ID, EOS_ID, forced_eos_id=None, renormalize=True)
    options = DecodingOptions(beam_size=beam_size, max_new_tokens=3)
    assert_equals_reference(options, rules)
    cut = [one for hypotheses in run(SOURCES, options, rules) for one in hypotheses if one.token_ids[-1] != EOS_ID]
    assert cut
    assert all(one.stop_reason is StopReason.LENGTH and len(one.token_ids) == 3 for one in cut)


def test_the_stop_reason_tells_the_end_token_from_the_limit():
    for hypotheses in run(SOURCES, DecodingOptions(beam_size=2, max_new_tokens=9)):
        by_length = len(hypotheses[0].token_ids) == 9
        assert hypotheses[0].stop_reason is (StopReason.LENGTH if by_length else StopReason.END_TOKEN)


def test_the_best_hypothesis_does_not_depend_on_how_many_are_wanted():
    one = run(SOURCES, DecodingOptions(beam_size=4, num_hypotheses=1, max_new_tokens=12))
    four = run(SOURCES, DecodingOptions(beam_size=4, num_hypotheses=4, max_new_tokens=12))
    assert [hypotheses[0].token_ids for hypotheses in one] == [hypotheses[0].token_ids for hypotheses in four]


def test_scores_are_the_normalised_sum_of_token_log_probabilities():
    for hypotheses in run(SOURCES, DecodingOptions(beam_size=3, num_hypotheses=3, length_penalty=0.6)):
        for one in hypotheses:
            assert one.score == pytest.approx(sum(one.token_log_probs) / len(one.token_ids) ** 0.6, rel=1e-5)


@pytest.mark.parametrize("beam_size", [1, 4])
def test_alignments_follow_the_path_of_their_hypothesis(beam_size):
    # The scripted engine attends to source token (position mod length), so row t must point there.
    options = DecodingOptions(beam_size=beam_size, num_hypotheses=beam_size, max_new_tokens=12)
    for source, hypotheses in zip(SOURCES, run(SOURCES, options), strict=True):
        for one in hypotheses:
            assert one.alignment.shape == (len(one.token_ids), len(source))
            assert one.alignment.argmax(axis=1).tolist() == [t % len(source) for t in range(len(one.token_ids))]


def test_every_sequence_keeps_its_own_options_in_a_mixed_batch():
    options = [
        DecodingOptions(max_new_tokens=12),
        DecodingOptions(beam_size=5, num_hypotheses=2, max_new_tokens=8, length_penalty=0.6),
        DecodingOptions(sampling=True, seed=4, top_k=5, max_new_tokens=12),
        DecodingOptions(beam_size=2, no_repeat_ngram_size=2, max_new_tokens=15),
        DecodingOptions(repetition_penalty=1.5, max_new_tokens=12),
        DecodingOptions(beam_size=5, early_stopping=True, max_new_tokens=12),
    ] * 2
    together = run(SOURCES, options)
    for source, task, hypotheses in zip(SOURCES, options, together, strict=True):
        (alone,) = run([source], [task])
        assert [one.token_ids for one in alone] == [one.token_ids for one in hypotheses]
        assert [one.score for one in alone] == [one.score for one in hypotheses]


def test_rows_that_are_not_numbers_end_their_own_sequence_only():
    engine = ScriptedEngine()
    engine.broken_sources = {SOURCES[2]}
    options = [DecodingOptions(beam_size=1 + index % 3, max_new_tokens=12) for index in range(len(SOURCES))]
    results = run(SOURCES, options, engine=engine)
    assert results[2] == ()
    sound = run(SOURCES, options)
    assert [r[0].token_ids for i, r in enumerate(results) if i != 2] == [
        r[0].token_ids for i, r in enumerate(sound) if i != 2
    ]


def test_surviving_beams_stay_in_their_rows():
    engine = ScriptedEngine()
    run(SOURCES[:4], DecodingOptions(beam_size=4, max_new_tokens=14), engine=engine)
    rows_stepped = sum(engine.row_counts)
    # A full reorder would copy every row at every step.
    assert 0 < engine.num_copies < 0.6 * rows_stepped
