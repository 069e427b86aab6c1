from __future__ import annotations

import pytest
from tests.autoscale.fleets import plateaus

from prophase.autoscale.allocation_measures import measure
from prophase.autoscale.policies.baselines import RecentMax, Static
from prophase.autoscale.policies.per_phase import NoPhase, PhaseRelative
from prophase.autoscale.policy import Hysteresis
from prophase.autoscale.tuned_policy import held_out_plan, tune
from prophase.errors import ParameterError


@pytest.fixture(scope="module")
def fit():
    return plateaus(series=30, seed=1, metric="cpu_cores")


@pytest.mark.parametrize("policy", [RecentMax(), NoPhase(), PhaseRelative()], ids=lambda p: p.name)
@pytest.mark.parametrize("target", [0.95, 0.98])
def test_new_series_are_satisfied_as_often_as_asked(fit, policy, target):
    tuned = tune(policy, fit, target=target, max_resizes=100)
    new = plateaus(series=60, seed=2, metric="cpu_cores")
    found = measure(new, tuned.allocate(new))
    assert found.satisfied_pct == pytest.approx(100 * target, abs=1.0)


def test_settings_stay_within_the_allowed_resizes_at_the_price_of_allocation(fit):
    free = tune(RecentMax(), fit, target=0.95, max_resizes=1000)
    tight = tune(RecentMax(), fit, target=0.95, max_resizes=30)
    assert tight.within_resizes
    assert tight.expected.resizes_per_1000 <= 30 < free.expected.resizes_per_1000
    assert tight.expected.allocation_over_usage >= free.expected.allocation_over_usage


def test_resizes_that_no_setting_can_keep_to_are_reported(fit):
    assert not tune(RecentMax(), fit, target=0.95, max_resizes=0.0).within_resizes


def test_a_series_is_planned_without_having_been_learned_from(fit):
    marked = fit.only(fit.series[:4])
    use = marked.use.copy()
    first = marked.lengths[0]
    # only the first series ever rises a hundredfold, so others cannot have taught it
    use[first // 2 : first // 2 + 40] *= 100
    marked = type(fit)(marked.series_id, use, marked.lengths, 5, 60.0, "memory_gib")
    name = marked.series[0]
    inside = marked.decisions_of([name])
    plain = NoPhase(window=2).fit(marked, 0.99).plan(marked).allocate(9e4, Hysteresis())
    held_out = held_out_plan(NoPhase(window=2), marked, 0.99, folds=4).allocate(9e4, Hysteresis())
    assert plain[inside][1] > 10 * held_out[inside][1]


@pytest.mark.parametrize("target", [0.2, 1.0, 99.0])
def test_a_target_that_is_no_share_is_refused(fit, target):
    with pytest.raises(ParameterError, match=r"such as 0\.99"):
        tune(Static(), fit, target=target)
