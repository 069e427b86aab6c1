from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from prophase.sim import Cluster, Schedule, Workload, simulate
from prophase.sim.attempts import FINISHED, OUT_OF_MEMORY
from prophase.sim.measures.state_curves import queue_curves
from prophase.sim.signatures import ASK_MEMORY


@pytest.fixture(scope="module", params=["preempt", "failures", "scaling"])
def interrupted(request: pytest.FixtureRequest) -> Schedule:
    random = np.random.default_rng(2)
    count = 300
    jobs = pd.DataFrame(
        {
            "job_id": [str(n) for n in range(count)],
            "submit_s": np.sort(random.uniform(0, 40_000, count)),
            "duration_s": random.lognormal(7.5, 1.2, count),
            "request_gpus": random.choice([0.5, 1.0, 2.0, 4.0], count),
        }
    )
    rules = {
        "preempt": {"order": "shortest_remaining", "preempt": "checkpoint=10min,restart=30s"},
        "failures": {"failures": "mtbf=6h,mttr=1h"},
        "scaling": {"scaling": "floor=1,ceiling=5,boot=5min,idle=10min"},
    }
    cluster = Cluster.uniform(5, 8)
    return simulate(Workload.from_jobs(jobs), cluster, seed=1, **rules[request.param])


def test_what_is_useful_is_the_work_of_the_workload_whatever_happens(interrupted):
    hours = interrupted.metrics()["gpu_hours"]
    workload = interrupted.workload
    work = float(workload.jobs["request_gpus"] @ workload.duration_s) / 3600
    assert hours["useful"] == pytest.approx(work)
    parts = {n: h for n, h in hours.items() if n not in ("owned", "allocated", "idle")}
    assert sum(parts.values()) == pytest.approx(hours["allocated"])
    assert hours["allocated"] + hours["idle"] == pytest.approx(hours["owned"])


def test_the_queue_obeys_littles_law_whatever_happens(interrupted):
    waiting, _ = queue_curves(interrupted)
    found = interrupted.metrics()
    assert waiting.mean() == pytest.approx(found["mean_waiting_jobs"], rel=1e-9)


def test_memory_is_held_as_each_attempt_asked_for_it(by_hand):
    jobs = {"submit_s": [0.0], "duration_s": [3600.0], "request_memory_gib": [4.0]}
    run = [(0, 0, 1800, OUT_OF_MEMORY, 1800, 0), (0, 1800, 5400, FINISHED, 0, 0)]
    schedule = by_hand(jobs, run, Cluster.uniform(1, 0, memory_gib=16.0))
    asks = schedule.workload.asks[[0, 0]].copy()
    asks[1, ASK_MEMORY] *= 2
    climbing = replace(schedule, attempts=replace(schedule.attempts, asks=asks))
    found = climbing.metrics()
    assert found["gib_hours"]["lost_memory"] == pytest.approx(2.0)
    assert found["gib_hours"]["useful"] == pytest.approx(8.0)
    assert found["memory_utilisation_pct"] == pytest.approx(100 * 10 / (1.5 * 16))
