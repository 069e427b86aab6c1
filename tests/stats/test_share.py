from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from prophase.stats import Blocks, share
from prophase.stats.interval_of_share import design_effect


def kills(*per_day, runs=100):
    hits = [np.arange(runs) < count for count in per_day]
    return np.concatenate(hits), Blocks.of(np.repeat(np.arange(len(per_day)), runs), unit="day")


def clopper_pearson(hits, runs):
    low = stats.beta.ppf(0.025, hits, runs - hits + 1) if hits else 0.0
    return low, stats.beta.ppf(0.975, hits + 1, runs - hits) if hits < runs else 1.0


@pytest.mark.parametrize("days", [3, 7, 30])
def test_without_kills_runs_count_less_by_the_factor_of_few_days(days):
    found = share(*kills(*[0] * days))
    runs = 100 * days
    few = stats.t.ppf(0.975, days - 1) / stats.t.ppf(0.975, runs - 1)
    assert (found.value, found.low) == (0.0, 0.0)
    assert found.high == pytest.approx(clopper_pearson(0, runs / few**2)[1])


def test_without_kills_the_upper_end_falls_as_days_are_added():
    ends = [share(*kills(*[0] * days)).high for days in (3, 5, 7, 14, 30, 60)]
    assert ends == sorted(ends, reverse=True)
    assert share(*kills(*[0] * 3)).high > 4 * clopper_pearson(0, 300)[1]


def test_runs_are_divided_by_the_variance_between_days():
    counts = np.array([2.0, 8.0, 5.0, 9.0, 1.0, 5.0])
    value = counts.sum() / 600
    between = (counts / 100).var(ddof=1) / 6
    assert design_effect(counts, np.full(6, 100.0)) == pytest.approx(
        between / (value * (1 - value) / 600)
    )


def test_few_kills_that_happen_to_be_alike_do_not_make_a_narrow_interval():
    found = share(*kills(1, 1, 1))
    low, high = clopper_pearson(3, 300)
    assert found.low <= low * 1.2
    assert found.high >= high * 0.9


def test_kills_of_one_day_have_a_wider_interval_than_the_same_spread_out():
    together, spread = share(*kills(40, 0, 0, 0, 0)), share(*kills(8, 9, 7, 8, 8))
    assert together.value == spread.value
    assert together.low < spread.low < spread.high < together.high


def test_the_upper_end_knows_that_bad_days_are_rare():
    counts, sizes = np.array([0.0, 30, 2, 5, 1, 0, 12]), np.full(7, 100.0)
    found = share(*kills(*counts.astype(int)))
    few = stats.t.ppf(0.975, 6) / stats.t.ppf(0.975, 699)
    runs = 700 / design_effect(counts, sizes) / few**2
    plain = clopper_pearson(found.value * runs, runs)
    assert found.low == pytest.approx(plain[0])
    assert found.high > plain[1]


def test_a_share_and_its_complement_have_mirrored_intervals():
    hits, blocks = kills(0, 30, 2, 5, 1, 0, 12)
    found, other = share(hits, blocks), share(~hits, blocks)
    assert (other.low, other.high) == pytest.approx((1 - found.high, 1 - found.low))


def test_all_killed_and_none_killed_are_mirrored():
    none, every = share(*kills(0, 0, 0)), share(*kills(100, 100, 100))
    assert (every.low, every.high) == pytest.approx((1 - none.high, 1.0))


def test_two_days_of_kills_are_too_short_to_say():
    found = share(*kills(3, 4))
    assert found.value == pytest.approx(0.035)
    assert not found.known
    assert found.reason.startswith("too short to say")


def test_no_run_is_no_share():
    found = share(np.zeros(0, bool), Blocks.of(np.zeros(0), unit="day"))
    assert math.isnan(found.value)
    assert found.reason == "no run"
