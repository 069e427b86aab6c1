from __future__ import annotations

import math

import numpy as np
import pytest

from prophase.errors import ParameterError
from prophase.sim.queueing.exact_waits import exact_waits
from prophase.sim.queueing.mmc import mmc
from prophase.sim.queueing.time_varying import fluid_backlog, offered_load, waits_over_time


def test_a_steady_rate_settles_at_rate_times_service():
    load = offered_load(np.full(400, 3.0), 1.0, service_mean_s=5.0).offered_load
    times = np.arange(1, 401)
    np.testing.assert_allclose(load, 15 * (1 - np.exp(-times / 5)), rtol=1e-9)


def test_durations_of_a_sample_stand_for_their_law():
    rng = np.random.default_rng(0)
    rate = rng.uniform(0, 5, 100)
    sizes = rng.exponential(3.0, 50)
    load = offered_load(rate, 0.5, durations_s=sizes).offered_load
    # by definition: every bin adds what of its jobs still runs
    edges = 0.5 * np.arange(101)
    for end in (10, 55, 100):
        expected = sum(
            rate[b]
            * np.mean(
                np.minimum(sizes, edges[end] - edges[b])
                - np.minimum(sizes, edges[end] - edges[b + 1])
            )
            for b in range(end)
        )
        assert load[end - 1] == pytest.approx(expected, rel=1e-9)


def test_a_sinusoidal_rate_lags_and_flattens_as_eick_massey_and_whitt_say():
    # Eick, Massey and Whitt (1993), exponential service of mean 1 and rate a + b sin(w t):
    # m(t) = a + b (sin wt - w cos wt) / (1 + w^2)
    bins, w = 4000, 1.0
    width = 2 * math.pi / bins
    middle = width * (np.arange(bins) + 0.5)
    load = offered_load(
        10 + 5 * np.sin(middle), width, service_mean_s=1.0, periodic=True
    ).offered_load
    end = width * (np.arange(bins) + 1)
    expected = 10 + 5 * (np.sin(end) - w * np.cos(end)) / (1 + w**2)
    np.testing.assert_allclose(load, expected, atol=1e-5)


def test_servers_of_a_job_weigh_its_load():
    steady = offered_load(np.ones(500), 1.0, durations_s=[2.0, 4.0], weights=[1.0, 8.0])
    assert steady.offered_load[-1] == pytest.approx((2 * 1 + 4 * 8) / 2)


def test_all_views_agree_for_a_steady_rate():
    rate = np.full(300, 9.0)
    expected = mmc(9.0, 1.0, 12)
    for view in ("psa", "sipp", "mol"):
        found = waits_over_time(rate, 1.0, 12, view=view, service_mean_s=1.0)
        assert found.wait_mean_s[-1] == pytest.approx(expected.wait_mean_s, rel=1e-6)
        assert found.wait_probability[-1] == pytest.approx(expected.wait_probability, rel=1e-6)


def test_an_overloaded_bin_has_no_steady_state():
    found = waits_over_time([5.0, 20.0, 0.0], 60.0, 10, view="psa", service_mean_s=1.0)
    assert np.isnan(found.wait_mean_s).tolist() == [False, True, False]
    assert found.overloaded_share == pytest.approx(1 / 3)
    assert found.wait_mean_s[2] == 0


def test_planning_periods_share_their_mean_rate():
    found = waits_over_time(
        [2.0, 4.0, 6.0, 6.0, 9.0], 60.0, 20, view="sipp", service_mean_s=1.0, period_bins=2
    )
    assert found.offered_load.tolist() == [3.0, 3.0, 6.0, 6.0, 9.0]


def test_the_fluid_follows_its_differential_equation():
    rng = np.random.default_rng(1)
    rate = rng.uniform(0, 30, 40)
    found = fluid_backlog(rate, 2.0, 10, 1.0)
    step, x = 1e-4, 0.0
    for place, arriving in enumerate(rate):
        for _ in range(20_000):
            x += step * (arriving - min(x, 10.0))
        assert found.inside_jobs[place] == pytest.approx(x, abs=0.02)


def test_the_fluid_is_what_a_large_overloaded_pool_does():
    rng = np.random.default_rng(4)
    rate = np.array([100.0, 400.0, 400.0, 100.0, 0.0, 0.0, 0.0])
    submit = np.sort(
        np.concatenate(
            [rng.uniform(60 * k, 60 * (k + 1), rng.poisson(60 * r)) for k, r in enumerate(rate)]
        )
    )
    waits = exact_waits(submit, rng.exponential(1.0, submit.size), 200)
    assert fluid_backlog(rate, 60.0, 200, 1.0).wait_mean_s == pytest.approx(waits.mean(), rel=0.03)


def test_backlog_at_the_start_drains():
    found = fluid_backlog([0.0, 0.0, 0.0], 1.0, 10, 1.0, inside_jobs=25.0)
    assert found.inside_jobs[0] == pytest.approx(15.0)
    assert found.inside_jobs[1] == pytest.approx(10 * math.exp(-0.5))


def test_bad_rates_are_refused():
    with pytest.raises(ParameterError, match="none negative"):
        offered_load([1.0, -1.0], 1.0, service_mean_s=1.0)
    with pytest.raises(ParameterError, match="either service_mean_s or durations_s"):
        offered_load([1.0], 1.0)
    with pytest.raises(ParameterError, match="Known: psa"):
        waits_over_time([1.0], 1.0, 5, view="x", service_mean_s=1.0)
