from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from prophase.errors import MissingFileError, ParameterError
from prophase.sim import Workload
from prophase.sim.sweep.plan import SweepPlan
from prophase.sim.sweep.runner import run_sweep
from prophase.sizing.kind_recommendation import recommend
from prophase.study.request_scenarios import sizings_of
from prophase.trace.identity.job_identity import with_identity


@pytest.fixture
def jobs() -> pd.DataFrame:
    """Three days of a task that asks for eight times what it needs, on nodes with little memory."""
    at = np.arange(300)
    rng = np.random.default_rng(2)
    return pd.DataFrame(
        {
            "job_id": [f"j{i:03d}" for i in at],
            "submit_s": 860.0 * at,
            "duration_s": 1500.0,
            "task": "align",
            "request_memory_gib": 32.0,
            "memory_peak_gib": rng.uniform(3.0, 4.0, len(at)),
            "request_gpus": 0.5,
        }
    )


def test_a_sizer_learns_only_from_jobs_that_had_ended(jobs: pd.DataFrame) -> None:
    found, remarks = sizings_of(jobs, ["asked", "maximum"])
    first = found["maximum"].workload.jobs["sized_1"].to_numpy()
    # the first jobs start before any has ended: nothing is known but the request
    assert first[0] == first[1] == 32.0
    assert first[-1] < 5.0
    assert found["asked"].ladder is None
    assert any("300 of 300 jobs are sized" in said for said in remarks)


def test_recommended_is_what_the_one_recommender_says(jobs: pd.DataFrame) -> None:
    found, remarks = sizings_of(jobs, ["recommended", "default"])
    (task,) = recommend(with_identity(jobs)).tasks
    first = {
        name: one.workload.jobs[one.ladder.columns[0]].to_numpy(float)
        for name, one in found.items()
        if one.ladder is not None
    }
    assert (abs(first["recommended"] - task.request) < 0.01).all()
    assert (first["default"] == first["recommended"]).all()
    assert any("as prophase size recommends" in said for said in remarks)
    assert any("of 300 jobs are killed at their first request" in said for said in remarks)


def test_policy_sharing_and_sizing_are_crossed_and_ranked(jobs: pd.DataFrame) -> None:
    found, _ = sizings_of(jobs, ["asked", "default"])
    plan = SweepPlan(
        ["1x2 V100 16c 32g"], {"order": ["fifo", "shortest"]}, seeds=2,
        sizings=("asked", "default"), sharing=("on", "off"),
    )  # fmt: skip
    result = run_sweep(Workload.from_jobs(jobs), plan, sizings=found)
    table = result.ranked(["mean_wait_s", "gib_hours.allocated"])
    assert len(table) == plan.combinations == 8
    assert set(table["sizing"]) == {"asked", "default"}
    assert table["sizing"].iloc[0] == "default"
    held = table.groupby("sizing")["gib_hours.allocated"].mean()
    assert held["default"] < 0.5 * held["asked"]
    waits = table.groupby("sharing")["mean_wait_s"].mean()
    assert waits["off"] >= waits["on"]
    assert bool(table["front"].iloc[0])


def test_an_advice_and_a_table_of_requests_are_sizings_too(
    jobs: pd.DataFrame, tmp_path: Path
) -> None:
    advice, table = tmp_path / "advice.json", tmp_path / "requests.csv"
    advice.write_text(json.dumps({"tasks": [{"task": "align", "advice": 3.5}]}))
    pd.DataFrame({"task": ["align"], "request_memory_gib": [6.0]}).to_csv(table, index=False)
    found, _ = sizings_of(jobs, [str(advice), str(table)])
    climbing = found[str(advice)]
    assert climbing.ladder is not None
    assert climbing.highest().asks[:, 1].max() > 3.5 * 1024
    assert found[str(table)].workload.jobs["request_memory_gib"].eq(6.0).all()


def test_a_sizing_that_is_neither_a_sizer_nor_a_file_is_refused(jobs: pd.DataFrame) -> None:
    with pytest.raises(ParameterError, match=r"percentil.*percentile"):
        sizings_of(jobs, ["percentil"])
    with pytest.raises(MissingFileError, match=r"no\.csv"):
        sizings_of(jobs, ["no.csv"])
    with pytest.raises(ParameterError, match="on or off"):
        SweepPlan(["1x8"], sharing=("perhaps",))
    with pytest.raises(ParameterError, match="unknown"):
        run_sweep(Workload.from_jobs(jobs), SweepPlan(["1x8"], sizings=("default",), seeds=1))
