from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from prophase.stats import Blocks, difference, mean, ratio


def blocks_of(*sizes):
    return Blocks.of(np.repeat(np.arange(len(sizes)), sizes), unit="day")


@pytest.mark.parametrize("days", [3, 5, 14])
def test_equal_blocks_give_exactly_the_t_interval_of_their_means(days):
    values = np.random.default_rng(days).normal(size=8 * days)
    # nothing pulls to one side: the second half mirrors the first
    values = values - values[::-1]
    found = mean(values, blocks_of(*[8] * days))
    means = values.reshape(days, 8).mean(axis=1)
    low, high = stats.t.interval(0.95, days - 1, means.mean(), stats.sem(means))
    assert (found.value, found.low, found.high) == pytest.approx((means.mean(), low, high))
    assert (found.n, found.blocks) == (8 * days, days)


def test_unequal_blocks_have_the_variance_of_bell_and_mccaffrey():
    rng = np.random.default_rng(1)
    sizes = np.array([5, 40, 20, 10])
    values = rng.normal(size=sizes.sum())
    found = mean(values, blocks_of(*sizes), level=0.9)
    part = sizes / sizes.sum()
    means = np.array([part.mean() for part in np.split(values, np.cumsum(sizes)[:-1])])
    variance = (part**2 * (means - values.mean()) ** 2 / (1 - part)).sum()
    residual = np.eye(4) - part[None, :]
    scaled = residual / np.sqrt(part)[None, :]
    inner = scaled.T @ np.diag(part**2 / (1 - part)) @ scaled
    freedom = 1 / np.trace(inner @ inner)
    # the side that nothing pulls to
    shorter = min(found.value - found.low, found.high - found.value)
    assert shorter == pytest.approx(stats.t.ppf(0.95, freedom) * math.sqrt(variance))


@pytest.mark.parametrize("days", [4, 12])
def test_the_interval_reaches_further_to_the_side_that_few_large_rows_pull_to(days):
    values = np.where(np.arange(6 * days) % 17 == 3, 40.0, 1.0)
    values += np.random.default_rng(days).normal(scale=0.01, size=6 * days)
    found = mean(values, blocks_of(*[6] * days))
    assert found.high - found.value > 1.05 * (found.value - found.low)
    mirrored = mean(-values, blocks_of(*[6] * days))
    assert (mirrored.low, mirrored.high) == pytest.approx((-found.high, -found.low))


def test_a_ratio_of_sums_weighs_blocks_by_what_is_below():
    blocks = blocks_of(1, 1, 1, 1)
    found = ratio([1.0, 8.0, 3.0, 2.0], [2.0, 10.0, 6.0, 2.0], blocks)
    assert found.value == pytest.approx(0.7)
    assert found.half_width > mean([0.5, 0.8, 0.5, 1.0], blocks).half_width / 2


def test_a_constant_share_has_an_interval_of_no_length():
    below = np.array([1.0, 5.0, 2.0, 9.0])
    found = ratio(0.4 * below, below, blocks_of(1, 1, 1, 1))
    assert (found.low, found.high) == pytest.approx((0.4, 0.4))


def test_days_with_nothing_below_do_not_count():
    found = ratio([1.0, 0.0, 2.0, 0.0], [2.0, 0.0, 2.0, 0.0], blocks_of(1, 1, 1, 1))
    assert found.blocks == 2
    assert found.reason == "too short to say: 2 days, at least 3 needed"


def test_what_both_sides_share_drops_out_of_a_paired_difference():
    rng = np.random.default_rng(2)
    busy = np.repeat(rng.normal(0, 100, 10), 20)
    before = busy + rng.normal(size=200)
    found = difference(before, before + 1 + rng.normal(0, 0.1, 200), blocks_of(*[20] * 10))
    assert found.holds(1.0)
    assert found.half_width < 0.05 < mean(before, blocks_of(*[20] * 10)).half_width


def test_two_days_are_too_short_to_say():
    found = mean([1.0, 2.0, 3.0], blocks_of(1, 2))
    assert found.value == 2.0
    assert not found.known
    assert found.reason == "too short to say: 2 days, at least 3 needed"


def test_nothing_below_is_no_number():
    found = ratio([1.0, 1.0, 1.0], [0.0, 0.0, 0.0], blocks_of(1, 1, 1))
    assert math.isnan(found.value)
    assert found.reason == "nothing to divide by"
