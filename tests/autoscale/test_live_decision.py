from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from tests.autoscale.fleets import plateaus

from prophase.autoscale.live_decision import (
    LiveRules,
    PodMemory,
    PodNow,
    Samples,
    decide,
    rounded,
)
from prophase.autoscale.policies.baselines import RecentMax
from prophase.autoscale.policies.vpa import Vpa
from prophase.autoscale.policy import Hysteresis
from prophase.autoscale.saved_policy import SavedPolicy
from prophase.errors import ParameterError

STEP = 60.0
RULES = LiveRules()
START = 6000.0


@pytest.fixture(scope="module")
def policy():
    fit = plateaus(series=6, seed=1)
    return SavedPolicy(
        RecentMax(window=4).fit(fit, 0.95), 1.1, Hysteresis(), "memory_gib", 5, STEP,
        Vpa().fit(fit, 0.95), float(fit.use.max()), kills_per_pod_day=1.0,
    )  # fmt: skip


def now(count):
    return START + count * STEP


def run(*use):
    return Samples(START, use)


def test_a_pod_is_resized_once_per_decision(policy):
    samples = run(*[3.0] * 10)
    pod = PodNow("p", 16.0, 16.0)
    first = decide(policy, pod, samples, RULES, now(10))
    assert first.outcome == "resize"
    assert first.allocation == policy.allocation([3.0] * 10)
    assert first.name == "6000-2"
    applied = rounded(first.allocation, "memory_gib")
    moved = PodNow("p", applied, applied, memory=first.memory)
    again = decide(policy, moved, samples, RULES, now(10))
    assert (again.outcome, again.reason) == ("keep", "decided before")
    # the same allocation at the next decision is no resize either
    assert decide(policy, moved, run(*[3.0] * 15), RULES, now(15)).outcome == "keep"


def test_what_was_begun_is_finished_unless_somebody_moved_the_pod(policy):
    samples = run(*[3.0] * 10)
    begun = decide(policy, PodNow("p", 16.0, 16.0), samples, RULES, now(10)).memory
    half = decide(policy, PodNow("p", 16.0, 16.0, memory=begun), samples, RULES, now(10))
    assert (half.outcome, half.allocation) == ("resize", begun.after)
    assert half.memory == begun
    moved = decide(policy, PodNow("p", 9.0, 9.0, memory=begun), samples, RULES, now(10))
    assert (moved.outcome, moved.allocation) == ("keep", 9.0)


def test_memory_survives_as_json_and_nonsense_counts_as_none():
    held = PodMemory("d", 1.0, 2.0, (5.0, 6.0), 3, 1, 4.5, 7.0, 8.0, 2)
    assert PodMemory.of(held.document()) == held
    assert PodMemory().document() == {}
    wrong = {"restarts": "x", "changes_s": 3, "floor": None, "kills": True, "new": 1}
    assert PodMemory.of(wrong).document() == {}


def test_bounds_hold(policy):
    pod = PodNow("p", 16.0, 16.0)
    low = decide(policy, pod, run(*[3.0] * 10), LiveRules(least=8.0), now(10))
    high = decide(policy, pod, run(*[3.0] * 10), LiveRules(most=2.0), now(10))
    assert (low.allocation, high.allocation) == (8.0, 2.0)
    assert "kept within" in high.reason
    with pytest.raises(ParameterError, match="least allocation"):
        LiveRules(least=2.0, most=1.0)


def test_a_kill_is_answered_at_once_and_held_for_a_while(policy):
    samples = run(*[3.0] * 11)
    pod = PodNow("p", 4.0, 4.0, restarts=1, killed_at=4.0)
    answer = decide(policy, pod, samples, RULES, now(11))
    assert (answer.name, answer.outcome) == ("kill-1", "resize")
    assert answer.allocation == pytest.approx(4.8)
    assert (answer.memory.kills, answer.memory.restarts) == (1, 1)
    held = replace(pod, allocated=rounded(4.8, "memory_gib"), memory=answer.memory)
    soon = decide(policy, held, run(*[3.0] * 15), RULES, now(15))
    assert soon.outcome == "keep"
    later = decide(policy, held, run(*[3.0] * 200), RULES, now(200))
    assert later.allocation == policy.allocation([3.0] * 200) < 4.8


def test_a_budget_holds_back_what_could_be_given_back_but_no_raise(policy):
    samples = run(*[3.0] * 10)
    down = decide(policy, PodNow("p", 16.0, 16.0), samples, RULES, now(10), changes_left=0)
    assert (down.outcome, down.memory.decision) == ("wait", "")
    up = decide(policy, PodNow("p", 1.0, 1.0), samples, RULES, now(10), changes_left=0)
    assert up.outcome == "resize"


def test_a_deferred_resize_waits_and_an_infeasible_one_is_taken_back(policy):
    samples = run(*[3.0] * 10)
    pod = PodNow("p", 16.0, 4.0, pending="Deferred", pending_since_s=now(8))
    assert decide(policy, pod, samples, RULES, now(10)).outcome == "wait"
    for stuck in (replace(pod, pending="Infeasible"), replace(pod, pending_since_s=0.0)):
        back = decide(policy, stuck, samples, RULES, now(10))
        assert (back.outcome, back.allocation) == ("resize", 4.0)
        assert back.memory.paused_until_s == now(10) + RULES.back_off_s
        calm = PodNow("p", 4.0, 4.0, memory=back.memory)
        assert decide(policy, calm, samples, RULES, now(11)).outcome == "wait"
        twice = replace(stuck, memory=back.memory)
        assert decide(policy, twice, samples, RULES, now(12)).memory.failures == 2


def test_nothing_is_taken_away_when_samples_stop(policy):
    samples = run(*[3.0] * 10)
    silent = decide(policy, PodNow("p", 16.0, 16.0), samples, RULES, now(60))
    assert (silent.outcome, silent.learnt) == ("keep", False)
    low = decide(policy, PodNow("p", 0.5, 0.5), samples, RULES, now(60))
    assert low.allocation == policy.allocation([3.0] * 10, fallback=True)
    nothing = decide(policy, PodNow("p", 2.0, 2.0), Samples(now(0)), RULES, now(0))
    assert (nothing.outcome, nothing.reason) == ("keep", "no samples yet")


def test_strange_use_and_too_many_kills_are_left_to_vpas_rule(policy):
    high = [policy.highest * 2] * 10
    pod = PodNow("p", 1.0, 1.0)
    strange = decide(policy, pod, run(*high), RULES, now(10))
    assert not strange.learnt
    assert strange.allocation == policy.allocation(high, fallback=True)
    doubted = decide(policy, pod, run(*[3.0] * 10), RULES, now(10), trusted=False)
    assert doubted.allocation == policy.allocation([3.0] * 10, fallback=True)


def test_clocks_that_disagree_and_fixed_pods_are_refused(policy):
    samples = run(*[3.0] * 10)
    skew = decide(policy, PodNow("p", 16.0, 16.0), samples, RULES, now(5))
    assert skew.outcome == "refused"
    assert "in the future: check the clocks" in skew.reason
    fixed = PodNow("p", math.nan, math.nan, fixed="no request")
    assert decide(policy, fixed, samples, RULES, now(10)).reason == "no request"


def test_amounts_are_rounded_up_and_never_down():
    for value in np.random.default_rng(0).uniform(0.01, 50, 200):
        assert rounded(value, "memory_gib") >= value
        assert rounded(value, "cpu_cores") >= value - 1e-8
