from __future__ import annotations

import pandas as pd
import pytest

from prophase.sim import Cluster, Workload, simulate
from prophase.sim.attempts import FINISHED, NODE_LOST, PREEMPTED
from prophase.sim.why.idle_gpus import idle_map


def test_the_table_of_attempts_names_every_node_and_gpu_of_a_gang():
    jobs = pd.DataFrame({"job_id": ["a"], "submit_s": 0.0, "duration_s": 10.0})
    jobs["request_gpus"], jobs["instances"] = 2.0, 3.0
    table = simulate(Workload.from_jobs(jobs), Cluster.parse("3x2")).attempt_table
    assert table["instance"].tolist() == [0, 1, 2]
    assert sorted(table["node_id"]) == ["GPU-0-node-0", "GPU-0-node-1", "GPU-0-node-2"]
    assert table["gpu_ids"].tolist() == ["0 1"] * 3
    assert table["attempt"].tolist() == [0, 0, 0]
    assert set(table["outcome"]) == {"finished"}


def test_attempts_are_numbered_per_job_and_the_job_shows_where_it_ended(by_hand):
    jobs = {"submit_s": [0.0, 0.0], "duration_s": [10.0, 5.0], "request_gpus": [1.0, 1.0]}
    run = [(0, 0, 4, PREEMPTED, 1, 0), (1, 4, 9, FINISHED, 0, 0), (0, 9, 16, FINISHED, 0, 1)]
    schedule = by_hand(jobs, run, "2x1")
    table = schedule.attempt_table
    assert table[["job_id", "attempt", "outcome"]].to_numpy().tolist() == [
        ["j0", 0, "preempted"],
        ["j1", 0, "finished"],
        ["j0", 1, "finished"],
    ]
    jobs_table = schedule.table
    assert jobs_table["attempts"].tolist() == [2, 1]
    assert jobs_table["node_id"].tolist() == ["GPU-0-node-1", "GPU-0-node-0"]
    assert jobs_table["finished"].all()


def test_a_restarted_job_counts_on_every_node_that_it_held(by_hand):
    jobs = {"submit_s": [0.0, 7200.0], "duration_s": [5400.0, 0.0], "request_gpus": [1.0, 0.0]}
    run = [(0, 0, 1800, NODE_LOST, 1800, 1), (0, 1800, 5400, FINISHED, 0, 0)]
    last = (1, 7200, 7200, FINISHED, 0, 0)
    jobs["gpu_util_mean_pct"] = [0.0, 0.0]
    schedule = by_hand(jobs, [*run, last], "1x1 A,1x1 B")
    watts = pd.DataFrame({"gpu_type": ["A", "B"], "idle_w": 0.0, "busy_w": [1000.0, 100.0]})
    assert schedule.energy(watts)[1]["energy_kwh"].tolist() == pytest.approx([1.05, 0.0])
    held = idle_map(schedule).groupby("gpu_type")["allocated_idle_gpu_h"].sum()
    assert held.to_dict() == pytest.approx({"A": 1.0, "B": 0.5})
    assert schedule.metrics()["gpu_utilisation_pct"] == pytest.approx(100 * 1.5 / 4)
