from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ks_2samp, spearmanr

from prophase.sim.validation.wait_scores import score_waits

DAY_S = 86_400.0


@pytest.fixture
def waits() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    observed = rng.exponential(1000.0, 600)
    return observed, observed * rng.lognormal(0.1, 0.5, 600)


def test_distances_are_those_of_scipy(waits: tuple[np.ndarray, np.ndarray]) -> None:
    observed, simulated = waits
    found = score_waits(np.zeros(600), observed, simulated, negligible_s=0.0)
    assert found.ks.value == pytest.approx(ks_2samp(observed, simulated).statistic)
    assert found.rank_correlation is not None
    assert found.rank_correlation.value == pytest.approx(spearmanr(observed, simulated).statistic)
    for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
        expected = np.quantile(simulated, share) / np.quantile(observed, share) - 1
        assert found.quantile_errors[name].value == pytest.approx(expected)


@given(st.lists(st.integers(0, 20), min_size=3, max_size=40), st.randoms(use_true_random=False))
def test_ties_and_zeros_are_handled_as_scipy_does(observed: list[int], lots: object) -> None:
    simulated = [lots.randint(0, 20) for _ in observed]  # type: ignore[attr-defined]
    one, two = np.array(observed, float), np.array(simulated, float)
    found = score_waits(np.zeros(len(one)), one, two, negligible_s=0.0)
    assert found.ks.value == pytest.approx(ks_2samp(one, two, method="asymp").statistic)
    if np.ptp(one) and np.ptp(two):
        assert found.rank_correlation is not None
        assert found.rank_correlation.value == pytest.approx(spearmanr(one, two).statistic)
    else:
        assert found.rank_correlation is None


def test_waits_that_nobody_notices_count_as_none() -> None:
    rng = np.random.default_rng(0)
    observed = rng.uniform(0, 4, 300)
    found = score_waits(np.zeros(300), observed, np.zeros(300))
    assert found.ks.value == 0.0
    assert found.mean_error.value == 0.0
    assert found.rank_correlation is None


def test_an_interval_needs_three_days(waits: tuple[np.ndarray, np.ndarray]) -> None:
    submit = np.arange(600) * DAY_S / 200
    shorter = score_waits(submit / 2, *waits)
    assert shorter.days == 2
    assert shorter.bias_s.reason == "too short to say: 2 days, at least 3 needed"
    longer = score_waits(submit * 2, *waits)
    assert longer.days == 6
    assert longer.bias_s.low < longer.bias_s.value < longer.bias_s.high


def test_every_interval_holds_its_value(waits: tuple[np.ndarray, np.ndarray]) -> None:
    found = score_waits(np.arange(600) * DAY_S / 20, *waits)
    assert found.rank_correlation is not None
    every = [found.mean_error, found.bias_s, found.ks, found.rank_correlation]
    for one in [*every, *found.quantile_errors.values()]:
        assert one.low <= one.value <= one.high


def test_the_bias_of_most_samples_lies_in_the_interval() -> None:
    rng = np.random.default_rng(11)
    hits = 0
    for _ in range(60):
        # days differ: jobs of a day share its error of mean 100
        shift = np.repeat(100 + 50 * rng.standard_normal(20), 30)
        observed = rng.exponential(1000.0, 600)
        found = score_waits(np.repeat(np.arange(20), 30) * DAY_S, observed, observed + shift)
        hits += found.bias_s.low <= 100 <= found.bias_s.high
    assert hits >= 52


def test_guesses_that_learn_nothing_are_scored_beside_it() -> None:
    observed = np.array([0.0, 100.0, 200.0, 900.0])
    found = score_waits(np.zeros(4), observed, observed)
    assert found.mae_s == 0.0
    assert found.mae_zero_s == 300.0
    assert found.mae_median_s == pytest.approx((150 + 50 + 50 + 750) / 4)
    assert found.ks_zero == 0.75
