from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError, ParameterError
from prophase.sim import Cluster, Workload, simulate
from prophase.sim.rules.speed_and_sharing import (
    as_sharing,
    as_speeds,
    sharing_from_throughput,
    speeds_from_measurements,
    speeds_from_own_runs,
)
from prophase.trace.trace_tables import open_trace


def throughput() -> pd.DataFrame:
    """Two models alone on two types, and beside each other on one."""
    rows = [
        ("v100", "A", None, 10.0),
        ("p100", "A", None, 5.0),
        ("v100", "B", None, 8.0),
        ("p100", "B", None, 8.0),
        ("v100", "A", "B", 6.0),
        ("v100", "B", "A", 2.0),
        ("v100", "A", "A", 0.0),
    ]
    table = pd.DataFrame(rows, columns=["gpu_type", "model", "partner_model", "steps_per_s"])
    return table.assign(batch_size=16.0, partner_batch_size=16.0, gpus=1.0, consolidated=True)


def test_what_a_neighbour_leaves_is_the_ratio_to_the_run_alone() -> None:
    sharing = sharing_from_throughput(throughput(), slowdown=0.25)
    pairs = sharing.pairs(["A", "B"])
    assert pairs[0, 1] == pytest.approx(0.6)
    assert pairs[1, 0] == pytest.approx(0.25)


def test_a_pair_that_was_not_measured_falls_back_to_the_stated_slowdown() -> None:
    pairs = sharing_from_throughput(throughput(), slowdown=0.25).pairs(["A", "B"])
    assert pairs[0, 0] == pytest.approx(0.8)


def test_speeds_are_relative_to_the_reference_type() -> None:
    speeds = speeds_from_measurements(throughput(), reference="p100")
    matrix = speeds.matrix(["A", "B"], ("p100", "v100"))
    np.testing.assert_allclose(matrix, [[1.0, 2.0], [1.0, 1.0]])
    with pytest.raises(InputError, match="nothing was measured on 'k80'"):
        speeds_from_measurements(throughput(), reference="k80")


def test_each_job_runs_as_long_as_its_own_column_says() -> None:
    jobs = pd.DataFrame(
        {
            "job_id": ["a", "b"],
            "submit_s": [0.0, 0.0],
            "duration_s": [100.0, 60.0],
            "request_gpus": [1.0, 1.0],
            "after_duration_T4_s": [300.0, 90.0],
        }
    )
    workload = Workload.from_jobs(jobs)
    schedule = simulate(workload, Cluster.parse("1x2 T4"), speeds=speeds_from_own_runs(workload))
    np.testing.assert_allclose(schedule.run_s, [300.0, 90.0])
    schedule = simulate(workload, Cluster.parse("1x2 V100"), speeds="own")
    np.testing.assert_allclose(schedule.run_s, [100.0, 60.0])


def test_texts_that_say_too_little_are_refused() -> None:
    workload = Workload.from_jobs(
        pd.DataFrame({"job_id": ["a"], "submit_s": [0.0], "duration_s": [1.0]})
    )
    with pytest.raises(ParameterError, match="reference=TYPE"):
        as_speeds("measured=folder", workload)
    with pytest.raises(InputError, match="after_duration"):
        as_speeds("own", workload)


@pytest.mark.data
def test_gavel_and_zeus_give_tables(shared_data: Path) -> None:
    sharing = as_sharing(f"measured={shared_data / 'gavel-throughput'},per_gpu=2")
    assert sharing is not None
    assert sharing.per_gpu == 2
    assert sharing.table is not None
    assert sharing.table["speed"].between(0.05, 1.0).all()
    epochs = open_trace(shared_data / "zeus-dl").tables["time_per_epoch"]
    speeds = speeds_from_measurements(epochs, reference="v100")
    assert (speeds.table.loc[speeds.table["gpu_type"] == "v100", "speed"] == 1.0).all()
