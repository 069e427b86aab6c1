from __future__ import annotations

import numpy as np
import pytest

from prophase.profile.clusters.metric_summary import summarise

DAY = 86_400.0
RNG = np.random.default_rng(0)


def names(count: int) -> list[str]:
    return [f"job-{number}" for number in range(count)]


def test_the_summary_is_that_of_numpy_over_known_values() -> None:
    values = np.append(RNG.lognormal(size=200), [np.nan] * 3)
    found = summarise(values, None, names(203))
    assert found is not None
    held = values[:200]
    assert (found.n, found.missing) == (200, 3)
    assert found.mean == pytest.approx(held.mean())
    assert found.std == pytest.approx(held.std(ddof=1))
    assert found.quantiles["q95"] == pytest.approx(np.quantile(held, 0.95))
    assert sum(found.histogram["jobs"]) == 200
    assert (found.trend, found.season) == (None, None)


def test_a_metric_that_nobody_has_has_no_summary() -> None:
    assert summarise(np.array([np.nan]), None, ["a"]) is None


def test_a_single_job_has_no_spread() -> None:
    found = summarise(np.array([7.0]), np.array([0.0]), ["a"])
    assert found is not None
    assert (found.std, found.anomalies, found.trend) == (0.0, 0, None)


def test_a_rising_metric_has_a_rising_trend_and_noise_is_steady() -> None:
    clock = np.sort(RNG.uniform(0, 30 * DAY, 400))
    noise = RNG.normal(size=400)
    rising = summarise(2 * clock / DAY + noise, clock, names(400))
    steady = summarise(noise, clock, names(400))
    assert rising is not None
    assert rising.trend is not None
    assert rising.trend.direction == "rising"
    assert rising.trend.per_day == pytest.approx(2.0, abs=0.1)
    assert steady is not None
    assert steady.trend is not None
    assert steady.trend.direction == "steady"


def test_a_daily_pattern_shows_as_season() -> None:
    clock = np.sort(RNG.uniform(0, 30 * DAY, 2000))
    noise = RNG.normal(size=2000)
    daily = summarise(3 * np.sin(2 * np.pi * clock / DAY) + noise, clock, names(2000))
    flat = summarise(noise, clock, names(2000))
    assert daily is not None
    assert daily.season is not None
    assert daily.season.explained == pytest.approx(4.5 / 5.5, abs=0.05)
    assert daily.season.daily
    assert daily.season.high_hour in (4, 5, 6, 7)
    assert daily.season.low_hour in (16, 17, 18, 19)
    assert flat is not None
    assert flat.season is not None
    assert flat.season.explained == pytest.approx(0.0, abs=0.02)
    assert not flat.season.daily


def test_a_single_day_has_no_season() -> None:
    clock = np.linspace(0, 1.5 * DAY, 200)
    found = summarise(np.sin(clock), clock, names(200))
    assert found is not None
    assert found.season is None


def test_jobs_far_outside_are_anomalies_and_the_farthest_come_first() -> None:
    values = np.append(RNG.normal(size=100), [30.0, -50.0])
    found = summarise(values, None, names(102))
    assert found is not None
    assert found.anomalies == 2
    assert found.anomalous_jobs == ["job-101", "job-100"]


def test_rounding_noise_on_a_constant_metric_is_no_anomaly() -> None:
    found = summarise(np.append(np.full(100, 3.0), 3.0 + 1e-12), None, names(101))
    assert found is not None
    assert found.anomalies == 0
