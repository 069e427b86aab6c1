"""Laws of the arrivals: Poisson, renewal and modulated arrivals are told apart."""

from __future__ import annotations

import numpy as np
import pytest

from prophase.trace.describe.column_arrays import NotComputable
from prophase.trace.describe.laws.arrival_fit import (
    ArrivalFit,
    ArrivalLaws,
    clock_resolution,
    fit_arrivals,
    residual_dispersion,
)
from prophase.trace.describe.laws.arrival_laws import (
    ModulatedPoisson,
    by_hour_of_day,
    fit_modulated,
)


def modulated_times(count: int, seed: int = 1) -> np.ndarray:
    """Draw arrivals at 36 per hour for about an hour, then 720 per hour for a quarter."""
    random = np.random.default_rng(seed)
    rates, lasts = (0.01, 0.2), (3600.0, 900.0)
    times: list[float] = []
    clock, state = 0.0, 0
    while len(times) < count:
        length = random.exponential(lasts[state])
        times += (
            clock + np.sort(random.uniform(0, length, random.poisson(rates[state] * length)))
        ).tolist()
        clock, state = clock + length, 1 - state
    return np.array(times[:count])


def daily_times(days: int, seed: int = 2) -> np.ndarray:
    """Draw Poisson arrivals that are ten times as frequent between 9 and 17 h."""
    random = np.random.default_rng(seed)
    hours = np.arange(24 * days)
    rate = np.where((hours % 24 >= 9) & (hours % 24 < 17), 50.0, 5.0)
    counts = random.poisson(rate)
    return np.sort(np.repeat(hours, counts) * 3600.0 + random.uniform(0, 3600, counts.sum()))


def named(found: ArrivalLaws | NotComputable, law: str) -> ArrivalFit:
    assert isinstance(found, ArrivalLaws)
    exact = [fit for fit in found.fits if fit.law == law]
    return (exact or [fit for fit in found.fits if fit.law.startswith(law)])[0]


def test_poisson_arrivals_are_called_poisson() -> None:
    times = np.cumsum(np.random.default_rng(0).exponential(60.0, 4000))
    fit = named(fit_arrivals(times), "Poisson")
    assert fit.verdict == "good"
    assert fit.parameters["rate_per_h"] == pytest.approx(60, rel=0.05)
    assert fit.dispersion == pytest.approx(1.0, abs=0.25)


@pytest.mark.parametrize(
    ("law", "draw"),
    [
        ("renewal, gamma", lambda random: random.gamma(0.4, 100.0, 4000)),
        ("renewal, Weibull", lambda random: 100 * random.weibull(0.6, 4000)),
        ("renewal, lognormal", lambda random: random.lognormal(3.0, 1.6, 4000)),
    ],
)
def test_renewal_arrivals_are_recognised_by_their_gaps(law: str, draw: object) -> None:
    found = fit_arrivals(np.cumsum(draw(np.random.default_rng(7))))
    assert isinstance(found, ArrivalLaws)
    assert found.best.law.startswith(law)
    assert found.best.verdict == "good"
    assert named(found, "Poisson").verdict == "bad"


def test_modulated_arrivals_are_recognised_with_their_rates() -> None:
    found = fit_arrivals(modulated_times(8000))
    assert isinstance(found, ArrivalLaws)
    assert found.best.law == "two-state MMPP"
    assert found.best.verdict == "good"
    assert found.best.parameters["calm_per_h"] == pytest.approx(36, rel=0.15)
    assert found.best.parameters["busy_per_h"] == pytest.approx(720, rel=0.15)
    lognormal = named(found, "renewal, lognormal")
    assert lognormal.verdict == "bad"
    assert "does not explain the bursts" in lognormal.words


def test_a_daily_pattern_is_explained_by_the_hour_of_the_day() -> None:
    found = fit_arrivals(daily_times(12), clock="local")
    hourly = named(found, "Poisson by hour of the day")
    assert hourly.verdict == "good"
    assert hourly.aic_above_best == 0
    assert hourly.dispersion == pytest.approx(1.0, abs=0.25)
    assert named(found, "Poisson").verdict == "bad"


def test_hourly_rates_are_arrivals_over_hours_watched() -> None:
    times = daily_times(12)
    rates = by_hour_of_day(times[None, :], "relative").rates_per_h
    assert rates.shape == (168,)
    assert rates[12] == pytest.approx(50, rel=0.15)
    assert rates[2] == pytest.approx(5, rel=0.4)


def test_expected_arrivals_of_the_fitted_pattern_add_up_to_those_seen() -> None:
    times = daily_times(20)[None, :]
    for clock in ("relative", "local"):
        pattern = by_hour_of_day(times, clock)
        assert pattern.expected(times).sum() == pytest.approx(times.size - 1, rel=1e-9)


def test_a_short_trace_has_no_law_by_hour_and_says_why() -> None:
    found = fit_arrivals(np.cumsum(np.random.default_rng(0).exponential(10.0, 500)))
    assert isinstance(found, ArrivalLaws)
    assert found.not_fitted == {"Poisson by hour": "the trace is shorter than two days"}


def test_the_likelihood_of_equal_states_is_that_of_poisson() -> None:
    gaps = np.random.default_rng(0).exponential(5.0, (3, 100))
    rate = 0.2
    equal = ModulatedPoisson(rate, rate, 0.01, 0.03)
    assert equal.log_likelihood(gaps) == pytest.approx(
        gaps.size * np.log(rate) - rate * gaps.sum(), rel=1e-9
    )
    np.testing.assert_allclose(equal.shares_below(gaps), -np.expm1(-rate * gaps), atol=1e-9)


def test_the_tree_of_products_equals_one_product_after_the_other() -> None:
    gaps = np.random.default_rng(4).exponential(3.0, 13)
    law = ModulatedPoisson(0.05, 1.5, 0.02, 0.2)
    calm, busy, leave, back = law.rates
    matrix = np.array([[-(calm + leave), leave], [back, -(busy + back)]])
    vectors = np.linalg.eig(matrix)
    state = np.array([calm * back, busy * leave])
    state = state / state.sum()
    total = 0.0
    for gap in gaps:
        step = vectors.eigenvectors @ np.diag(np.exp(vectors.eigenvalues * gap))
        state = state @ step @ np.linalg.inv(vectors.eigenvectors) @ np.diag([calm, busy])
        total += np.log(state.sum())
        state = state / state.sum()
    assert law.log_likelihood(gaps[None, :]) == pytest.approx(total, rel=1e-9)


def test_calm_is_the_slower_state() -> None:
    law = fit_modulated(np.diff(modulated_times(3000))[None, :])
    assert law.calm_rate < law.busy_rate


def test_arrivals_at_the_same_tick_are_spread_over_it() -> None:
    times = np.floor(np.cumsum(np.random.default_rng(0).exponential(2.0, 3000)))
    found = fit_arrivals(times)
    assert isinstance(found, ArrivalLaws)
    assert found.resolution_s == 1.0
    assert named(found, "Poisson").verdict == "good"


@pytest.mark.parametrize(
    ("times", "tick"),
    [([0.0, 1.0, 2.0], 0.0), ([0.0, 0.0, 7.0], 1.0), ([0.25, 0.25, 0.5], 0.25)],
)
def test_the_tick_of_the_clock_is_found_where_it_matters(times: list[float], tick: float) -> None:
    assert clock_resolution(np.array(times)) == tick


def test_a_large_trace_is_fitted_in_stretches() -> None:
    times = np.cumsum(np.random.default_rng(0).exponential(1.0, 9000))
    found = fit_arrivals(times, sample=1000)
    assert isinstance(found, ArrivalLaws)
    assert (found.gaps_fitted, found.stretches, found.arrivals) == (1000, 10, 9000)


@pytest.mark.parametrize(
    ("times", "reason"),
    [
        (np.arange(5.0), "5 arrivals are known"),
        (np.full(100, 3.0), "all jobs arrive at the same time"),
        (np.full(100, np.nan), "0 arrivals are known"),
    ],
)
def test_too_little_to_fit_gives_a_reason(times: np.ndarray, reason: str) -> None:
    found = fit_arrivals(times)
    assert isinstance(found, NotComputable)
    assert reason in found.reason


def test_too_few_windows_leave_the_dispersion_open() -> None:
    assert np.isnan(residual_dispersion(np.full((1, 30), 0.5))[0])
