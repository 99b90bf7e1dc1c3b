"""What users of other engines have reported about searches that end early, late or without a result."""

import asyncio
from dataclasses import replace

import numpy as np
import pytest

from service.scheduler.batch import RunningBatch
from service.scheduler.sequence import Sequence, Submission
from service.search.group import SearchTask
from service.search.hypothesis import StopReason
from service.search.options import DecodingOptions
from service.search.rules import DecodingRules
from service.translation.translation import Details, TranslationRequest
from tests.doubles.scripted_engine import EOS_ID, START_ID, VOCABULARY_SIZE, ScriptedEngine
from tests.doubles.word_model import word_translator

RULES = DecodingRules(START_ID, EOS_ID, forced_eos_id=None, renormalize=False)
SOURCES = [(1,), (2, 3), (4, 5, 6), (7, 8, 9, 10)]


def batch_of(sources, options) -> tuple[RunningBatch, list[Sequence]]:
    batch = RunningBatch(ScriptedEngine(max_rows=256), RULES)
    sequences = [
        Sequence(np.array(source, np.int64), SearchTask(options, None, len(source), with_alignment=False))
        for source in sources
    ]
    for sequence in sequences:
        Submission([sequence])
    batch.admit(sequences)
    return batch, sequences


def hypotheses_of(sources, options):
    batch, sequences = batch_of(sources, options)
    results = {}
    while len(batch):
        results.update({ended.sequence: ended.hypotheses for ended in batch.step()})
    return [results[sequence] for sequence in sequences]


@pytest.mark.parametrize("beam_size", [2, 4, 16])
def test_there_is_a_result_when_the_limit_comes_before_any_end(beam_size):
    options = DecodingOptions(beam_size=beam_size, num_hypotheses=beam_size, max_new_tokens=1)
    for hypotheses in hypotheses_of(SOURCES, options):
        assert hypotheses
        assert all(len(one.token_ids) == 1 for one in hypotheses)


@pytest.mark.parametrize("beam_size", [1, 4])
def test_nothing_follows_an_end_token_and_its_rows_are_free_in_the_same_step(beam_size):
    batch, _ = batch_of(SOURCES, DecodingOptions(beam_size=beam_size, num_hypotheses=beam_size, max_new_tokens=30))
    running = len(SOURCES)
    while len(batch):
        for ended in batch.step():
            running -= 1
            for one in ended.hypotheses:
                assert EOS_ID not in one.token_ids[:-1]
        assert len(batch) == running
        assert batch.num_rows <= running * beam_size


@pytest.mark.parametrize("early_stopping", [False, "never"])
def test_an_early_end_does_not_end_a_beam_that_can_still_win(early_stopping):
    """Compared with stopping at the first end: a later hypothesis is never worse, and here some are better."""
    patient = DecodingOptions(beam_size=4, early_stopping=early_stopping, length_penalty=2.0, max_new_tokens=30)
    greedy = DecodingOptions(beam_size=1, max_new_tokens=30)
    sources = [(one, two) for one in range(1, 8) for two in range(1, 8)]
    better = 0
    for (best, *_), (first, *_) in zip(hypotheses_of(sources, patient), hypotheses_of(sources, greedy), strict=True):
        score = sum(first.token_log_probs) / len(first.token_ids) ** 2.0
        better += best.score > score + 1e-6 and len(best.token_ids) > len(first.token_ids)
    assert better


def test_a_length_is_the_tokens_with_the_end_token_and_the_penalty_uses_it():
    options = DecodingOptions(beam_size=3, num_hypotheses=3, length_penalty=1.3, max_new_tokens=30)
    for hypotheses in hypotheses_of(SOURCES, options):
        for one in hypotheses:
            assert one.score == pytest.approx(sum(one.token_log_probs) / len(one.token_ids) ** 1.3, rel=1e-4)
            assert (one.token_ids[-1] == EOS_ID) == (one.stop_reason is StopReason.END_TOKEN)


class GenerousEngine(ScriptedEngine):
    """Gives all tokens of each row in every step, as it would if a neighbour wanted them."""

    def step(self, inputs):
        return super().step(replace(inputs, num_best=VOCABULARY_SIZE))


@pytest.mark.parametrize(
    "options",
    [
        DecodingOptions(beam_size=3, no_repeat_ngram_size=2, max_new_tokens=12),
        DecodingOptions(no_repeat_ngram_size=1, repetition_penalty=1.7, max_new_tokens=12),
        DecodingOptions(sampling=True, seed=1, top_k=4, repetition_penalty=3.0, max_new_tokens=12),
    ],
)
@pytest.mark.parametrize("renormalize", [True, False])
def test_processed_scores_do_not_depend_on_how_many_tokens_neighbours_want(options, renormalize):
    rules = DecodingRules(START_ID, EOS_ID, forced_eos_id=None, renormalize=renormalize)

    def result(engine, source):
        batch = RunningBatch(engine, rules)
        sequence = Sequence(np.array(source), SearchTask(options, None, len(source), with_alignment=False))
        Submission([sequence])
        batch.admit([sequence])
        while not (ended := batch.step()):
            pass
        return [(one.token_ids, one.token_log_probs) for one in ended[0].hypotheses]

    for number in range(20):
        source = (1 + number % 18, 2, 1 + number // 18)
        assert result(ScriptedEngine(), source) == result(GenerousEngine(), source)


@pytest.mark.parametrize("text", ["The house.", "The {0} house.", "{0} is here.", "The house. The dog. 42"])
def test_a_model_that_says_nothing_loses_nothing_and_has_a_score(text):
    translator, _ = word_translator(lambda ids, chance: [])
    request = TranslationRequest(texts=(text,), source="en", target="de", details=Details(segments=True, tokens=True))
    (translation,) = asyncio.run(translator.translate(request)).translations
    assert translation.text == text
    assert translation.score is not None
    assert all(set(one.token_ids) == {EOS_ID} for part in translation.segments for one in part.hypotheses)


def test_what_holds_no_text_is_never_given_to_the_model():
    translator, model = word_translator()
    request = TranslationRequest(texts=(" ", "\u0301", "- 1 -", "\u200b"), source="en", target="de")
    assert [one.text for one in asyncio.run(translator.translate(request)).translations] == list(request.texts)
    assert model.pool.asked == []
