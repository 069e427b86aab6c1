from __future__ import annotations

import numpy as np
import pytest
from tests.autoscale.fleets import plateaus
from tests.oracles.allocations import replayed

from prophase.autoscale.allocation_measures import Penalties, measure
from prophase.autoscale.fleet import Fleet
from prophase.autoscale.memory_kills import KillRule, killed
from prophase.autoscale.past_use import recent_peak
from prophase.autoscale.policy import Hysteresis, held
from prophase.errors import ParameterError


@pytest.mark.parametrize("every", [1, 4, 7])
@pytest.mark.parametrize(("up", "down"), [(0.0, 0.0), (0.0, 0.1), (0.02, 0.2)])
@pytest.mark.parametrize("hold", [None, 0, 9])
def test_measures_agree_with_a_replay_sample_by_sample(every, up, down, hold):
    runs = [np.random.default_rng(n).uniform(1, 3, 20 + 13 * n).tolist() for n in range(4)]
    window, margin, start = 6, 1.1, 2.0
    expected = replayed(
        runs,
        lambda past: max(past[-window:]) * margin if past else start,
        every=every,
        up=up,
        down=down,
        hold=hold,
    )
    metric = "cpu_cores" if hold is None else "memory_gib"
    fleet = Fleet.of_runs(runs, every=every, metric=metric)
    wanted = np.where(fleet.age > 0, recent_peak(fleet, window) * margin, start)
    rule = KillRule(hold_s=60.0 * (hold or 0))
    found = measure(fleet, held(fleet, wanted, Hysteresis(up, down)), rule=rule).row()
    if hold is None:
        del expected["oom_events"]
    assert {name: found[name] for name in expected} == pytest.approx(expected)


def test_an_episode_ends_with_its_run():
    fleet = Fleet.of_runs([[2.0, 2.0], [2.0, 2.0]], every=2)
    assert measure(fleet, np.array([1.0, 1.0])).violation_episodes == 2


def test_a_first_allocation_is_no_resize():
    fleet = Fleet.of_runs([[1.0] * 5, [1.0] * 5], every=5)
    assert measure(fleet, np.array([2.0, 3.0])).resizes_per_1000 == 0


def test_only_memory_is_killed():
    fleet = plateaus(metric="cpu_cores")
    found = measure(fleet, np.full(fleet.decisions, 3.0))
    assert found.oom_events is None
    assert found.unmet_pct > 0


def test_penalties_add_up():
    fleet = Fleet.of_runs([[1.0, 1.0, 1.0, 3.0]], every=2)
    found = measure(fleet, np.array([1.0, 2.0]), Penalties(violation=8.0, resize=4.0))
    assert found.cost == pytest.approx(1.0 + 8.0 / 4 + 4.0 / 4)
    with pytest.raises(ParameterError, match="0 or more"):
        Penalties(violation=-1)


def test_idle_series_have_no_ratio_but_are_measured():
    fleet = Fleet.of_runs([[0.0] * 6], every=3)
    found = measure(fleet, np.zeros(2))
    assert found.satisfied_pct == 100
    assert found.allocation_over_usage == float("inf")


def test_a_hysteresis_outside_its_range_is_refused():
    with pytest.raises(ParameterError, match="down lies below 1"):
        Hysteresis(0.0, 1.0)


def test_a_killed_pod_loses_work_and_comes_back_with_more():
    fleet = Fleet.of_runs([[1.0] * 10 + [4.0] * 10], every=5, metric="memory_gib")
    found = killed(fleet, np.full(4, 2.0), KillRule(restart_s=120, checkpoint_s=300))
    assert found.kills.tolist() == [10]
    assert np.flatnonzero(found.down).tolist() == [11, 12]
    # five minutes of work are done again, at 2 GiB, and two minutes are waited for
    assert (found.lost_s, found.repeated) == (420.0, 10.0)
    assert found.given[11:].tolist() == pytest.approx([4.8] * 9)
    row = measure(fleet, np.full(4, 2.0), rule=KillRule(restart_s=120, checkpoint_s=300))
    assert row.lost_pct == pytest.approx(100 * 420 / 1200)
    assert row.kills_per_pod_day == pytest.approx(72.0)


def test_kills_are_counted_no_further_than_asked():
    fleet = Fleet.of_runs([[float(2**n) for n in range(20)]], every=5, metric="memory_gib")
    rule = KillRule(restart_s=0)
    assert len(killed(fleet, np.ones(4), rule).kills) == 19
    assert len(killed(fleet, np.ones(4), rule, most=3).kills) == 4


def test_a_rule_that_makes_no_sense_is_refused():
    with pytest.raises(ParameterError, match="bump of at least 1"):
        KillRule(bump=0.9)
