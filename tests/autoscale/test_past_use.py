from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.autoscale.fleets import plateaus

from prophase.autoscale.past_use import lags, recent_low, recent_mean, recent_peak, startup_level
from prophase.autoscale.phase_labels import phases_of


@pytest.mark.parametrize("window", [1, 2, 3, 7, 8, 100, 10_000])
@pytest.mark.parametrize(
    ("fast", "slow"), [(recent_peak, max), (recent_low, min), (recent_mean, np.mean)]
)
def test_summaries_of_the_past_agree_with_slices(fast, slow, window):
    fleet = plateaus(series=3, samples=60)
    expected = [
        slow(fleet.use[first - min(age, window) : first]) if age else 0.0
        for first, age in zip(fleet.first_sample, fleet.age, strict=True)
    ]
    np.testing.assert_allclose(fast(fleet, window), expected)


def test_a_start_is_given_what_starts_have_needed():
    fleet = plateaus(series=20)
    first = fleet.use[np.repeat(fleet.age == 0, fleet.block_length)]
    assert np.mean(first <= startup_level(fleet, 0.9)) == pytest.approx(0.9, abs=0.02)


def test_phases_told_apart_by_hand_do_not_look_ahead():
    fleet = plateaus(series=2, samples=200)
    whole, phases = phases_of(fleet)
    changed = fleet.use.copy()
    changed[100:200] = 50.0
    other, _ = phases_of(type(fleet)(fleet.series_id, changed, fleet.lengths, 5, 60.0))
    np.testing.assert_array_equal(whole[:100], other[:100])
    assert whole.min() >= 0
    assert whole.max() < phases


def test_lags_are_finite_for_idle_runs():
    fleet = plateaus(series=1, samples=40)
    idle = type(fleet)(fleet.series_id, np.zeros(40), fleet.lengths, 5, 60.0)
    seen = lags(idle, 1e-3)
    assert np.isfinite(seen.levels).all()
    assert np.isfinite(seen.manner).all()


def test_lags_of_other_metrics_end_before_the_decision():
    fleet = plateaus(series=2, samples=100)
    other = np.random.default_rng(1).normal(size=fleet.samples)
    seen = lags(replace(fleet, others={"cpu_cores": other}), 1e-3, ["cpu_cores", "absent"])
    last = other[fleet.first_sample[1] - 1]
    own = seen.manner.shape[1] - 12
    assert np.isnan(seen.manner[fleet.age == 0, own : own + 6]).all()
    assert np.isnan(seen.manner[:, own + 6 :]).all()
    assert seen.manner[1, own] == last
    np.testing.assert_allclose(seen.manner[1, own + 1], other[:5].mean())
    np.testing.assert_allclose(seen.manner[1, own + 3], other[:5].max())


def test_holes_in_other_metrics_are_left_out_of_their_means():
    fleet = plateaus(series=1, samples=20)
    other = np.full(20, np.nan)
    other[:3] = 4.0
    seen = lags(replace(fleet, others={"cpu_cores": other}), 1e-3, ["cpu_cores"])
    assert seen.manner[1, -5] == 4.0
    assert np.isnan(seen.manner[1, -6])
