from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from prophase.errors import FormatError, MissingColumnError
from prophase.trace import check_jobs, open_trace

LOG = [
    {
        "status": "Pass",
        "vc": "ee9e8c",
        "jobid": "application_1",
        "attempts": [
            {
                "start_time": "2017-10-07 01:00:00",
                "end_time": "2017-10-07 01:30:00",
                "detail": [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}],
            },
            {
                "start_time": "2017-10-07 02:00:00",
                "end_time": "2017-10-07 03:00:00",
                "detail": [{"ip": "m1", "gpus": ["gpu0"]}, {"ip": "m2", "gpus": ["gpu3"]}],
            },
        ],
        "submitted_time": "2017-10-07 00:59:00",
        "user": "ce2d4c",
    },
    {
        "status": "Killed",
        "vc": "ee9e8c",
        "jobid": "application_2",
        "attempts": [],
        "submitted_time": "2017-10-08 00:00:00",
        "user": "ce2d4c",
    },
]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "cluster_job_log"
    path.write_text(json.dumps(LOG))
    return path


def test_the_published_log_gives_one_row_per_job_over_all_its_attempts(log: Path) -> None:
    jobs = check_jobs(open_trace(log, source="philly").jobs).set_index("job_id")
    first = jobs.loc["application_1"]
    assert (first["wait_s"], first["duration_s"]) == (60.0, 7200.0)
    assert (first["request_gpus"], first["after_attempts"], first["status"]) == (2, 2, "completed")


def test_a_job_that_never_started_has_no_times_and_no_gpus(log: Path) -> None:
    second = open_trace(log, source="philly").jobs.set_index("job_id").loc["application_2"]
    assert second["status"] == "cancelled"
    assert pd.isna(second["start_s"])
    assert pd.isna(second["request_gpus"])


def test_another_json_file_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "cluster_job_log"
    path.write_text('[{"id": 1}]')
    with pytest.raises(FormatError, match="is not Philly's cluster_job_log"):
        open_trace(path, source="philly")


def test_a_csv_without_its_columns_says_which_it_needs(tmp_path: Path) -> None:
    path = tmp_path / "philly.csv"
    path.write_text("timestamp,length\n2017-01-01 00:00:00,5\n")
    with pytest.raises(MissingColumnError, match="duration, num_gpus, cluster"):
        open_trace(path, source="philly")


@pytest.mark.data
def test_the_real_trace_has_its_readme_figures(shared_data: Path) -> None:
    jobs = open_trace(shared_data / "philly", source="philly").jobs
    assert len(jobs) == 82_247
    assert jobs["queue"].nunique() == 15
    assert (jobs["duration_s"].min(), jobs["duration_s"].max()) == (1, 4_628_226)
    assert jobs["duration_s"].median() == 1_144
    assert jobs["submit_s"].is_monotonic_increasing
