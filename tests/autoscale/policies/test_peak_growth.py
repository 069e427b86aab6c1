"""Room above the highest use by how old a run is and how long ago it grew."""

from __future__ import annotations

import numpy as np

from prophase.autoscale.fleet import Fleet
from prophase.autoscale.objective import Objective, kill_objective
from prophase.autoscale.policies.baselines import PeakHold
from prophase.autoscale.policies.peak_growth import PeakGrowth
from prophase.autoscale.policy import Hysteresis
from prophase.autoscale.tuned_policy import tune


def pods(count: int, seed: int) -> Fleet:
    """Memory that grows in steps in the first hours, and hardly any more."""
    rng = np.random.default_rng(seed)
    runs = []
    for _ in range(count):
        steps = np.zeros(1440)
        for at in rng.integers(1, 180, 6):
            steps[at] += rng.uniform(0.2, 1.0)
        if rng.random() < 0.3:
            steps[rng.integers(180, 1440)] += rng.uniform(0.1, 0.3)
        runs.append(1.0 + np.cumsum(steps) + rng.uniform(0, 0.005, 1440))
    names = [f"{seed}-{number}" for number in range(count)]
    return Fleet.of_runs(runs, series_id=names, metric="memory_gib")


def test_a_calm_run_is_given_less_room_than_one_that_still_grows() -> None:
    policy = PeakGrowth(window=288).fit(pods(30, 1), 0.99)
    grown = np.r_[np.linspace(1, 4, 30), np.full(900, 4.0)]
    fleet = Fleet.of_runs([grown], metric="memory_gib")
    given = policy.plan(fleet).allocate(300.0, Hysteresis())
    young, calm = given[30 // 5 + 1], given[-1]
    assert young > 1.05 * calm
    assert 4.0 <= calm < 4.8


def test_it_needs_less_than_one_margin_for_all_at_the_same_rate_of_kills() -> None:
    fleet = pods(40, 2)
    asked = kill_objective(fleet, 0.5)
    mine, theirs = (tune(policy, fleet, target=asked) for policy in (PeakGrowth(), PeakHold()))
    assert mine.is_met
    assert mine.expected.allocation_over_usage < 0.98 * theirs.expected.allocation_over_usage


def test_kills_on_other_pods_stay_below_what_is_allowed() -> None:
    allowed, kept = 0.5, []
    for seed in range(3, 9):
        tuned = tune(PeakGrowth(), pods(30, seed), target=kill_objective(pods(30, seed), allowed))
        other = pods(30, 100 + seed)
        kept.append(Objective(0.9, allowed, caution=0.0).is_met(other, tuned.allocate(other)))
    assert sum(kept) >= 5
