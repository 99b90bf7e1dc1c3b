"""Sampling: the distribution drawn from, and whose random numbers are used."""

import numpy as np
import pytest

from service.search.options import DecodingOptions
from service.search.sampling import Sampler
from tests.doubles.scripted_engine import log_softmax
from tests.unit.test_search import SOURCES, run

LOG_PROBS = np.sort(log_softmax(np.random.default_rng(5).normal(size=40).astype(np.float32) * 2))[::-1]


def expected_distribution(options):
    """Returns the probabilities of LOG_PROBS' entries after temperature, top-k and top-p, in the plainest way."""
    probs = np.exp(LOG_PROBS.astype(np.float64) / options.temperature)
    probs[options.top_k :] = 0.0
    probs /= probs.sum()
    total, kept = 0.0, 0
    while kept == 0 or total < options.top_p - 1e-12:
        total += probs[kept]
        kept += 1
        if kept == len(probs):
            break
    probs[kept:] = 0.0
    return probs / probs.sum()


@pytest.mark.parametrize(
    "shape",
    [{}, {"temperature": 0.5}, {"temperature": 2.0}, {"top_k": 3}, {"top_p": 0.6}, {"top_k": 10, "top_p": 0.01}],
)
def test_draws_follow_the_shaped_distribution(shape):
    options = DecodingOptions(sampling=True, seed=11, **shape)
    sampler = Sampler(options)
    draws = np.bincount([sampler.draw(LOG_PROBS) for _ in range(20_000)], minlength=len(LOG_PROBS)) / 20_000
    expected = expected_distribution(options)
    # Five standard errors of a binomial share.
    assert (np.abs(draws - expected) <= 5 * np.sqrt(expected * (1 - expected) / 20_000) + 1e-12).all()


def test_the_same_seed_gives_the_same_text_and_another_seed_another():
    def texts(seed):
        options = DecodingOptions(sampling=True, seed=seed, max_new_tokens=12)
        return [hypotheses[0].token_ids for hypotheses in run(SOURCES, options)]

    assert texts(1) == texts(1)
    assert texts(1) != texts(2)


def test_a_draw_does_not_depend_on_neighbours():
    options = DecodingOptions(sampling=True, seed=3, max_new_tokens=12)
    together = [hypotheses[0].token_ids for hypotheses in run(SOURCES, options)]
    assert together == [run([source], options)[0][0].token_ids for source in SOURCES]
