"""Every allocation policy, found by itself: causal, seeded, raised by its dial."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.autoscale.fleets import plateaus

from prophase.autoscale.allocation_measures import measure
from prophase.autoscale.fleet import Fleet
from prophase.autoscale.policy import Hysteresis
from prophase.autoscale.policy_catalogue import POLICIES, TREES

PLAIN = Hysteresis()


@pytest.fixture(scope="module")
def fitted():
    fit = plateaus(series=8, samples=200, seed=3)
    return {name: make().fit(fit, 0.95) for name, make in POLICIES.items() if name not in TREES}


@pytest.fixture(scope="module")
def all_fitted(fitted):
    pytest.importorskip("xgboost")
    fit = plateaus(series=8, samples=200, seed=3)
    return fitted | {name: POLICIES[name]().fit(fit, 0.95) for name in TREES}


@pytest.mark.parametrize("name", [name for name in POLICIES if name != "oracle"])
@pytest.mark.parametrize("rule", [PLAIN, Hysteresis(0.01, 0.05)], ids=["plain", "hysteresis"])
def test_every_policy_decides_from_the_past_alone(all_fitted, name, rule):
    fleet = plateaus(series=3, samples=150, seed=4)
    cut = 80
    future = fleet.use.copy()
    place = np.arange(fleet.samples) - np.repeat(fleet.run_start, fleet.lengths)
    future[place >= cut] = np.random.default_rng(0).uniform(0, 30, (place >= cut).sum())
    changed = replace(fleet, use=future)
    known = fleet.age <= cut
    dial = 2.0
    before = all_fitted[name].plan(fleet).allocate(dial, rule)
    after = all_fitted[name].plan(changed).allocate(dial, rule)
    np.testing.assert_allclose(before[known], after[known], rtol=1e-6)


@pytest.mark.parametrize("name", list(POLICIES))
def test_every_policy_allocates_something_finite_to_every_run(all_fitted, name):
    odd = Fleet.of_runs([[0.0] * 30, [5.0] * 30, [1.0, 9.0] * 20, [3.0]], metric="memory_gib")
    found = all_fitted[name].plan(odd).allocate(1.5, PLAIN)
    assert found.shape == (odd.decisions,)
    assert np.isfinite(found).all()
    assert (found >= 0).all()


@pytest.mark.parametrize("name", [name for name, one in POLICIES.items() if one.tuned])
def test_turning_the_dial_up_allocates_more(all_fitted, name):
    # of a resource that kills nobody: kills are answered with more, whatever the dial says
    fleet = plateaus(series=4, samples=150, seed=5, metric="cpu_cores")
    plan = all_fitted[name].plan(fleet)
    low, high = (measure(fleet, plan.allocate(dial, PLAIN)) for dial in POLICIES[name].dials)
    assert high.allocation_over_usage > low.allocation_over_usage
    assert high.satisfied_pct > low.satisfied_pct


@pytest.mark.parametrize("name", list(POLICIES))
def test_every_policy_does_the_same_twice(all_fitted, name):
    fleet = plateaus(series=2, samples=100, seed=6)
    plan = all_fitted[name].plan
    once, again = plan(fleet).allocate(1.2, PLAIN), plan(fleet).allocate(1.2, PLAIN)
    np.testing.assert_array_equal(once, again)
