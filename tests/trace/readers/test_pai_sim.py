from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import pandas as pd
import pytest

from prophase.errors import BadRowsError, FormatError, MissingFileError
from prophase.trace import check_jobs, known_at_submit, open_trace

HEADER = (
    "job_id,user,num_gpu,num_cpu,num_inst,submit_time,duration,gpu_type,user_dur,group_dur,"
    "group_gpu_dur"
)


def simulator_input(folder: Path, *rows: str) -> Path:
    path = folder / "jobs.csv"
    path.write_text("\n".join([HEADER, *rows]) + "\n", encoding="utf-8")
    return path


def test_the_input_can_be_written_again_exactly(tmp_path: Path) -> None:
    rows = ["0,ann,0.25,6.5,,0,100.7,V100,0.0,12.5,3.25", "1,bob,8,0,3,60.5,1,CPU,1.0,2.0,3.0"]
    jobs = check_jobs(open_trace(simulator_input(tmp_path, *rows)).jobs)
    ordered = jobs.assign(number=jobs["job_id"].astype(int)).sort_values("number")
    again = ordered[
        ["job_id", "user", "request_gpus", "request_cpu_cores", "attr_num_inst", "submit_s",
         "duration_s", "gpu_type", "attr_user_dur", "attr_group_dur", "attr_group_gpu_dur"]
    ]  # fmt: skip
    for (_, ours), row in zip(again.iterrows(), rows, strict=True):
        for value, cell in zip(ours, row.split(","), strict=True):
            if not cell:
                assert pd.isna(value)
            elif isinstance(value, str):
                assert value == cell
            else:
                assert value == float(cell)


def test_an_empty_number_of_instances_counts_as_one_and_is_reported(tmp_path: Path) -> None:
    trace = open_trace(simulator_input(tmp_path, "0,a,1,0,,0,5,T4,0,0,0", "1,a,1,0,2,0,5,T4,0,0,0"))
    assert trace.jobs["instances"].tolist() == [1, 2]
    assert trace.report is not None
    assert trace.report.tables["jobs"].repaired == {"num_inst empty, counted as 1": 1}


def test_estimates_are_known_at_submission(tmp_path: Path) -> None:
    jobs = open_trace(simulator_input(tmp_path, "0,a,1,0,1,0,5,T4,7,8,9")).jobs
    known = known_at_submit(jobs.columns)
    assert {"attr_user_dur", "attr_group_dur", "attr_group_gpu_dur"} <= set(known)
    assert "duration_s" not in known


def test_results_of_runs_become_side_tables(tmp_path: Path) -> None:
    simulator_input(tmp_path, "0,a,1,0,1,0,5,T4,7,8,9")
    with gzip.open(tmp_path / "jct_small_fifo.csv.gz", "wt") as packed:
        packed.write("job_id,submit_time,duration,jct\n0,0,5,9\n")
    results = {"results": [{"tag": "small_fifo", "policy": "FIFO", "avg_jct": 9.0, "cpu_s": None}]}
    (tmp_path / "results.json").write_text(json.dumps(results))
    tables = open_trace(tmp_path, source="pai-sim").tables
    assert tables["reference_jct"].iloc[0].to_dict() == {
        "run": "small_fifo",
        "job_id": "0",
        "submit_s": 0.0,
        "duration_s": 5.0,
        "jct_s": 9.0,
    }
    assert tables["reference_results"]["avg_jct"].tolist() == [9.0]


def test_a_results_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    simulator_input(tmp_path, "0,a,1,0,1,0,5,T4,7,8,9")
    (tmp_path / "results.json").write_text("[1, 2]")
    with pytest.raises(FormatError, match="not a list of simulator results"):
        open_trace(tmp_path, source="pai-sim")


def test_files_without_the_columns_are_refused(tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(MissingFileError, match="no file has the columns job_id, num_gpu"):
        open_trace(tmp_path, source="pai-sim")


def test_a_duration_that_is_no_number_is_a_bad_row_with_its_line(tmp_path: Path) -> None:
    path = simulator_input(tmp_path, "0,a,1,0,1,0,soon,T4,7,8,9")
    with pytest.raises(BadRowsError, match="line 2: duration is 'soon'"):
        open_trace(path)


@pytest.mark.data
def test_the_reference_runs_are_complete_and_consistent(shared_data: Path) -> None:
    trace = open_trace(shared_data / "pai_sim")
    assert trace.source == "pai-sim"
    jobs = check_jobs(trace.jobs)
    assert len(jobs) == 20000
    with gzip.open(shared_data / "pai_sim" / "philly20k.csv.gz", "rt") as packed:
        rows = list(csv.DictReader(packed))
    ours = jobs.set_index("job_id").loc[[row["job_id"] for row in rows]]
    for column, theirs in (
        ("submit_s", "submit_time"),
        ("duration_s", "duration"),
        ("request_gpus", "num_gpu"),
        ("attr_group_gpu_dur", "group_gpu_dur"),
    ):
        assert ours[column].tolist() == [float(row[theirs]) for row in rows]
    waits = trace.tables["reference_jct"]
    waits = (waits["jct_s"] - waits["duration_s"]).groupby(waits["run"]).mean()
    results = trace.tables["reference_results"].set_index("tag")["avg_wait"]
    pd.testing.assert_series_equal(waits, results, check_names=False)
