"""Policies in plain Python see the state; with the same rules they decide as compiled loops do."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from tests.oracles import scenarios as s

from prophase.errors import InputError, ParameterError
from prophase.sim import Cluster, Workload, simulate
from prophase.sim.attempts import FINISHED, PREEMPTED
from prophase.sim.stepwise import simulate_steps


def first_come(state):
    for job in list(state.queue):
        state.start(job)


def strictly_first_come(state):
    while state.queue and state.start(state.queue[0]):
        pass


def places(schedule):
    attempts = schedule.attempts
    first = attempts.first_instance[np.argsort(attempts.job)]
    return attempts.node[first].tolist(), attempts.gpu_bits[first].tolist()


@settings(max_examples=40)
@given(s.scenarios(most_jobs=20))
def test_skipping_and_strict_queues_are_those_of_the_compiled_loop(scenario):
    workload, cluster = scenario.workload(), scenario.cluster()
    for policy, queue in ((first_come, "skip"), (strictly_first_come, "strict")):
        ours = simulate_steps(workload, cluster, policy, leave_out_unfit=True)
        theirs = simulate(workload, cluster, queue=queue, leave_out_unfit=True)
        assert ours.start_s.tolist() == theirs.start_s.tolist()
        assert places(ours) == places(theirs)


def jobs(**columns) -> Workload:
    table = pd.DataFrame({"job_id": ["a", "b", "c"], "submit_s": [0.0, 1.0, 2.0]})
    table["duration_s"], table["request_gpus"] = 10.0, 1.0
    return Workload.from_jobs(table.assign(**columns))


def test_a_policy_may_stop_jobs_which_begin_again():
    def newest_first(state):
        for job in sorted(state.queue, reverse=True):
            while not state.could_start(job) and any(other < job for other in state.running):
                state.stop(min(state.running))
            state.start(job)

    schedule = simulate_steps(jobs(), Cluster.parse("1x1"), newest_first)
    assert schedule.end_s.tolist() == [32.0, 22.0, 12.0]
    assert schedule.attempts.outcome.tolist() == [PREEMPTED, PREEMPTED, FINISHED] + [FINISHED] * 2
    assert schedule.attempts.lost_s.tolist() == [1.0, 1.0, 0.0, 0.0, 0.0]


def test_a_policy_may_wait_for_a_better_hour_and_choose_nodes():
    def at_night(state):
        if state.now < 100:
            state.wake(100)
            return
        for job in list(state.queue):
            assert state.fits(job, 1)
            assert state.start(job, [1])

    schedule = simulate_steps(jobs(), Cluster.parse("2x4"), at_night)
    assert schedule.start_s.tolist() == [100.0] * 3
    assert set(schedule.attempts.node) == {1}


@pytest.mark.parametrize(
    ("does", "said"),
    [
        (lambda state: state.start(2), "policy .* at 0 s: job c is not waiting"),
        (lambda state: state.start("a"), "job 'a' is not waiting"),
        (lambda state: state.stop(0), "job a does not run"),
        (lambda state: state.start(0, [0, 1]), r"job a has 1 instance, .* \[0, 1\] is no place"),
        (lambda state: state.start(0, [7]), "the cluster 2 nodes from 0 on"),
        (lambda state: state.wake(-1.0), "give an instant after now"),
    ],
)
def test_what_a_policy_cannot_do_is_told_with_the_instant(does, said):
    with pytest.raises(ParameterError, match=said):
        simulate_steps(jobs(), Cluster.parse("2x4"), does)


def test_jobs_that_a_policy_never_starts_are_named():
    with pytest.raises(InputError, match=r"3 jobs would wait for ever \(a, b, c.* idle starts"):
        simulate_steps(jobs(), Cluster.parse("1x1"), idle)


def idle(state):
    return None


def test_a_policy_that_empties_the_queue_has_not_run_its_jobs():
    with pytest.raises(InputError, match=r"took 3 jobs out of state\.queue .* a first\. Leave"):
        simulate_steps(jobs(), Cluster.parse("2x4"), lambda state: state.queue.clear())
    with pytest.raises(ParameterError, match="policy is 'fifo': pass a function"):
        simulate_steps(jobs(), Cluster.parse("2x4"), "fifo")


def test_a_full_node_refuses_and_stays_as_it_was():
    def wide_then_one(state):
        free = state.free_gpus.copy()
        if 0 in state.queue:
            assert state.start(0)
        for job in list(state.queue):
            if not state.start(job, [0] * state.instances(job)):
                assert (state.free_gpus <= free).all()
                assert np.all(state.free_gpus >= 0)

    made = jobs(request_gpus=[3.0, 1.0, 1.0], instances=[1.0, 2.0, 1.0])
    schedule = simulate_steps(made, Cluster.parse("1x4"), wide_then_one)
    assert schedule.start_s.tolist() == [0.0, 10.0, 2.0]


def test_a_policy_sees_how_fast_a_job_is_on_each_type_of_gpu():
    made = pd.DataFrame({"job_id": ["a", "b"], "submit_s": 0.0, "duration_s": 60.0})
    made = made.assign(request_gpus=1.0, after_duration_v100_s=60.0)
    made["after_duration_t4_s"] = [90.0, 70.0]
    cluster = Cluster.parse("1x1 v100, 1x1 t4")

    def fastest(state):
        for job in list(state.queue):
            free = [node for node in (0, 1) if state.free_gpus[node] > 0]
            if free:
                state.start(job, [min(free, key=lambda node: state.run_s(job, node))])

    found = simulate_steps(Workload.from_jobs(made), cluster, fastest, speeds="own")
    assert np.allclose(found.end_s, [60.0, 70.0])


@pytest.mark.parametrize("node", [0.5, "0", -1, 9, None, float("nan")])
def test_what_is_no_node_is_refused(node):
    def asks(state):
        assert not state.fits(state.queue[0], node)

    def starts(state):
        state.start(state.queue[0], nodes=[node])

    for policy in (asks, starts):
        with pytest.raises(ParameterError, match=f"policy {policy.__name__} at 0 s.*no place|node"):
            simulate_steps(jobs(), Cluster.parse("1x1"), policy)


def test_a_table_without_rows_is_told_so():
    table = pd.DataFrame({"job_id": [], "submit_s": [], "duration_s": []})
    with pytest.raises(InputError, match="has no rows"):
        Workload.from_jobs(table)
