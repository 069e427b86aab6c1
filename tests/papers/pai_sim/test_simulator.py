from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from prophase.errors import InputError, ParameterError
from prophase.papers.pai_sim.simulator import simulate_pai
from prophase.trace import open_trace


def table(**columns: list[float]) -> pd.DataFrame:
    rows = len(columns["submit_s"])
    return pd.DataFrame(
        {
            "job_id": [str(i) for i in range(rows)],
            "duration_s": [10.0] * rows,
            "request_gpus": [1.0] * rows,
            "request_cpu_cores": [0.0] * rows,
            "instances": [1.0] * rows,
            **columns,
        }
    )


def test_a_job_that_does_not_fit_is_skipped_for_the_next_one():
    jobs = table(submit_s=[0, 1, 2], request_gpus=[1.0, 2.0, 1.0])
    result = simulate_pai(jobs, gpus=2)
    assert list(result.jobs["start_s"]) == [0, 12, 2]


def test_averages_count_a_gang_once_per_instance():
    jobs = table(submit_s=[0, 0], instances=[3.0, 1.0], duration_s=[10.0, 20.0])
    result = simulate_pai(jobs, gpus=4)
    assert result.mean_jct_s == pytest.approx((3 * 10 + 20) / 4)


def test_units_are_whole_percent_and_at_least_a_second():
    jobs = table(submit_s=[0.4], duration_s=[0.2], request_gpus=[0.005])
    result = simulate_pai(jobs, gpus=1)
    assert result.jobs.loc[0, "duration_s"] == 1
    assert result.jobs.loc[0, "submit_s"] == 0


def test_arrival_rates_replace_the_traces_arrivals():
    result = simulate_pai(table(submit_s=[5, 50, 500]), gpus=9, arrival_rate=2)
    assert list(result.jobs["submit_s"]) == [0, 0, 60]


def test_only_v100_jobs_need_v100_nodes_under_matching_two():
    jobs = table(submit_s=[0] * 49).assign(gpu_type=["V100"] * 49, request_gpus=[8.0] * 49)
    result = simulate_pai(jobs, hetero=True, gpu_type_matching=2)
    assert (result.jobs["start_s"] > 0).sum() == 1
    free = simulate_pai(jobs, hetero=True, gpu_type_matching=0)
    assert (free.jobs["start_s"] == 0).all()


def test_bad_settings_are_refused():
    jobs = table(submit_s=[0])
    with pytest.raises(ParameterError, match="order 'lifo' is unknown"):
        simulate_pai(jobs, order="lifo")
    with pytest.raises(InputError, match="attr_user_dur"):
        simulate_pai(jobs, order="user_dur")
    with pytest.raises(ParameterError, match="node_order"):
        simulate_pai(jobs, node_order=9)


@pytest.mark.data
@pytest.mark.parametrize("order", ["fifo", "shortest"])
def test_every_completion_time_of_the_published_simulator_is_met(shared_data: Path, order: str):
    folder = shared_data / "pai_sim"
    jobs = open_trace(folder / "philly20k.csv.gz", source="pai-sim").jobs
    result = simulate_pai(jobs, gpus=600, order=order)
    tag = {"fifo": "fifo", "shortest": "sjf"}[order]
    published = pd.read_csv(folder / f"jct_philly600_{tag}.csv.gz")
    ours = result.jobs.assign(job_id=result.jobs["job_id"].astype(int)).set_index("job_id")
    assert (ours["jct_s"].loc[published["job_id"]].to_numpy() == published["jct"]).all()
    summary = {
        row["tag"]: row for row in json.loads((folder / "results.json").read_text())["results"]
    }[f"philly600_{tag}"]
    assert result.mean_jct_s == pytest.approx(summary["avg_jct"], abs=1e-9)
    assert result.mean_wait_s == pytest.approx(summary["avg_wait"], abs=1e-9)
    assert result.makespan_s == summary["makespan"]
