"""How often intervals hold the truth, where days differ and where they do not.

`benchmarks/quality/interval_coverage.py` does the same with more histories and through `prove`.
"""

from __future__ import annotations

import numpy as np
import pytest

from prophase.stats import Blocks, difference, mean, quantile, ratio, share

HISTORIES = 800
DAYS = (3, 5, 7, 14, 30)


def a_mean(rng, blocks, sd):
    day = rng.normal(0, sd, blocks.count)[blocks.of_row]
    return mean(0.5 + day + rng.normal(0, 0.2, blocks.rows), blocks), 0.5


def a_ratio(rng, blocks, sd):
    reserved = rng.lognormal(0, 0.8, blocks.rows)
    part = 0.4 + rng.normal(0, sd, blocks.count)[blocks.of_row] + rng.normal(0, 0.2, blocks.rows)
    return ratio(part * reserved, reserved, blocks), 0.4


def a_share(rng, blocks, sd):
    if not sd:
        return share(rng.random(blocks.rows) < 0.3, blocks), 0.3
    size = 0.3 * 0.7 / sd**2 - 1
    rate = rng.beta(0.3 * size, 0.7 * size, blocks.count)[blocks.of_row]
    return share(rng.random(blocks.rows) < rate, blocks), 0.3


def a_paired_difference(rng, blocks, sd):
    before = rng.normal(0, 1, blocks.count)[blocks.of_row] + rng.normal(0, 0.5, blocks.rows)
    change = 0.1 + rng.normal(0, sd, blocks.count)[blocks.of_row]
    return difference(before, before + change + rng.normal(0, 0.1, blocks.rows), blocks), 0.1


def a_median(rng, blocks, sd):
    day = rng.normal(0, sd, blocks.count)[blocks.of_row]
    return quantile(np.exp(day + rng.normal(0, 1, blocks.rows)), 0.5, blocks), 1.0


def a_history(rng, days):
    """Days of about 40 jobs, weekends of half as many, the first and last day cut short."""
    jobs = np.where((rng.integers(7) + np.arange(days)) % 7 < 5, 40, 20)
    jobs[[0, -1]] = jobs[[0, -1]] * rng.uniform(0.3, 1.0, 2)
    return Blocks(np.repeat(np.arange(days), rng.poisson(jobs) + 1), days)


@pytest.mark.parametrize("sd", [0.0, 0.05, 0.15])
@pytest.mark.parametrize("of", [a_mean, a_ratio, a_share, a_paired_difference, a_median])
def test_intervals_hold_the_truth_as_often_as_they_say(of, sd):
    rng = np.random.default_rng([round(100 * sd), len(of.__name__)])
    held, above, below = (np.zeros(len(DAYS)) for _ in range(3))
    for place, days in enumerate(DAYS):
        for _ in range(HISTORIES):
            found, truth = of(rng, a_history(rng, days), sd)
            # the middle of three very different days may lie beyond all values seen: not told
            assert found.known or of is a_median
            held[place] += found.holds(truth) or not found.known
            above[place] += found.low > truth
            below[place] += found.high < truth
    # one standard error is 0.8 points for the histories of so many days, 0.35 for all together
    assert held.min() / HISTORIES >= 0.92, held
    assert held.max() / HISTORIES <= 0.985, held
    assert 0.938 <= held.mean() / HISTORIES <= 0.968
    # an interval wholly on one side of the truth passes or fails a limit wrongly
    assert max(above.mean(), below.mean()) / HISTORIES <= 0.034


@pytest.mark.parametrize("days", [7, 14, 30])
def test_no_kill_seen_does_not_hide_a_limit_that_days_exceed_together(days):
    rng = np.random.default_rng(days)
    wrong = 0
    for _ in range(1500):
        # 40 runs a day, 1 % of them killed; rates of days differ as much as they are large
        rate = rng.gamma(1.0, 0.01, days).clip(0, 1)
        hits = rng.random((days, 40)) < rate[:, None]
        blocks = Blocks.of(np.repeat(np.arange(days), 40), unit="day")
        wrong += share(hits.ravel(), blocks).high < 0.01
    assert wrong / 1500 <= 0.035
