from __future__ import annotations

import pandas as pd

from prophase.sim import Cluster, Workload, simulate


def test_shares_are_those_of_the_paper():
    """Ghodsi et al., figure 1: of 9 cores and 18 GiB, A runs 3 jobs of (1, 4) and B 2 of (3, 1)."""
    jobs = pd.DataFrame(
        {
            "job_id": [f"{user}{n}" for n in range(6) for user in "AB"],
            "submit_s": 0.0,
            "duration_s": 10.0,
            "user": ["A", "B"] * 6,
            "request_cpu_cores": [1.0, 3.0] * 6,
            "request_memory_gib": [4.0, 1.0] * 6,
        }
    )
    node = pd.DataFrame({"node_id": ["n"], "cpu_cores": [9.0], "memory_gib": [18.0]})
    schedule = simulate(
        Workload.from_jobs(jobs), Cluster.from_nodes(node), order="dominant_share", queue="strict"
    )
    first = schedule.workload.jobs["user"][schedule.start_s == 0.0]
    assert first.value_counts().to_dict() == {"A": 3, "B": 2}


def test_what_is_held_now_counts_and_not_what_was_used(replay):
    jobs = {
        "submit_s": [0.0, 1.0, 2.0, 3.0],
        "duration_s": [10.0, 4.0, 10.0, 10.0],
        "user": ["ann", "bob", "bob", "ann"],
    }
    # at 5 bob holds nothing and ann one GPU, though bob has just run
    assert list(replay("1x2", jobs=jobs, order="dominant_share").start_s) == [0.0, 1.0, 5.0, 10.0]


def test_a_heavier_user_may_hold_more(replay):
    shares = pd.DataFrame({"user": ["ann", "bob"], "share": [2.0, 1.0]})
    jobs = {"user": ["ann", "ann", "ann", "bob", "bob", "bob"]}
    schedule = replay("1x3", jobs=jobs, order="dominant_share", shares=shares)
    assert list(schedule.start_s) == [0.0, 0.0, 10.0, 0.0, 10.0, 10.0]
