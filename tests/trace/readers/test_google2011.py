from __future__ import annotations

from pathlib import Path

import pytest

from prophase.errors import BadRowsError, MissingColumnError
from prophase.trace.trace_tables import open_trace

HEADER = (
    "job_id,user,logical_name,scheduling_class,priority,request_cpu,request_ram,request_disk,"
    "num_tasks,duration_5min_units"
)


def write(folder: Path, *rows: str, header: str = HEADER) -> Path:
    path = folder / "jobs.csv"
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def test_units_of_five_minutes_become_whole_seconds_and_ids_give_the_order(tmp_path: Path) -> None:
    rows = ["900,u1,n1,0,2,6.25,0.03,0.1,1,0.20333333333333334", "80,u2,n1,3,9,1.5,0.5,0,2,12.0"]
    jobs = open_trace(write(tmp_path, *rows), source="google2011").jobs.set_index("job_id")
    assert jobs.loc["900", "duration_s"] == 61.0
    assert jobs.loc["80", "duration_s"] == 3600.0
    assert jobs["submit_order"].to_dict() == {"80": 0.0, "900": 1.0}
    assert jobs.loc["900", "attr_request_cpu_pct"] == 6.25
    assert "request_cpu_cores" not in jobs, "a share of an unknown machine is not cores"
    assert set(jobs["group"]) == {"n1"}


def test_a_repeated_id_keeps_both_rows(tmp_path: Path) -> None:
    row = "7,u1,n1,0,2,1,1,1,1,1"
    trace = open_trace(write(tmp_path, row, row.replace(",1,1", ",1,2")), source="google2011")
    assert set(trace.jobs["job_id"]) == {"7", "7#2"}


def test_damage_and_a_missing_column_are_named(tmp_path: Path) -> None:
    with pytest.raises(BadRowsError, match="duration_5min_units is 'long'"):
        open_trace(write(tmp_path, "7,u1,n1,0,2,1,1,1,1,long"), source="google2011")
    with pytest.raises(MissingColumnError, match="duration_5min_units"):
        open_trace(write(tmp_path, "7,u1", header="job_id,user"), source="google2011")


@pytest.mark.data
def test_the_real_jobs_have_the_counts_their_readme_says(shared_data: Path) -> None:
    trace = open_trace(shared_data / "google2011-jobs")
    jobs = trace.jobs
    assert trace.source == "google2011"
    assert len(jobs) == 149_301
    assert jobs["job_id"].is_unique
    assert jobs["job_id"].str.contains("#").sum() == 54
    assert (jobs["user"].nunique(), jobs["group"].nunique()) == (305, 5984)
    assert jobs["duration_s"].median() == 61.0
    assert (jobs["duration_s"] % 1 == 0).all()
    assert jobs["submit_order"].is_monotonic_increasing
