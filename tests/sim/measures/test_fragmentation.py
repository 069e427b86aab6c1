from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.sim import Cluster, Schedule, Workload, simulate
from prophase.sim.measures.fragmentation import fragmented_gpus
from prophase.sim.rules.node_availability import Absences


def busy(seed: int) -> Schedule:
    random = np.random.default_rng(seed)
    count = 60
    jobs = pd.DataFrame(
        {
            "job_id": [str(n) for n in range(count)],
            "submit_s": np.sort(random.integers(0, 60, count).astype(float)),
            "duration_s": random.integers(0, 15, count).astype(float),
            "request_gpus": random.choice([0.0, 0.3, 0.5, 1.0, 2.0], count),
            "request_cpu_cores": random.choice([1.0, 4.0], count),
            "instances": random.choice([1.0, 1.0, 2.0], count),
            "gpu_type": random.choice(["A", "B", "A|B", ""], count),
        }
    )
    nodes = pd.DataFrame({"node_id": list("abcd"), "gpus": [2.0, 4.0, 2.0, 0.0]})
    nodes["gpu_type"], nodes["cpu_cores"] = ["A", "B", "B", ""], 8.0
    return simulate(
        Workload.from_jobs(jobs), Cluster.from_nodes(nodes), place="worst_fit", leave_out_unfit=True
    )


def as_plain(schedule: Schedule) -> tuple[list[dict], list[dict], list[tuple]]:
    held, workload = schedule.occupancy, schedule.workload
    nodes = [
        {"cpu": 8000, "gpus": int(row.gpus), "kind": row.gpu_type}
        for row in schedule.cluster.nodes.itertuples()
    ]
    instances = []
    for row, attempt in enumerate(held.attempt):
        asks = workload.asks[held.job[attempt]]
        gpus = {gpu for gpu in range(8) if held.gpu_bits[row] >> gpu & 1}
        instances.append(
            {
                "node": int(held.node[row]), "gpus": gpus, "cpu": asks[0], "milli": asks[3],
                "start": held.start_s[attempt], "end": held.end_s[attempt],
            }
        )  # fmt: skip
    kinds = [tuple(sorted(filter(None, text.split("|")))) for text in workload.jobs["gpu_type"]]
    requests = [
        (a[0], a[3], a[2], kind) for a, kind in zip(workload.asks.tolist(), kinds, strict=True)
    ]
    return nodes, instances, requests


@pytest.mark.parametrize("seed", range(6))
def test_the_sweep_agrees_with_a_look_at_every_instant(seed, fragmentation_oracle):
    schedule = busy(seed)
    nodes, instances, requests = as_plain(schedule)
    classes = fragmentation_oracle.typical(requests)
    begin, end = schedule.edges[[0, -1]]
    expected = fragmentation_oracle.mean_fragmented(nodes, instances, classes, begin, end)
    whole = fragmented_gpus(
        schedule.workload,
        schedule.cluster,
        schedule.occupancy,
        schedule.absences,
        schedule.edges[[0, -1]],
    )
    assert whole.sum() == pytest.approx(expected)
    assert schedule.fragmented_gpus.mean(axis=1) == pytest.approx(whole[:, 0])
    idle = schedule.capacity.gpus - schedule.used_gpus
    assert (schedule.fragmented_gpus <= idle + 1e-9).all()


def test_what_is_absent_is_not_fragmented(by_hand):
    jobs = {"submit_s": [0.0], "duration_s": [10.0], "request_gpus": [0.0]}
    away = Absences(np.array([1]), np.array([-np.inf]), np.array([5.0]))
    schedule = by_hand(jobs, [(0, 0, 10, 0, 0, 0)], "2x1", absences=away)
    # nobody asks for a GPU: all that is there is of no use
    assert schedule.fragmented_gpus.mean() == pytest.approx(1.5)
    assert schedule.capacity.gpus.mean() == pytest.approx(1.5)


def test_a_cluster_without_gpus_has_nothing_to_fragment(by_hand):
    jobs = {"submit_s": [0.0], "duration_s": [10.0], "request_cpu_cores": [1.0]}
    schedule = by_hand(jobs, [(0, 0, 10, 0, 0, 0)], "1x0")
    assert not schedule.fragmented_gpus.any()
    assert "mean_fragmented_gpus" not in schedule.metrics()
