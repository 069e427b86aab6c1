"""Checks all policies share: a new one is tested before its author writes a test."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.sim import Cluster, Schedule, Workload, order_policies, place_policies, simulate
from prophase.sim.signatures import ASK_CPU, ASK_GPUS, ASK_INSTANCES, ASK_MEMORY, ASK_MILLI


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
                "user": rng.choice(["ann", "bob", "eve"], count),
                "priority": rng.integers(0, 5, count).astype(float),
                "deadline_s": rng.uniform(0, 2000, count),
            }
        )
    )


NODES = pd.DataFrame(
    {
        "node_id": list("abcde"),
        "gpus": [4.0, 4.0, 4.0, 8.0, 0.0],
        "gpu_type": ["T4", "T4", "V100", "V100", ""],
        "cpu_cores": [32.0] * 5,
        "memory_gib": [64.0] * 5,
    }
)


def gangs(count: int = 150, seed: int = 4) -> Workload:
    """Gangs, shares, jobs without a GPU, types, runs of no length, and many events at once."""
    rng = np.random.default_rng(seed)
    gpus = rng.choice([0.0, 0.3, 0.5, 0.7, 1.0, 2.0], count)
    return Workload.from_jobs(
        pd.DataFrame(
            {
                "job_id": [f"j{i}" for i in range(count)],
                "submit_s": np.floor(np.sort(rng.uniform(0, 200, count))),
                "duration_s": rng.integers(0, 90, count).astype(float),
                "request_gpus": gpus,
                "request_cpu_cores": rng.integers(1, 9, count).astype(float),
                "request_memory_gib": rng.integers(1, 9, count).astype(float),
                "instances": rng.choice([1.0, 1.0, 1.0, 2.0, 3.0], count),
                "gpu_type": np.where(gpus > 0, rng.choice(["", "T4", "T4|V100"], count), ""),
            }
        )
    )


def placed_instances(schedule: Schedule) -> pd.DataFrame:
    """Return one row per instance of each attempt: job, node, GPUs as bits, start and end."""
    attempts = schedule.attempts
    size = schedule.workload.asks[attempts.job, ASK_INSTANCES]
    attempt = np.repeat(np.arange(len(attempts)), size)
    nth = np.arange(len(attempt)) - np.repeat(np.cumsum(size) - size, size)
    row = attempts.first_instance[attempt] + nth
    return pd.DataFrame(
        {
            "job": attempts.job[attempt],
            "node": attempts.node[row],
            "gpu_bits": attempts.gpu_bits[row],
            "start_s": attempts.start_s[attempt],
            "end_s": attempts.end_s[attempt],
        }
    )


def highest_use(held: pd.DataFrame, thing: str, amount: str) -> int:
    """Return the most that is ever in use of one thing at once; ends come before starts."""
    lasting = held[held["end_s"] > held["start_s"]]
    events = pd.concat(
        [
            pd.DataFrame({"of": lasting[thing], "at": lasting["end_s"], "by": -lasting[amount]}),
            pd.DataFrame({"of": lasting[thing], "at": lasting["start_s"], "by": lasting[amount]}),
        ]
    ).sort_values(["of", "at", "by"])
    return int(events.groupby("of")["by"].cumsum().max())


@pytest.mark.parametrize("place", place_policies())
@pytest.mark.parametrize("queue", ["skip", "strict", "easy", "conservative"])
@pytest.mark.parametrize("jobs", [workload(), gangs()], ids=["single", "gangs"])
def test_every_place_policy_starts_every_job_and_keeps_every_limit(
    place: str, queue: str, jobs: Workload
) -> None:
    schedule = simulate(
        jobs, Cluster.from_nodes(NODES), place=place, queue=queue, estimate="duration_s"
    )
    assert np.isfinite(schedule.start_s).all()
    assert (schedule.wait_s >= 0).all()
    held = placed_instances(schedule)
    asks = schedule.workload.asks[held["job"]]
    held = held.assign(cpu=asks[:, ASK_CPU], memory=asks[:, ASK_MEMORY], milli=asks[:, ASK_MILLI])
    assert highest_use(held, "node", "cpu") <= 32_000
    assert highest_use(held, "node", "memory") <= 64 * 1024
    by_gpu = (held["gpu_bits"].to_numpy()[:, None] >> np.arange(8)) & 1
    np.testing.assert_array_equal(by_gpu.sum(axis=1), asks[:, ASK_GPUS])
    row, gpu = np.nonzero(by_gpu)
    assert (gpu < NODES["gpus"].to_numpy()[held["node"].to_numpy()[row]]).all()
    # at most 1000 milli: no two whole-GPU jobs share a GPU, nor a share and a whole
    shares = held.iloc[row].assign(gpu=8 * held["node"].to_numpy()[row] + gpu)
    assert highest_use(shares, "gpu", "milli") <= 1000


@pytest.mark.parametrize("place", place_policies())
def test_every_place_policy_keeps_to_the_gpu_types_that_a_job_accepts(place: str) -> None:
    jobs = gangs()
    held = placed_instances(simulate(jobs, Cluster.from_nodes(NODES), place=place))
    wanted = jobs.jobs["gpu_type"].iloc[held["job"]]
    kinds = NODES["gpu_type"].iloc[held["node"]]
    assert all(not want or kind in want for want, kind in zip(wanted, kinds, strict=True))


@pytest.mark.parametrize("order", order_policies())
def test_every_order_policy_starts_every_job_and_is_deterministic(order: str) -> None:
    jobs = workload()
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
            "priority": np.arange(50.0),
            "deadline_s": rng.uniform(0, 2000, 50),
        }
    )
    schedule = simulate(Workload.from_jobs(table), Cluster.parse("1x1"), order=order)
    assert schedule.end_s.max() == pytest.approx(table["duration_s"].sum())
