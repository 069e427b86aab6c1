from __future__ import annotations

import numpy as np
import pytest
from tests.phase.scale.fleets import plateaus

from prophase.phase.scale import Hysteresis, measure, tune
from prophase.phase.scale.policies.priced import Priced
from prophase.phase.scale.policies.recent_max import RecentMax

pytest.importorskip("xgboost")


@pytest.fixture(scope="module")
def fit():
    return plateaus(series=24, seed=1)


@pytest.fixture(scope="module")
def tuned(fit):
    return tune(Priced(), fit, target=0.95, max_resizes=60)


def test_it_needs_less_than_a_recent_maximum_for_the_same_satisfaction(fit, tuned):
    other = tune(RecentMax(), fit, target=0.95, max_resizes=60)
    new = plateaus(series=24, seed=2)
    ours, theirs = (measure(new, one.allocate(new)) for one in (tuned, other))
    assert ours.satisfied_pct == pytest.approx(95, abs=1.0)
    assert ours.allocation_over_usage < theirs.allocation_over_usage


def test_it_never_gives_less_than_what_is_used_right_now(fit, tuned):
    new = plateaus(series=4, seed=3)
    found = tuned.policy.plan(new).allocate(0.05, Hysteresis(0.0, 0.05))
    later = new.age > 0
    assert (found[later] >= new.use[new.first_sample[later] - 1]).all()


def test_a_resize_has_to_be_worth_it(fit, tuned):
    plan = tuned.policy.plan(fit)
    free, held = (plan.allocate(tuned.dial, Hysteresis(0.0, worth)) for worth in (0.0, 0.08))
    assert np.count_nonzero(np.diff(held)) < np.count_nonzero(np.diff(free))
