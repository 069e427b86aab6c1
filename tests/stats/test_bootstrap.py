from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from prophase.stats import Blocks, from_draws, mean, quantile, statistics
from prophase.stats.bootstrap import LEAST_DRAWS


def days_of(count, rows):
    return Blocks.of(np.repeat(np.arange(count), rows), unit="day")


@pytest.mark.parametrize("days", [3, 10])
def test_the_interval_of_a_resampled_mean_is_that_of_the_mean(days):
    values = np.random.default_rng(days).normal(size=30 * days)
    (found,) = statistics(lambda rows: values[rows].mean(), days_of(days, 30), draws=4000)
    exact = mean(values, days_of(days, 30))
    assert found.value == pytest.approx(exact.value)
    assert found.half_width == pytest.approx(exact.half_width, rel=0.06)


def test_the_spread_of_draws_is_widened_for_few_blocks_and_few_draws():
    draws = np.array([9.0, 10.0, 12.0, 13.0, 9.0, 10.0, 12.0, 13.0])
    found = from_draws(draws, 5)
    widened = draws.std(ddof=1) * math.sqrt(5 / 4 * (1 + 1 / 8))
    assert found.value == 11.0
    # four differences between blocks and seven between draws
    assert found.half_width == pytest.approx(stats.t.ppf(0.975, 28 / 11) * widened)


def test_unequal_blocks_are_widened_more():
    def half_width(sizes):
        random = np.random.default_rng(0)  # the same draws, whatever the rows
        days = Blocks.of(np.repeat(np.arange(5), sizes), unit="day")
        return statistics(lambda rows: random.normal(), days)[0].half_width

    assert half_width([60, 10, 10, 10, 10]) > 1.5 * half_width([20] * 5)


@pytest.mark.parametrize("draws", [0, 1, 3, LEAST_DRAWS - 1])
def test_few_draws_give_no_interval_and_say_how_to_get_one(draws):
    found = from_draws(np.arange(draws), 30)
    assert not found.known
    assert f"at least {LEAST_DRAWS} needed: use --seeds 10" in found.reason
    assert from_draws(np.arange(LEAST_DRAWS), 30).known


def test_equal_draws_give_no_interval():
    found = from_draws(np.full(10, 0.1) + 1e-17, 30)
    assert (found.value, found.known) == (pytest.approx(0.1), False)
    assert found.reason.startswith("the same on all 10 resampled traces")
    assert from_draws(np.append(np.zeros(9), 1.0), 30).known


def test_draws_that_are_not_defined_do_not_count():
    found = from_draws([math.nan, math.inf, *range(7)], 30)
    assert found.value == 3.0
    assert found.reason == "defined on only 7 of 9 resampled traces, 8 needed"


def test_several_statistics_come_from_the_same_draws():
    values = np.random.default_rng(3).lognormal(size=200)
    both = statistics(lambda rows: [np.median(values[rows]), values[rows].max()], days_of(10, 20))
    again = statistics(lambda rows: [np.median(values[rows]), values[rows].max()], days_of(10, 20))
    assert both == again
    assert both[0].value == np.median(values)
    assert both[1].value == values.max()


def test_draws_on_which_a_statistic_is_not_defined_are_left_out():
    def share_of_first_day(rows):
        return 1.0 if (rows < 10).any() else math.nan

    (found,) = statistics(share_of_first_day, days_of(4, 10))
    assert (found.low, found.high) == (1.0, 1.0)  # of 200 draws: no luck
    (never,) = statistics(lambda rows: math.nan, days_of(4, 10))
    assert never.reason == "not defined on enough of the resampled histories"


def test_two_blocks_are_too_short_to_say():
    (found,) = statistics(lambda rows: float(len(rows)), days_of(2, 10))
    assert found.value == 20.0
    assert found.reason == "too short to say: 2 days, at least 3 needed"
    assert from_draws(np.arange(10.0), 2).reason == found.reason


def test_no_draws_give_the_value_alone():
    (found,) = statistics(lambda rows: 1.0, days_of(5, 2), draws=0)
    assert (found.value, found.known, found.reason) == (1.0, False, "no resampling was asked for")


def test_a_quantile_beyond_what_was_seen_is_not_told():
    values = np.random.default_rng(4).lognormal(size=60)
    assert quantile(values, 0.5, days_of(6, 10)).known
    assert not quantile(values, 0.99, days_of(6, 10)).known


def test_ties_do_not_move_a_quantile_out_of_its_interval():
    values = np.repeat([1.0, 2.0, 3.0], 100)
    shuffled = np.random.default_rng(5).permutation(values)
    found = quantile(shuffled, 0.5, days_of(10, 30))
    assert (found.value, found.low, found.high) == (2.0, 2.0, 2.0)
