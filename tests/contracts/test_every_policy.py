"""Checks all policies share: a new one is tested before its author writes a test."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.sim import Cluster, Workload, order_policies, place_policies, simulate


def workload(count: int = 200, seed: int = 3) -> Workload:
    rng = np.random.default_rng(seed)
    return Workload.from_jobs(
        pd.DataFrame(
            {
                "job_id": [f"j{i}" for i in range(count)],
                "submit_s": np.sort(rng.uniform(0, 500, count)),
                "duration_s": rng.exponential(60, count),
                "request_gpus": rng.choice([0.25, 0.5, 1.0, 2.0, 4.0], count),
                "request_cpu_cores": rng.integers(1, 9, count).astype(float),
            }
        )
    )


NODES = pd.DataFrame({"node_id": list("abcd"), "gpus": [4.0] * 4, "cpu_cores": [32.0] * 4})


@pytest.mark.parametrize("place", place_policies())
@pytest.mark.parametrize("queue", ["skip", "strict", "easy"])
def test_every_place_policy_starts_every_job_and_keeps_every_limit(place: str, queue: str) -> None:
    jobs = workload()
    schedule = simulate(
        jobs, Cluster.from_nodes(NODES), place=place, queue=queue, estimate="duration_s"
    )
    assert np.isfinite(schedule.start_s).all()
    assert (schedule.wait_s >= 0).all()
    for now in schedule.start_s[::7]:
        running = (schedule.start_s <= now) & (now < schedule.end_s)
        cores = np.bincount(
            schedule.attempts.node[running],
            weights=jobs.jobs["request_cpu_cores"].to_numpy()[running],
            minlength=len(NODES),
        )
        assert (cores <= 32).all()


@pytest.mark.parametrize("order", order_policies())
def test_every_order_policy_gives_each_job_a_key_and_is_deterministic(order: str) -> None:
    jobs = workload()
    key = order_policies()[order](jobs)
    assert key.shape == (len(jobs),)
    first = simulate(jobs, Cluster.from_nodes(NODES), order=order)
    second = simulate(jobs, Cluster.from_nodes(NODES), order=order)
    np.testing.assert_array_equal(first.start_s, second.start_s)


@pytest.mark.parametrize("order", order_policies())
def test_with_one_job_at_a_time_the_total_work_is_the_makespan(order: str) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "job_id": [str(i) for i in range(50)],
            "submit_s": np.zeros(50),
            "duration_s": rng.exponential(10, 50),
            "request_gpus": np.ones(50),
        }
    )
    schedule = simulate(Workload.from_jobs(table), Cluster.parse("1x1"), order=order)
    assert schedule.end_s.max() == pytest.approx(table["duration_s"].sum())
