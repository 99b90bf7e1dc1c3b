"""When the model is asked again about a text, and which of its answers is taken."""

from dataclasses import replace

import numpy as np
import pytest

from service.scheduler.sequence import SequenceResult
from service.search.hypothesis import Hypothesis, StopReason
from service.search.options import DecodingOptions, guarded
from service.translation.asking import Asking, Question
from tests.doubles.word_model import EOS, WordModel

OPTIONS = guarded(DecodingOptions(beam_size=2, num_hypotheses=2, max_new_tokens=400))
LOOP = (20, 21) * 30


def said(*ids: int, score: float = -1.0, reason: StopReason = StopReason.END_TOKEN) -> Hypothesis:
    ends = () if reason is StopReason.LENGTH else (EOS,)
    alignment = np.arange(len(ids) + len(ends), dtype=np.float32)[:, None]
    return Hypothesis((*ids, *ends), (-0.5,) * (len(ids) + len(ends)), score, reason, alignment)


def asking(
    text: str = "the house",
    options: DecodingOptions = OPTIONS,
    *,
    num_wanted: int = 1,
    own_ratio: bool = False,
    has_looped: bool = False,
) -> Asking:
    direction = WordModel().direction("en", "de")
    ids = direction.around(direction.encode([text])[0])
    question = Question(text, ids, options, num_wanted, with_alignment=True, own_ratio=own_ratio)
    return Asking(question, direction, has_looped=has_looped)


def result(*hypotheses: Hypothesis) -> SequenceResult:
    return SequenceResult(hypotheses, 0.0, 0.0, 0.0)


def options_of(one: Asking) -> DecodingOptions:
    return one.sequence().task.options


def test_a_sound_answer_is_taken_at_once_with_the_others():
    best, other = said(20, 21, 22), said(20, 22, score=-2)
    answer = asking().take(result(best, other))
    assert answer.hypotheses == (best, other)
    assert answer.retried == ()


def test_a_sequence_is_made_anew_each_time():
    one = asking()
    assert one.sequence() is not one.sequence()


def test_a_loop_is_asked_about_again_under_a_ban():
    one = asking()
    assert one.take(result(said(*LOOP))) is None
    assert options_of(one).no_repeat_ngram_size > 0
    answer = one.take(result(said(20, 21)))
    assert [one.token_ids for one in answer.hypotheses] == [(20, 21, EOS)]
    assert answer.retried == ("repetition",)


def test_under_a_ban_search_is_greedy_where_one_hypothesis_is_wanted_and_scored_as_if_it_were_not():
    one = asking(options=replace(OPTIONS, length_penalty=2.0))
    assert one.take(result(said(*LOOP))) is None
    options = options_of(one)
    assert (options.beam_size, options.num_hypotheses) == (1, 1)
    (best,) = one.take(result(said(20, 21, score=-1.5))).hypotheses
    assert best.score == pytest.approx(-1.5 / 3**2)


def test_under_a_ban_search_is_as_wide_as_before_where_several_hypotheses_are_wanted():
    one = asking(num_wanted=2)
    assert one.take(result(said(*LOOP))) is None
    options = options_of(one)
    assert (options.beam_size, options.num_hypotheses) == (2, 2)
    best, other = said(20, 21), said(20, 22, score=-2)
    assert one.take(result(best, other)).hypotheses == (best, other)


def test_where_another_text_of_the_unit_has_looped_a_ban_holds_from_the_start():
    one = asking(has_looped=True)
    options = options_of(one)
    assert options.no_repeat_ngram_size > 0
    assert options.max_length_ratio < OPTIONS.max_length_ratio
    assert options.beam_size == OPTIONS.beam_size
    loop = said(*LOOP, reason=StopReason.LENGTH)
    (best,) = one.take(result(loop)).hypotheses
    assert best.token_ids == (20, 21)


def test_without_the_guard_there_is_no_ban_whatever_has_looped():
    assert options_of(asking(options=DecodingOptions(), has_looped=True)) == DecodingOptions()


def test_a_ban_of_the_caller_s_own_is_only_ever_made_stricter():
    for own, most in ((2, 2), (9, 3)):
        one = asking(options=replace(OPTIONS, no_repeat_ngram_size=own))
        assert one.take(result(said(*LOOP))) is None
        assert options_of(one).no_repeat_ngram_size == most


def test_a_loop_that_the_search_has_stopped_is_asked_about_again():
    one = asking()
    assert one.take(result(said(20, reason=StopReason.REPETITION))) is None
    assert options_of(one).no_repeat_ngram_size > 0


def test_of_two_loops_what_has_ended_well_is_taken():
    one, sound = asking(), said(20, 21, score=-3)
    assert one.take(result(said(*LOOP, score=-1), sound)) is None
    answer = one.take(result(said(*LOOP, 22, score=-2)))
    assert answer.hypotheses == (sound,)


def test_the_last_resort_is_a_loop_cut_down():
    one = asking()
    assert one.take(result(said(*LOOP, reason=StopReason.LENGTH))) is None
    (best,) = one.take(result(said(19, *LOOP, reason=StopReason.LENGTH))).hypotheses
    assert best.token_ids == (19, 20, 21)
    assert len(best.token_log_probs) == 3
    assert best.alignment[:, 0].tolist() == [0, 1, 2]


def test_alternatives_that_loop_are_left_out():
    best = said(20, 21, 22)
    assert asking().take(result(best, said(*LOOP))).hypotheses == (best,)


def test_honest_repetition_is_kept():
    one = asking("no, " * 12)
    hypothesis = said(*(20, 21) * 12)
    assert one.take(result(hypothesis)).hypotheses == (hypothesis,)


def test_what_the_bound_on_the_length_has_cut_is_asked_about_without_it():
    one = asking()
    cut = said(*range(20, 60), reason=StopReason.LENGTH)
    assert one.take(result(cut)) is None
    assert options_of(one).max_length_ratio == 0
    whole = said(*range(20, 70))
    assert one.take(result(whole)).retried == ("length",)


def test_a_caller_s_own_bound_stands():
    cut = said(*range(20, 60), reason=StopReason.LENGTH)
    answer = asking(own_ratio=True).take(result(cut))
    assert (answer.hypotheses, answer.retried) == ((cut,), ())


def test_what_runs_to_the_last_token_allowed_is_not_asked_about_again():
    cut = said(*range(20, 420), reason=StopReason.LENGTH)
    assert asking().take(result(cut)).hypotheses == (cut,)


@pytest.mark.parametrize("hypothesis", [said(*LOOP), said(20, reason=StopReason.REPETITION)])
def test_loops_are_the_caller_s_business_when_the_guard_is_off(hypothesis):
    answer = asking(options=DecodingOptions(max_new_tokens=400)).take(result(hypothesis))
    assert (answer.hypotheses, answer.retried) == ((hypothesis,), ())


def test_nothing_is_asked_more_than_three_times():
    one = asking()
    assert one.take(result(said(*range(20, 60), reason=StopReason.LENGTH))) is None
    assert one.take(result(said(*LOOP))) is None
    assert one.take(result(said(*LOOP))).retried == ("length", "repetition")
