from __future__ import annotations

import numpy as np
import pytest

from prophase.autoscale.fleet import Fleet
from prophase.autoscale.policies.autopilot import Autopilot
from prophase.autoscale.policy import Hysteresis


def _wanted(use, share, *, metric="cpu_cores", every=5, step_s=60.0):
    fleet = Fleet.of_runs([use], every=every, step_s=step_s, metric=metric)
    plan = Autopilot(share=share).fit(fleet, 0.9).plan(fleet)
    return plan.allocate(1.0, Hysteresis())


def test_the_mean_fades_by_half_in_twelve_hours_of_cpu_and_two_days_of_memory():
    # twelve hours at 8, then twelve hours at 2, sampled every ten minutes
    use = np.repeat([8.0, 2.0], 72)
    weights = 2.0 ** (-np.arange(143, -1, -1) // 1 * 600 / 43_200)
    expected = float((weights * use).sum() / weights.sum())
    found = _wanted([*use, 2.0], 0.0, every=1, step_s=600.0)
    # the most of the last six recommendations: the one of an hour before is higher
    assert expected < found[-1] < 1.1 * expected
    assert _wanted([*use, 2.0], 0.0, every=1, step_s=600.0, metric="memory_gib")[-1] > found[-1]


def test_a_percentile_is_of_the_load_not_of_the_samples():
    # nine samples at 1 are a tenth of the load of one at 81, and nine tenths of the samples
    use = np.tile([1.0] * 9 + [81.0], 20)
    assert _wanted(use, 0.6)[-1] == pytest.approx(81.0, rel=0.06)
    assert _wanted(np.full(100, 3.0), 0.9)[-1] == pytest.approx(3.0, rel=0.06)


def test_the_maximum_is_kept_and_idle_runs_get_nothing():
    use = np.ones(200)
    use[30] = 9.0
    assert _wanted(use, 1.0)[-1] == 9.0
    assert _wanted(np.zeros(40), 0.95)[-1] == 0.0


def test_a_recommendation_holds_for_an_hour():
    use = np.repeat([4.0, 1.0], [60, 480])
    given = _wanted(use, 0.6)
    level = given[12]
    assert (given[12:24] == level).all()
    assert given[-1] < level
