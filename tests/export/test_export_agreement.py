"""How a rounded precision is compared with float32, and what the gate lets through."""

import numpy as np
import pytest

from export.sample import built_in_sentences
from export.verify.agreement import Agreement, AgreementLimits, divergence, measure_agreement


def test_divergence_is_zero_of_equals_and_by_definition_otherwise():
    banned = np.float32(-np.inf)
    first = np.append(np.log(np.array([0.5, 0.25, 0.25], np.float32)), banned)[None]
    second = np.append(np.log(np.array([0.25, 0.5, 0.25], np.float32)), banned)[None]
    assert divergence(first, first).tolist() == [0.0]
    np.testing.assert_allclose(divergence(first, second), [0.5 * np.log(2) - 0.25 * np.log(2)], rtol=1e-6)


def test_a_network_agrees_with_itself(tiny_export):
    pair, _ = tiny_export
    sources = [[5, 9, 3], [7, 2], [11, 4, 6, 8, 3]]
    agreement = measure_agreement(pair, pair, sources, 12)
    assert (agreement.top1, agreement.mean_divergence, agreement.max_divergence) == (1.0, 0.0, 0.0)
    assert (agreement.same_translations, agreement.length_ratio, agreement.num_sentences) == (1.0, 1.0, 3)
    assert 3 <= agreement.num_steps <= 36
    assert agreement.problems(AgreementLimits()) == []


@pytest.mark.parametrize(
    ("top1", "mean", "broken"), [(0.98, 0.001, 0), (0.9, 0.001, 1), (0.98, 0.1, 1), (0.9, float("nan"), 2)]
)
def test_every_limit_that_is_not_kept_is_a_problem(top1, mean, broken):
    agreement = Agreement(10, 100, top1, mean, mean, 0.5, 1.0)
    assert len(agreement.problems(AgreementLimits(0.97, 0.005))) == broken


def test_the_corpus_is_a_hundred_different_sentences():
    sentences = built_in_sentences("agreement")
    assert len(sentences) == len(set(sentences)) == 100
    assert all(sentence == sentence.strip() for sentence in sentences)


@pytest.mark.parametrize(("num_steps", "broken"), [(72, 0), (900, 1), (2_000, 1)])
def test_of_few_steps_less_is_asked_as_chance_would_have_it(num_steps, broken):
    agreement = Agreement(6, num_steps, 0.95, 0.001, 0.001, None, None, "plain computation")
    assert len(agreement.problems(AgreementLimits())) == broken
