"""Guards against runaways: a limit by the source's length, and stopping where the best hypothesis loops."""

import zlib

import numpy as np
import pytest

from service.scheduler.batch import RunningBatch
from service.scheduler.sequence import Sequence, Submission
from service.search.group import SearchTask
from service.search.hypothesis import StopReason
from service.search.options import LENGTH_ALLOWANCE, DecodingOptions, PartialOptions, guarded, resolve
from service.search.rules import DecodingRules
from service.text.repetition import is_runaway, tail_period
from tests.doubles import scripted_engine
from tests.doubles.scripted_engine import EOS_ID, START_ID, VOCABULARY_SIZE, ScriptedEngine

RULES = DecodingRules(START_ID, EOS_ID, forced_eos_id=EOS_ID, renormalize=True)
LONG = 200
# A source whose first token is LOOPS is translated into a cycle of as many tokens as its second says; ESCAPES ends
# one of its beams early. Others are the scripted engine's own.
LOOPS, ESCAPES = 17, 18
SOURCES = [(LOOPS, 1), (LOOPS, 3), (1, 2, 3), (LOOPS, 5, 2), (4,), (5, 6, 7, 8), (LOOPS, 2)]


def looping_logits(source, prefix):
    """Cycles through tokens 1 to `source[1]`; the end token is next best after three steps of an ESCAPES."""
    if source[0] not in (LOOPS, ESCAPES):
        return ORIGINAL(source, prefix)
    seed = zlib.crc32(np.array([*source, -1, *prefix], np.int64).tobytes())
    logits = np.random.default_rng(seed).normal(size=VOCABULARY_SIZE).astype(np.float32) * 0.1
    logits[1 + (len(prefix) - 1) % source[1]] += 8.0
    logits[EOS_ID] += 6.0 if source[0] == ESCAPES and len(prefix) == 4 else -6.0
    logits[START_ID] = -np.inf
    return logits


ORIGINAL = scripted_engine.next_logits


@pytest.fixture(autouse=True)
def _looping_model(monkeypatch):
    monkeypatch.setattr(scripted_engine, "next_logits", looping_logits)


def run(sources, options, honest_repeats=1, with_alignment=False, rules=RULES):
    """Decodes all sources in one batch; returns their hypotheses in order and the number of steps."""
    batch = RunningBatch(ScriptedEngine(max_rows=256, max_length=512), rules)
    sequences = [
        Sequence(
            np.array(source, np.int64),
            SearchTask(options, None, len(source), with_alignment, honest_repeats=honest_repeats),
        )
        for source in sources
    ]
    for sequence in sequences:
        Submission([sequence])
    batch.admit(sequences)
    results, steps = {}, 0
    while len(batch):
        steps += 1
        results.update({ended.sequence: ended.hypotheses for ended in batch.step()})
    return [results[sequence] for sequence in sequences], steps


@pytest.mark.parametrize("beam_size", [1, 4])
@pytest.mark.parametrize("period", [1, 2, 3, 5])
def test_a_loop_ends_its_sequence_within_some_tokens(beam_size, period):
    options = DecodingOptions(beam_size=beam_size, max_new_tokens=LONG, stop_loops=True)
    (hypotheses,), steps = run([(LOOPS, period)], options)
    (best,) = hypotheses
    assert best.stop_reason is StopReason.REPETITION
    assert tail_period(best.token_ids, 1) == period
    assert len(best.token_ids) == len(best.token_log_probs) == steps <= 24
    assert np.isfinite(best.score)


@pytest.mark.parametrize("beam_size", [1, 4])
def test_without_the_guard_it_goes_on_to_its_limit(beam_size):
    (hypotheses,), steps = run([(LOOPS, 2)], DecodingOptions(beam_size=beam_size, max_new_tokens=LONG))
    assert steps == LONG
    assert hypotheses[0].stop_reason is StopReason.LENGTH


@pytest.mark.parametrize("beam_size", [1, 4])
def test_what_the_source_repeats_is_allowed_twice_over(beam_size):
    options = DecodingOptions(beam_size=beam_size, max_new_tokens=LONG, stop_loops=True)
    (hypotheses,), steps = run([(LOOPS, 2)], options, honest_repeats=10)
    assert hypotheses[0].stop_reason is StopReason.REPETITION
    assert 2 * 20 < steps <= 2 * 21 + 8


def test_hypotheses_that_had_finished_come_instead_of_the_looping_one():
    options = DecodingOptions(beam_size=4, num_hypotheses=4, max_new_tokens=LONG, stop_loops=True)
    (hypotheses,), _ = run([(ESCAPES, 2)], options)
    assert all(one.token_ids[-1] == EOS_ID and one.stop_reason is StopReason.REPETITION for one in hypotheses)
    assert not is_runaway(hypotheses[0].token_ids[:-1], 1)


@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_looping_hypothesis_has_one_row_of_alignment_for_each_token(beam_size):
    options = DecodingOptions(beam_size=beam_size, max_new_tokens=LONG, stop_loops=True)
    (hypotheses,), _ = run([(LOOPS, 2, 4)], options, with_alignment=True)
    assert hypotheses[0].alignment.shape == (len(hypotheses[0].token_ids), 3)


@pytest.mark.parametrize("beam_size", [1, 4])
def test_guards_leave_what_is_no_runaway_as_it_is_in_any_company(beam_size):
    plain = DecodingOptions(beam_size=beam_size, num_hypotheses=beam_size, max_new_tokens=60)
    together, _ = run(SOURCES, guarded(plain))
    for source, hypotheses in zip(SOURCES, together, strict=True):
        (alone,), _ = run([source], guarded(plain))
        assert [(one.token_ids, one.score) for one in alone] == [(one.token_ids, one.score) for one in hypotheses]
        assert (hypotheses[0].stop_reason is StopReason.REPETITION) == (source[0] == LOOPS)
        if source[0] != LOOPS:
            (unguarded,), _ = run([source], plain)
            assert [(one.token_ids, one.score) for one in unguarded] == [(one.token_ids, one.score) for one in alone]


@pytest.mark.parametrize("beam_size", [1, 4])
def test_an_ngram_ban_gets_out_of_a_loop(beam_size):
    options = DecodingOptions(beam_size=beam_size, max_new_tokens=40, stop_loops=True, no_repeat_ngram_size=3)
    (hypotheses,), _ = run([(LOOPS, 1)], options)
    assert hypotheses[0].stop_reason is not StopReason.REPETITION


@pytest.mark.parametrize("beam_size", [1, 4])
@pytest.mark.parametrize("forced_eos_id", [EOS_ID, None])
def test_the_limit_follows_the_length_of_the_source(beam_size, forced_eos_id):
    rules = DecodingRules(START_ID, EOS_ID, forced_eos_id=forced_eos_id, renormalize=True)
    options = DecodingOptions(beam_size=beam_size, max_new_tokens=LONG, max_length_ratio=1.5)
    results, _ = run([(LOOPS, 1), (LOOPS, 1, *range(1, 20))], options, rules=rules)
    for (best, *_), length in zip(results, [3 + LENGTH_ALLOWANCE, 31 + LENGTH_ALLOWANCE], strict=True):
        assert len(best.token_ids) == length
        assert best.stop_reason is StopReason.LENGTH
        assert (best.token_ids[-1] == EOS_ID) == (forced_eos_id is not None)


def test_a_limit_by_length_is_never_above_the_limit_nor_below_the_minimum():
    assert DecodingOptions(max_new_tokens=50, max_length_ratio=4.0).limit(100) == 50
    assert DecodingOptions(max_new_tokens=500, max_length_ratio=4.0).limit(10) == 40 + LENGTH_ALLOWANCE
    assert DecodingOptions(max_new_tokens=500, min_new_tokens=90, max_length_ratio=0.1).limit(10) == 90
    assert DecodingOptions(max_new_tokens=500).limit(1) == 500


def test_a_limited_search_equals_one_with_that_limit_of_its_own():
    source = (5, 6, 7)
    limited = DecodingOptions(beam_size=3, num_hypotheses=3, max_new_tokens=LONG, max_length_ratio=0.5)
    own = DecodingOptions(beam_size=3, num_hypotheses=3, max_new_tokens=limited.limit(len(source)))
    (first,), _ = run([source], limited)
    (second,), _ = run([source], own)
    assert [(one.token_ids, one.score) for one in first] == [(one.token_ids, one.score) for one in second]


def test_a_request_may_turn_the_guards_of_a_service_off():
    defaults = DecodingOptions(beam_size=4, max_new_tokens=100)
    served = guarded(defaults)
    assert served.stop_loops
    assert served.max_length_ratio > 0
    assert resolve(PartialOptions(), served) == served
    assert resolve(PartialOptions(max_length_ratio=0.0, stop_loops=False), served) == defaults
