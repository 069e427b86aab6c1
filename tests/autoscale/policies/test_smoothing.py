from __future__ import annotations

import numpy as np
import pytest

from prophase.autoscale.fleet import Fleet
from prophase.autoscale.policies.smoothing import Holt, smoothed
from prophase.autoscale.policy import Hysteresis


def test_level_and_trend_are_those_of_the_text_book() -> None:
    runs = [np.random.default_rng(seed).lognormal(0.0, 0.5, 40) for seed in range(3)]
    fleet = Fleet.of_runs([run.tolist() for run in runs], every=5)
    level, trend, error = smoothed(fleet, 0.3, 0.1)
    row = 0
    for run in runs:
        now, slope, usual = run[0], 0.0, 0.0
        for place, value in enumerate(run):
            if place % 5 == 0:
                if place:
                    assert [level[row], trend[row], error[row]] == pytest.approx(
                        [now, slope, usual]
                    )
                row += 1
            last, forecast = now, now + 0.9 * slope
            usual = 0.95 * usual + 0.05 * abs(value - forecast)
            now = 0.3 * value + 0.7 * forecast
            slope = 0.1 * (now - last) + 0.9 * (0.9 * slope)


def test_a_steady_rise_is_given_more_than_was_ever_used() -> None:
    fleet = Fleet.of_runs([np.linspace(1.0, 41.0, 401).tolist()], every=5)
    plan = Holt(level=0.7, trend=0.1).fit(fleet, 0.99).plan(fleet)
    given = plan.allocate(1.0, Hysteresis())[10:]
    assert (given > fleet.block_peak()[9:-1]).all()
    assert (given < 1.1 * fleet.block_peak()[10:]).all()
