from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from prophase.autoscale.fleet import Fleet
from prophase.autoscale.policies.priced import Priced
from prophase.autoscale.policy import Hysteresis
from prophase.autoscale.tuned_policy import tune

pytest.importorskip("xgboost")


def calm_and_spiky(seed: int) -> Fleet:
    """Runs of which half hardly move, and half spike to twice their level now and then."""
    rng = np.random.default_rng(seed)
    runs = []
    for number in range(16):
        level = rng.uniform(2, 8)
        spikes = (rng.random(200) < 0.08 * (number % 2)) * level
        runs.append(level + spikes + rng.normal(0, 0.002 * level, 200))
    return Fleet.of_runs(runs, series_id=[f"{seed}-{number}" for number in range(16)])


@pytest.fixture(scope="module")
def fit():
    return calm_and_spiky(1)


@pytest.fixture(scope="module")
def tuned(fit):
    return tune(Priced(), fit, target=0.95, max_resizes=200, folds=2)


def test_memory_is_never_less_than_what_is_used_right_now_while_a_peak_of_cpu_may_pass(fit, tuned):
    later = fit.age > 0
    last = fit.use[fit.first_sample[later] - 1]
    for metric, always in (("memory_gib", True), ("cpu_cores", False)):
        plan = tuned.policy.plan(replace(fit, metric=metric))
        found = plan.allocate(0.05, Hysteresis(0.0, 0.05))[later]
        assert (found >= last).all() == always


def test_a_resize_has_to_be_worth_it(fit, tuned):
    plan = tuned.policy.plan(fit)
    free, held = (plan.allocate(tuned.dial, Hysteresis(0.0, worth)) for worth in (0.0, 0.08))
    assert np.count_nonzero(np.diff(held)) < np.count_nonzero(np.diff(free))
