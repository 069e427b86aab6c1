from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.autoscale.fleets import plateaus

from prophase.autoscale.allocation_measures import measure
from prophase.autoscale.fleet import Fleet
from prophase.autoscale.objective import kill_objective, usual_objective
from prophase.autoscale.policies.vpa import Vpa
from prophase.autoscale.policy import Hysteresis
from prophase.autoscale.policy_catalogue import ALWAYS
from prophase.autoscale.policy_comparison import compare, divided, frontier
from prophase.autoscale.saved_policy import saved_policy
from prophase.errors import InputError, ParameterError


@pytest.fixture(scope="module")
def found():
    fit, test = plateaus(series=10, seed=1), plateaus(series=6, seed=2)
    return compare(fit, test, target=0.95, policies=["phase-relative"], max_resizes=80)


def test_a_report_contains_the_baselines_and_names_a_winner(found):
    names = [one.policy for one in found.judged]
    assert set(ALWAYS) <= set(names)
    assert found.winner is not None
    assert found.winner.policy != "oracle"
    assert f"chosen on the fit series alone: {found.winner.policy}." in found.verdict()


def test_the_verdict_says_whether_phases_help(found):
    assert "Phases " in found.verdict()
    assert "against no-phase" in found.verdict()


def test_the_winner_needs_least_on_the_fit_series_among_those_that_do_as_asked_there(found):
    for one in found.eligible:
        least = found.winner.tuned.expected.allocation_over_usage
        assert one.tuned.expected.allocation_over_usage >= least
    assert all(one.tuned.expected.satisfied_pct >= 95 for one in found.eligible)


def test_the_test_series_have_no_say_in_who_wins(found):
    other = plateaus(series=6, seed=77)
    again = compare(
        found.fit, replace(other, use=other.use[::-1] * 9), target=0.95,
        policies=["phase-relative"], max_resizes=80,
    )  # fmt: skip
    assert again.winner.policy == found.winner.policy


def test_kills_are_what_memory_is_tuned_for():
    fit, test = plateaus(series=12, seed=1), plateaus(series=12, seed=2)
    asked = kill_objective(fit, 6.0)
    found = compare(fit, test, target=asked, policies=["recent-max"], max_resizes=200)
    for one in found.judged:
        if one.tuned.policy.tuned and one.tuned.is_met:
            assert one.tuned.expected.kills_per_pod_day <= 6.0
    assert "at most 6 kills per pod-day" in found.verdict()
    assert "VPA's rule allocates" in found.verdict() or found.winner.policy == "vpa"
    kills = found.expected_kills(found.winner)
    assert kills.value == pytest.approx(found.winner.tuned.expected.kills_per_pod_day)
    assert kills.low <= kills.value <= kills.high
    assert ("are sure to keep" in found.verdict()) == (kills.high <= 6.0)
    held = saved_policy(found).expected
    assert held["kills_per_pod_day_high"] == kills.high


def test_vpas_own_rate_is_an_objective_and_only_of_memory():
    fleet = plateaus(series=6, seed=1)
    vpa = Vpa().fit(fleet, 0.99).plan(fleet).allocate(1.0, Hysteresis())
    assert kill_objective(fleet).kills_per_pod_day == measure(fleet, vpa).kills_per_pod_day
    assert usual_objective(fleet) == kill_objective(fleet)
    cores = plateaus(series=3, metric="cpu_cores")
    assert usual_objective(cores).kills_per_pod_day is None
    with pytest.raises(ParameterError, match="ask for a share of samples"):
        kill_objective(cores)


def test_the_oracle_is_never_short(found):
    assert found.named("oracle").measures.satisfied_pct == 100


def test_no_winner_is_named_when_no_policy_does_as_asked_on_the_fit_series():
    wild = Fleet.of_runs([np.linspace(1, 900, 60) ** 2] * 3, series_id=list("abc"))
    calm = Fleet.of_runs([np.ones(60)] * 2, series_id=list("de"))
    found = compare(wild, calm, target=0.99, policies=[], max_resizes=1.0)
    assert found.winner is None or found.winner.policy == "static"
    nobody = replace(found, judged=tuple(o for o in found.judged if o.policy != "static"))
    assert "No policy keeps to 99 % of samples" in nobody.verdict()


def test_a_winner_that_fails_on_new_series_is_said_to(found):
    calm = Fleet.of_runs([np.ones(60)] * 3, series_id=list("abc"))
    wild = Fleet.of_runs([np.linspace(1, 900, 60) ** 2] * 2, series_id=list("de"))
    assert "which is not what was asked" in compare(calm, wild, policies=[]).verdict()


def test_a_series_on_both_sides_is_refused():
    fleet = plateaus(series=3)
    with pytest.raises(InputError, match="3 series are in fit and in test"):
        compare(fleet, fleet)


def test_an_unknown_policy_is_answered_with_the_known_ones():
    with pytest.raises(ParameterError, match="Did you mean 'recent-max'"):
        compare(plateaus(seed=1), plateaus(seed=2), policies=["recent-maks"])


def test_series_are_divided_whole_and_a_single_one_by_time():
    fleet = plateaus(series=7)
    fit, test = divided(fleet, test_share=0.3)
    assert sorted(fit.series + test.series) == sorted(fleet.series)
    assert len(test.series) == 2
    one = fleet.only(fleet.series[:1])
    fit, test = divided(one, test_share=0.25)
    np.testing.assert_array_equal(np.concatenate([fit.use, test.use]), one.use)
    assert test.samples == 75


def test_a_single_short_series_is_refused():
    with pytest.raises(InputError, match="too few"):
        divided(Fleet.of_runs([[1.0] * 8]))


def test_the_frontier_rises_with_the_target():
    # memory's need not: kills make work that is done again
    fit, test = (plateaus(series=6, seed=seed, metric="cpu_cores") for seed in (1, 2))
    found = compare(fit, test, target=0.95, policies=["phase-relative"], max_resizes=80)
    points = frontier(found, (0.9, 0.98))
    for policy, rows in points.groupby("policy"):
        if policy not in ("vpa", "oracle"):
            assert rows["allocation_over_usage"].is_monotonic_increasing, policy
