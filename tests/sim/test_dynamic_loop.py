from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from tests.oracles import live as twin
from tests.oracles import scenarios as s

from prophase.sim import simulate
from prophase.sim.attempts import OUTCOMES
from prophase.sim.rules.node_availability import find_absences
from prophase.sim.rules.preemption import Preemption


def places(attempts, row, instances):
    first = attempts.first_instance[row]
    return [
        (int(attempts.node[i]), [g for g in range(64) if int(attempts.gpu_bits[i]) >> g & 1])
        for i in range(first, first + instances)
    ]


def agree(scenario):
    schedule = simulate(scenario.workload(), scenario.cluster(), **scenario.settings)
    expected = twin.replay(scenario.jobs, scenario.nodes, **scenario.rules)
    attempts = schedule.attempts
    found = [
        (
            int(attempts.job[row]),
            float(attempts.start_s[row]),
            float(attempts.end_s[row]),
            OUTCOMES[attempts.outcome[row]],
            0 if attempts.rung is None else int(attempts.rung[row]),
            places(attempts, row, scenario.jobs[attempts.job[row]]["instances"]),
        )
        for row in range(len(attempts))
    ]
    told = [
        (one["job"], one["start"], one["end"], one["outcome"], one["rung"],
         [(node, sorted(gpus)) for node, gpus in one["used"]])
        for one in expected.attempts
    ]  # fmt: skip
    assert found == told
    lost = np.zeros(len(attempts)) if attempts.lost_s is None else attempts.lost_s
    assert lost == pytest.approx([one["lost"] for one in expected.attempts], abs=1e-9)
    return schedule, expected


@settings(max_examples=60)
@given(s.scenarios(s.queue, s.moving_order))
def test_moving_orders_start_jobs_when_and_where_the_slow_twin_does(scenario):
    agree(scenario)


@settings(max_examples=150)
@given(s.scenarios(s.planning, s.any_order, most_jobs=28))
def test_backfilling_starts_jobs_when_and_where_the_slow_twin_does(scenario):
    agree(scenario)


@settings(max_examples=120)
@given(s.scenarios(s.queue, s.any_order, s.preemption))
def test_jobs_are_pushed_out_and_come_back_as_in_the_slow_twin(scenario):
    agree(scenario)


def test_jobs_that_fall_back_at_the_same_instant_stay_in_order_as_in_the_slow_twin():
    jobs = [
        {"submit": submit, "work": work, "guess": work, "estimate": work, "key": 0, "cpu": 0,
         "memory": 0, "peak": 0, "rungs": [(0, work)], "gpus": gpus, "milli": 1000,
         "instances": 1, "user": "a", "queue": "a", "kind": "x", "charge": gpus}
        for submit, work, gpus in zip(
            (1, 2, 3, 3, 6, 8, 9), (17, 8, 17, 13, 13, 14, 6), (2, 2, 1, 1, 1, 1, 1), strict=True
        )
    ]  # fmt: skip
    limits = {"checkpoint": 0.0, "restart": 0.0, "min_run": 0.0, "every": 0.0}
    scenario = s.Scenario(
        jobs,
        [{"cpu": 0, "memory": 0, "gpus": 5, "type": "T4"}],
        {"place": "first_fit", "queue": "skip", "order": "tiresias",
         "order_options": {"threshold_gpu_s": 6.0}, "preempt": Preemption(*limits.values())},
        {"rating": "first_fit", "queue": "skip", "order": "tiresias",
         "options": {"threshold": 6.0}, "preempt": limits},
    )  # fmt: skip
    agree(scenario)


@settings(max_examples=60)
@given(s.scenarios(s.queue, s.any_order, s.sharing, s.speeds))
def test_neighbours_and_gpu_types_move_ends_as_in_the_slow_twin(scenario):
    agree(scenario)


@settings(max_examples=60)
@given(s.scenarios(s.queue, s.any_order, s.quotas))
def test_quotas_hold_back_whom_the_slow_twin_holds_back(scenario):
    agree(scenario)


@settings(max_examples=60)
@given(s.scenarios(s.queue, s.any_order, s.ladder))
def test_jobs_climb_their_ladder_as_in_the_slow_twin(scenario):
    agree(scenario)


@settings(max_examples=60)
@given(s.scenarios(s.queue, s.any_order, s.outages))
def test_nodes_leave_and_return_as_in_the_slow_twin(scenario):
    agree(scenario)


@settings(max_examples=80)
@given(s.scenarios(s.queue, s.any_order, s.scaling))
def test_nodes_are_booted_and_stopped_as_in_the_slow_twin(scenario):
    schedule, expected = agree(scenario)
    changes = [(time, node, 1 - 2 * on) for time, node, on in expected.switches]
    absences = find_absences(
        len(scenario.nodes),
        float(schedule.end_s.max()),
        elastic_from=scenario.rules["scaling"]["floor"],
        changes=changes,
    )
    if absences is None:
        assert schedule.absences is None
    else:
        for name in ("node", "from_s", "to_s"):
            assert list(getattr(schedule.absences, name)) == list(getattr(absences, name))


EVERYTHING = (s.any_order, s.sharing, s.speeds, s.ladder, s.quotas, s.outages, s.scaling)


@settings(max_examples=100)
@given(s.scenarios(s.queue, s.preemption, *EVERYTHING))
def test_all_rules_together_do_what_the_slow_twin_does(scenario):
    agree(scenario)


@settings(max_examples=100)
@given(s.scenarios(s.planning, *EVERYTHING, most_jobs=28))
def test_all_rules_together_with_backfilling_do_what_the_slow_twin_does(scenario):
    agree(scenario)
