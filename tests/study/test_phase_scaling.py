"""Scaling policies that use the phases of a fitted detector."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.autoscale.fleets import usage_of

from prophase.autoscale.fleet import Fleet
from prophase.autoscale.phase_labels import labelled
from prophase.autoscale.policy import Hysteresis
from prophase.autoscale.policy_catalogue import POLICIES, WITH_PHASES
from prophase.autoscale.policy_comparison import compare
from prophase.autoscale.recommendation_result import recommendation_result
from prophase.autoscale.saved_policy import SavedPolicy, saved_policy
from prophase.errors import MissingColumnError, ParameterError
from prophase.phase import PhaseDetector
from prophase.study.phase_scaling import learnt_phases, load_policy, phases_for


def cycles(*, series: int = 6, rounds: int = 8, seed: int = 0) -> Fleet:
    """Pods that load for 30 samples, train for 60 and rest for 20, at a level of their own."""
    rng = np.random.default_rng(seed)
    runs = []
    for _ in range(series):
        one = np.concatenate([np.full(30, 4.0), np.full(60, 8.0), np.full(20, 2.0)])
        runs.append(np.tile(one, rounds) + rng.normal(0, 0.05, len(one) * rounds))
    names = [f"{seed}-{number}" for number in range(series)]
    fleet = Fleet.of_runs(runs, series_id=names, metric="cpu_cores")
    busy = np.where(fleet.use > 6, 90.0, 10.0) + rng.normal(0, 1, fleet.samples)
    return replace(fleet, others={"gpu_util_pct": busy})


@pytest.fixture(scope="module")
def found():
    fit, test = cycles(seed=1), cycles(series=3, seed=2)
    detector = learnt_phases(fit, "windows", n_phases=3)
    asked = list(WITH_PHASES)
    return compare(fit, test, target=0.98, policies=asked, max_resizes=80, labeller=detector)


def test_phases_that_repeat_save_against_the_same_policy_without_them(found):
    gain = found.gain("phase-ahead", "no-phase")
    assert gain.pays
    assert gain.tested.high < 1
    assert found.named("phase-ahead").measures.satisfied_pct > 97.5
    assert found.winner.policy in WITH_PHASES
    assert "Phases found by windows pay" in found.verdict()
    assert "the winner uses them" in found.verdict()


def test_phases_that_add_nothing_are_not_used(found):
    # with one phase all three are the policy without phases
    one = replace(found.labeller, detector=PhaseDetector("windows", n_phases=1).fit(_usage(found)))
    again = compare(found.fit, found.test, target=0.98, policies=["phase-relative"], labeller=one)
    assert not again.gains[0].pays
    assert again.winner.policy not in WITH_PHASES
    assert "the winner does not use them" in again.verdict()


def _usage(found):
    return usage_of(found.fit.only(found.fit.series[:2]))


@pytest.mark.parametrize("name", list(WITH_PHASES))
def test_a_saved_policy_labels_and_decides_as_the_back_test_does_to_the_digit(
    found, name, tmp_path
):
    path = tmp_path / "one.policy"
    saved_policy(found, name).save(path)
    held = load_policy(path)
    assert held.others == ("gpu_util_pct",)
    test, given = found.test, found.named(name).allocation
    for run, part in enumerate(test.runs()):
        decided = given[test.run_of_decision == run]
        for seen in (0, 3, 5, 77, 100, 105, 330, 600):
            other = {"gpu_util_pct": test.others["gpu_util_pct"][part][:seen]}
            assert held.allocation(test.use[part][:seen], other) == decided[seen // test.every]
    with pytest.raises(ParameterError, match="holds a phase detector"):
        SavedPolicy.load(path)
    assert held.save(tmp_path / "two.policy") == held.save(tmp_path / "one.policy")


def test_a_recommendation_uses_the_phases_and_does_without_a_metric(found):
    held = saved_policy(found, "phase-ahead")
    rows = recommendation_result(held, usage_of(found.test)).records
    assert [row["by"] for row in rows] == ["phase-ahead"] * 3
    with pytest.raises(MissingColumnError, match="the series have none of them"):
        labelled(Fleet.of_runs([[1.0] * 9], metric="memory_gib"), found.labeller)


@pytest.mark.parametrize("name", list(WITH_PHASES))
def test_labels_and_decisions_come_from_the_past_alone(found, name):
    policy = found.named(name).tuned.policy
    fleet = found.test.only(found.test.series[:1])
    cut = 200
    changed = fleet.use.copy()
    changed[cut:] = 30.0
    other = {"gpu_util_pct": np.where(np.arange(fleet.samples) < cut, *_two(fleet))}
    twisted = labelled(replace(fleet, use=changed, others=other), found.labeller)
    known = fleet.age <= cut
    before, after = (policy.plan(one).allocate(20.0, Hysteresis()) for one in (fleet, twisted))
    np.testing.assert_array_equal(before[known], after[known])


def _two(fleet):
    return fleet.others["gpu_util_pct"], np.full(fleet.samples, 50.0)


def test_phases_come_from_a_labeller_a_file_or_by_hand(found, tmp_path):
    fleet = found.fit
    path = tmp_path / "phases.model"
    found.labeller.detector.save(path)
    assert phases_for(fleet, str(path)).n_phases == 3
    assert phases_for(fleet, "samples:2").n_phases == 2
    assert phases_for(fleet, "none") is None
    with pytest.raises(ParameterError, match="windows"):
        phases_for(fleet, "window")
    with pytest.raises(ParameterError, match="a number from 1"):
        phases_for(fleet, "crbm:many")
    calm = Fleet.of_runs([[1.0] * 50] * 2)
    assert learnt_phases(calm, "samples") is None


def test_every_policy_of_the_catalogue_has_its_control():
    assert set(WITH_PHASES) | set(WITH_PHASES.values()) <= set(POLICIES)
