from __future__ import annotations

import numpy as np
import pytest

from prophase.autoscale.fleet import Fleet
from prophase.autoscale.policies.vpa import Vpa
from prophase.autoscale.policy import Hysteresis

DAY = 1440


def allocated(use, metric, startup):
    fleet = Fleet.of_runs([use], every=5, step_s=60.0, metric=metric)
    policy = Vpa().fit(fleet, 0.9)
    policy.startup_ = startup
    return policy.plan(fleet).allocate(1.0, Hysteresis())


def test_steady_cpu_settles_at_the_bucket_above_use_and_fifteen_percent():
    found = allocated([1.0] * (2 * DAY), "cpu_cores", 1.3)[-1]
    assert 1.15 <= found <= 1.15 * 1.06


def test_a_request_within_the_bounds_is_kept_for_twelve_hours():
    found = allocated([1.0] * DAY, "cpu_cores", 2.0)
    half = DAY // 2 // 5
    assert (found[:half] == 2.0).all()
    assert found[-1] < 1.3


def test_a_request_below_the_lower_bound_is_raised_soon():
    found = allocated([4.0] * 120, "cpu_cores", 1.0)
    assert found[0] == 1.0
    assert found[-1] >= 4.0 * 1.15


def test_memory_follows_the_peak_of_the_day_not_its_usual_level():
    use = np.full(DAY, 2.0)
    use[100:103] = 6.0
    assert allocated(use, "memory_gib", 8.0)[-1] >= 6.0 * 1.15


def test_a_kill_adds_a_sample_of_a_fifth_more():
    use = np.full(200, 2.0)
    use[50:] = 4.0
    found = allocated(use, "memory_gib", 2.5)
    assert found[-1] >= 4.0 * 1.2 * 1.15


def test_tiny_containers_get_the_least_recommendation():
    found = allocated([0.001] * (2 * DAY), "cpu_cores", 0.03)
    assert found[-1] == pytest.approx(0.025)


def test_old_peaks_fade_by_half_a_day():
    use = np.full(12 * DAY, 2.0)
    use[:DAY] = 9.0
    found = allocated(use, "memory_gib", 12.0)
    assert found[-1] < 9.0
