"""Distances, p-values and verdicts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from prophase.trace.describe.laws.goodness_of_fit import (
    asymptotic_p,
    bootstrap_p,
    judge,
    ks_distance,
    tail_is_off,
)
from prophase.trace.describe.laws.probability_laws import Exponential


def test_the_distance_is_that_of_kolmogorov_and_smirnov() -> None:
    shares = np.random.default_rng(0).beta(2, 3, 200)
    assert ks_distance(shares) == pytest.approx(stats.kstest(shares, "uniform").statistic)


def test_the_asymptotic_p_value_agrees_with_scipys() -> None:
    shares = np.random.default_rng(3).random(500) ** 1.1
    expected = stats.kstest(shares, "uniform").pvalue
    assert asymptotic_p(shares, np.random.default_rng(0)) == pytest.approx(expected, rel=0.05)


def test_bootstrap_p_values_of_the_right_law_are_spread_over_the_unit_interval() -> None:
    p_values = []
    for seed in range(40):
        random = np.random.default_rng(seed)
        values = random.exponential(10, 200)
        p_values.append(bootstrap_p(Exponential.fit(values), values, random))
    # the plain test would never reject: it forgives the law for having been fitted
    assert 0.25 < np.mean(np.array(p_values) < 0.5) < 0.75
    assert min(p_values) < 0.2


@pytest.mark.parametrize(
    ("distance", "p_value", "off", "verdict"),
    [
        (0.01, 0.5, False, "good"),
        (0.04, 0.001, False, "good"),
        (0.08, 0.5, False, "good"),
        (0.08, 0.001, False, "rough"),
        (0.15, 0.5, False, "rough"),
        (0.15, 0.001, False, "bad"),
        (0.01, 0.5, True, "rough"),
        (0.30, float("nan"), False, "bad"),
    ],
)
def test_the_verdict_weighs_size_and_chance(
    distance: float, p_value: float, off: bool, verdict: str
) -> None:
    assert judge(distance, p_value, off=off) == verdict


def test_the_tail_of_few_values_is_not_held_against_a_law() -> None:
    values = np.r_[np.random.default_rng(0).exponential(1.0, 30), 12.0]
    assert not tail_is_off(Exponential(1.0), values)[1]
    many = np.random.default_rng(0).lognormal(0, 2.5, 5000)
    assert tail_is_off(Exponential.fit(many), many)[1]
