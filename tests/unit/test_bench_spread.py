"""Medians, percentiles and ratios of measurements, and the rounds they come from."""

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.rounds import RoundPlan, interleave, rotated
from bench.spread import Spread, median, percentile, ratio

# Opening a graph makes its thread flush subnormal numbers to zero, and another test may have done so.
FLOATS = st.floats(-1e6, 1e6, allow_subnormal=False)
NUMBERS = st.lists(FLOATS, min_size=1, max_size=30)


class Clock:
    """A clock that only moves when somebody works."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def work(self, seconds, value=1.0):
        def measure(turn):
            self.now += seconds
            return value + turn

        return measure


@given(NUMBERS)
def test_the_median_is_that_of_the_standard_library(values):
    assert median(values) == pytest.approx(statistics.median(values))


@given(st.lists(FLOATS, min_size=2, max_size=30))
def test_percentiles_are_those_of_inclusive_quantiles(values):
    expected = statistics.quantiles(values, n=100, method="inclusive")
    assert [percentile(values, percent) for percent in range(1, 100)] == pytest.approx(expected)


@given(NUMBERS)
def test_a_spread_is_ordered_and_holds_the_extremes(values):
    spread = Spread.of(values)
    assert spread.minimum == min(values)
    assert spread.maximum == max(values)
    ordered = [spread.minimum, spread.lower_quartile, spread.median, spread.upper_quartile, spread.maximum]
    assert ordered == pytest.approx(sorted(ordered))
    assert spread.count == len(values)


@pytest.mark.parametrize("percent", [-1, 101])
def test_a_percentage_outside_its_range_is_refused(percent):
    with pytest.raises(ValueError, match="not a percentage"):
        percentile([1.0], percent)


@pytest.mark.parametrize("summarise", [Spread.of, median])
def test_nothing_cannot_be_summarised(summarise):
    with pytest.raises(ValueError, match="at least one value"):
        summarise([])


def test_a_ratio_is_taken_within_each_round():
    found = ratio({0: 10.0, 1: 30.0, 2: 5.0}, {0: 5.0, 1: 10.0, 3: 1.0})
    assert found == Spread.of([2.0, 3.0])


def test_systems_that_share_no_round_have_no_ratio():
    assert ratio({0: 1.0}, {1: 1.0}) is None


def test_every_system_goes_first_in_turn():
    assert [rotated(["a", "b", "c"], turn) for turn in range(4)] == [
        ["a", "b", "c"],
        ["b", "c", "a"],
        ["c", "a", "b"],
        ["a", "b", "c"],
    ]
    assert rotated([], 3) == []


def test_systems_are_measured_in_turned_order_round_by_round():
    seen = []

    def measure(name):
        return lambda turn: seen.append((turn, name)) or 1.0

    interleave({"a": measure("a"), "b": measure("b")}, RoundPlan.exactly(3))
    assert seen == [(0, "a"), (0, "b"), (1, "b"), (1, "a"), (2, "a"), (2, "b")]


def test_measurements_are_kept_by_system_and_round():
    clock = Clock()
    values = interleave({"a": clock.work(1, 5.0), "b": clock.work(2, 7.0)}, RoundPlan.exactly(2), clock)
    assert values == {"a": {0: 5.0, 1: 6.0}, "b": {0: 7.0, 1: 8.0}}


def test_no_round_begins_that_would_end_past_the_budget():
    clock = Clock()
    plan = RoundPlan(at_least=1, at_most=9, budget_seconds=10.0)
    values = interleave({"a": clock.work(1), "b": clock.work(2)}, plan, clock)
    assert len(values["a"]) == 3
    assert clock.now == 9


def test_the_least_number_of_rounds_is_made_whatever_it_takes():
    clock = Clock()
    values = interleave({"a": clock.work(100)}, RoundPlan(at_least=2, at_most=9, budget_seconds=1.0), clock)
    assert len(values["a"]) == 2


def test_a_slow_system_is_measured_once():
    clock = Clock()
    plan = RoundPlan(at_least=3, at_most=3, once_over_seconds=5.0)
    values = interleave({"fast": clock.work(1), "slow": clock.work(6)}, plan, clock)
    assert (len(values["fast"]), len(values["slow"])) == (3, 1)
