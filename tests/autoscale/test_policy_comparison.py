from __future__ import annotations

import numpy as np
import pytest
from tests.autoscale.fleets import plateaus

from prophase.autoscale.fleet import Fleet
from prophase.autoscale.policy_catalogue import ALWAYS
from prophase.autoscale.policy_comparison import compare, divided, frontier
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
    assert f"Winner: {found.winner.policy}" in found.verdict()


def test_the_verdict_says_whether_phases_help(found):
    assert "Phases " in found.verdict()
    assert "against no-phase" in found.verdict()


def test_the_winner_needs_least_among_those_that_do_as_asked(found):
    for one in found.eligible:
        least = found.winner.measures.allocation_over_usage
        assert one.measures.allocation_over_usage >= least
    assert all(one.measures.satisfied_pct >= 94.7 for one in found.eligible)


def test_the_oracle_is_never_short(found):
    assert found.named("oracle").measures.satisfied_pct == 100


def test_no_winner_is_named_when_no_policy_does_as_asked():
    calm = Fleet.of_runs([np.ones(60)] * 3, series_id=list("abc"))
    wild = Fleet.of_runs([np.linspace(1, 900, 60) ** 2] * 2, series_id=list("de"))
    found = compare(calm, wild, target=0.99, policies=[])
    assert found.winner is None
    assert "No policy satisfies 99 %" in found.verdict()


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


def test_the_frontier_rises_with_the_target(found):
    points = frontier(found, (0.9, 0.98))
    for policy, rows in points.groupby("policy"):
        if policy not in ("vpa", "oracle"):
            assert rows["allocation_over_usage"].is_monotonic_increasing, policy
