"""Target languages in one running batch: each sequence has its own start token and its own forced first token."""

import itertools

import numpy as np
import pytest

from service.scheduler.batch import RunningBatch
from service.scheduler.loop import DecodeLoop
from service.scheduler.options import SchedulerOptions
from service.scheduler.sequence import Sequence, Submission
from service.scheduler.stats import NullSink
from service.search.group import SearchTask
from service.search.options import DecodingOptions
from service.search.rules import DecodingRules
from tests.doubles.reference_search import search
from tests.doubles.scripted_engine import EOS_ID, START_ID, ScriptedEngine, banned_logit, next_logits

RULES = DecodingRules(START_ID, EOS_ID, forced_eos_id=EOS_ID, renormalize=True)
SOURCES = [tuple(range(1, 2 + n)) for n in range(4)]
# (start_id, forced_first_id) of four languages, one of them the model's own way to begin.
LANGUAGES = [(None, None), (None, 5), (7, None), (11, 5)]
OPTIONS = [
    DecodingOptions(max_new_tokens=9),
    DecodingOptions(beam_size=3, num_hypotheses=3, max_new_tokens=9),
    DecodingOptions(beam_size=3, repetition_penalty=1.3, max_new_tokens=7),
    DecodingOptions(no_repeat_ngram_size=2, max_new_tokens=12),
    DecodingOptions(beam_size=2, min_new_tokens=4, length_penalty=0.6, max_new_tokens=8),
]
WORK = list(itertools.product(SOURCES, LANGUAGES, OPTIONS))


def sequence(source, language, options, with_alignment=False):
    start_id, forced_first_id = language
    return Sequence(
        np.array(source, np.int64), SearchTask(options, forced_first_id, len(source), with_alignment, start_id)
    )


def run(sequences, engine=None):
    batch = RunningBatch(engine or ScriptedEngine(max_rows=512), RULES)
    for one in sequences:
        Submission([one])
    batch.admit(sequences)
    results = {}
    while len(batch):
        results.update({ended.sequence: ended.hypotheses for ended in batch.step()})
    return [results[one] for one in sequences]


def told(hypotheses):
    return [(one.token_ids, one.score, one.token_log_probs) for one in hypotheses]


def test_languages_that_share_steps_get_what_they_get_alone():
    together = run([sequence(*one) for one in WORK])
    for one, hypotheses in zip(WORK, together, strict=True):
        (alone,) = run([sequence(*one)])
        assert told(hypotheses) == told(alone), one


def test_each_language_follows_the_reference():
    for (source, (start_id, forced), options), hypotheses in zip(WORK, run([sequence(*o) for o in WORK]), strict=True):
        expected = search(
            lambda prefix, s=source: next_logits(s, prefix), options, RULES, forced, banned_logit(source), start_id
        )
        assert [list(one.token_ids) for one in hypotheses] == [tokens for tokens, _ in expected]
        np.testing.assert_allclose(
            [one.score for one in hypotheses], [score for _, score in expected], rtol=2e-5, atol=2e-5
        )


@pytest.mark.parametrize("options", OPTIONS)
def test_a_start_token_is_no_part_of_the_result_and_a_forced_one_is(options):
    for language in LANGUAGES:
        for hypotheses in run([sequence(source, language, options) for source in SOURCES]):
            for one in hypotheses:
                assert len(one.token_ids) == len(one.token_log_probs) <= options.max_new_tokens
                if language[1] is not None:
                    assert (one.token_ids[0], one.token_log_probs[0]) == (5, 0.0)


def test_alignments_and_draws_go_on_after_a_forced_token():
    options = [DecodingOptions(sampling=True, seed=3, top_k=4, max_new_tokens=9), OPTIONS[1]]
    work = [sequence(source, (None, 5), one, with_alignment=True) for source in SOURCES for one in options]
    for one, hypotheses in zip(work, run(work), strict=True):
        (alone,) = run([sequence(tuple(one.source_ids), (None, 5), one.task.options, with_alignment=True)])
        assert told(hypotheses) == told(alone)
        for hypothesis in hypotheses:
            assert hypothesis.token_ids[0] == 5
            assert len(hypothesis.alignment) == len(hypothesis.token_ids)


def test_the_same_source_in_two_languages_shares_no_result():
    # What asks for a language of mBART-25 is its start token alone.
    loop = DecodeLoop(ScriptedEngine(), RULES, SchedulerOptions(max_kept_tokens=10_000), NullSink())
    submissions = [Submission([sequence(SOURCES[2], language, OPTIONS[0])]) for language in LANGUAGES * 2]
    for submission in submissions:
        loop.inbox.submit(submission)
    while not all(submission.future.done() for submission in submissions):
        loop.iterate()
    results = [told(submission.future.result()[0].hypotheses)[0] for submission in submissions]
    assert results[: len(LANGUAGES)] == results[len(LANGUAGES) :]
    assert len(set(results)) == len(LANGUAGES)
