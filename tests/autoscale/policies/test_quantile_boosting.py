from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.autoscale.fleets import plateaus

from prophase.autoscale.policies.quantile_boosting import QuantileBoosting
from prophase.autoscale.policy import Hysteresis

pytest.importorskip("xgboost")


def test_it_never_gives_less_than_what_is_used_right_now():
    fleet = plateaus(series=6)
    found = QuantileBoosting().fit(fleet, 0.9).plan(fleet).allocate(0.3, Hysteresis())
    later = fleet.age > 0
    assert (found[later] >= fleet.use[fleet.first_sample[later] - 1]).all()


def test_another_metric_that_announces_a_rise_is_used():
    fleet = plateaus(series=12, samples=200)
    # each decision learns from the sample before it whether use will spike until the next one
    ahead = np.append(fleet.block_peak()[1:], 0.0)
    told = np.repeat(ahead, fleet.block_length)
    informed = replace(fleet, others={"announced": told})
    errors = []
    for one in (fleet, informed):
        expected = QuantileBoosting().fit(one, 0.5).plan(one).base
        later = one.age > 0
        errors.append(np.abs(np.log(expected / one.block_peak()))[later].mean())
    assert errors[1] < errors[0]
