"""Which decoding options are refused, and how a request's are completed."""

import math

import pytest

from service.errors import InvalidOptionError
from service.search.options import DecodingOptions, PartialOptions, resolve

DEFAULTS = DecodingOptions(beam_size=4, max_new_tokens=100)


def problems_of(call):
    with pytest.raises(InvalidOptionError) as refused:
        call()
    return refused.value.problems


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("beam_size", 0),
        ("beam_size", 17),
        ("num_hypotheses", 0),
        ("length_penalty", math.nan),
        ("length_penalty", math.inf),
        ("early_stopping", "sometimes"),
        ("min_new_tokens", -1),
        ("max_new_tokens", 0),
        ("max_length_ratio", -0.1),
        ("max_length_ratio", math.inf),
        ("repetition_penalty", 0.0),
        ("repetition_penalty", -1.0),
        ("no_repeat_ngram_size", -1),
        ("temperature", 0.0),
        ("top_k", 0),
        ("top_k", 257),
        ("top_p", 0.0),
        ("top_p", 1.1),
        ("seed", -1),
    ],
)
def test_values_out_of_range_are_named(field, value):
    assert any(problem.startswith(field) for problem in problems_of(lambda: DecodingOptions(**{field: value})))


def test_all_problems_are_told_at_once():
    partial = PartialOptions(beam_size=2, num_hypotheses=3, top_k=0, temperature=2.0, max_new_tokens=101, sampling=True)
    names = {problem.partition(":")[0] for problem in problems_of(lambda: resolve(partial, DEFAULTS))}
    assert names == {"num_hypotheses", "top_k", "sampling", "max_new_tokens"}


@pytest.mark.parametrize(
    "partial",
    [
        PartialOptions(temperature=0.5),
        PartialOptions(seed=1),
        PartialOptions(sampling=True, beam_size=2),
        PartialOptions(beam_size=1, length_penalty=0.6),
        PartialOptions(beam_size=1, early_stopping=True),
        PartialOptions(beam_size=1, num_hypotheses=2),
        PartialOptions(sampling=True, num_hypotheses=2),
        PartialOptions(min_new_tokens=9, max_new_tokens=8),
    ],
)
def test_contradictions_are_refused(partial):
    assert problems_of(lambda: resolve(partial, DEFAULTS))


def test_what_a_request_leaves_out_comes_from_the_package():
    assert resolve(PartialOptions(), DEFAULTS) == DEFAULTS


def test_the_beam_is_widened_for_the_hypotheses_wanted():
    assert resolve(PartialOptions(num_hypotheses=6), DEFAULTS).beam_size == 6
    assert resolve(PartialOptions(num_hypotheses=2), DEFAULTS).beam_size == 4


def test_sampling_without_a_beam_size_has_one_row():
    assert resolve(PartialOptions(sampling=True), DEFAULTS).beam_size == 1
