"""GPUs that nobody holds and that are held but idle, by node and hour."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.sim import Cluster, Workload, simulate
from prophase.sim.why.idle_gpus import idle_map, idle_nodes


def schedule(**columns):
    table = pd.DataFrame({"job_id": list("abc"), "submit_s": [0.0, 3600.0, 86_400.0]})
    table["duration_s"], table["request_gpus"] = [7200.0, 1800.0, 60.0], [2.0, 1.0, 1.0]
    return simulate(Workload.from_jobs(table.assign(**columns)), Cluster.parse("2x2"))


def test_held_but_idle_stands_beside_what_nobody_holds():
    table = idle_map(schedule(gpu_util_mean_pct=[50.0, 100.0, None]))
    at = table.set_index(["node_id", "hour"])
    nodes = table["node_id"].unique()
    # a holds both GPUs of a node for two hours and keeps half of one busy; b uses all of its own
    whole = at.loc[(nodes[0], 0)]
    assert (whole["unallocated_gpu_h"], whole["allocated_idle_gpu_h"]) == (0.0, 1.5)
    half = at.loc[(nodes[1], 1)]
    assert (half["unallocated_gpu_h"], half["allocated_idle_gpu_h"]) == (1.5, 0.0)
    # a day of four GPUs, until the last submission
    assert table["owned_gpu_h"].sum() == pytest.approx(96.0)
    assert table["unallocated_gpu_h"].sum() == pytest.approx(96 - 4.5)


def test_use_that_nobody_knows_is_neither_idle_nor_busy():
    table = idle_map(schedule())
    assert table["allocated_idle_gpu_h"].sum() == 0
    assert table["unknown_use_gpu_h"].sum() == pytest.approx(4.5)


def test_hours_are_those_of_the_wall_clock_and_a_long_job_fills_all_of_them():
    shifted = idle_map(schedule(gpu_util_mean_pct=0.0), "utc+2")
    busy = shifted.groupby("hour")["allocated_idle_gpu_h"].sum()
    assert np.flatnonzero(busy).tolist() == [2, 3]
    long = idle_map(schedule(gpu_util_mean_pct=0.0, duration_s=1e6))
    assert long.groupby("hour")["allocated_idle_gpu_h"].sum().min() > 0


def test_nodes_whose_jobs_waste_most_come_first():
    rows = idle_nodes(idle_map(schedule(gpu_util_mean_pct=[50.0, 100.0, None])))
    assert rows[0]["allocated_idle_gpu_h"] == pytest.approx(3.0)
    assert rows[0]["allocated_idle_pct"] == pytest.approx(100 * 3 / 48)
