from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from prophase.errors import MissingFileError
from prophase.trace.trace_tables import open_trace

COLUMNS = (
    "id_job,id_array_job,id_array_task,id_user,nodes_alloc,nodelist,cpus_req,exit_code,constraints,"
    "mem_req,partition,priority,state,timelimit,time_submit,time_eligible,time_start,time_end,"
    "tres_req,job_type"
)
EARLY, LATE = 1609500000, 1613000000


def job(submit: int, tres: str, *, mem: str = "9.22337e+18", state: int = 3, **more: str) -> str:
    limit, array = more.get("limit", "60"), more.get("array", "4294967294")
    return (
        f"1000,5000,{array},42,2,\"['n1', 'n2']\",8,0,xeon-g6,{mem},normal,10,{state},{limit},"
        f'{submit},{submit},{submit + 30},{submit + 330},"{tres}",OTHER'
    )


def read(folder: Path, *rows: str) -> pd.DataFrame:
    path = folder / "slurm.csv"
    path.write_text("\n".join([COLUMNS, *rows]) + "\n", encoding="utf-8")
    return open_trace(path, source="mit-supercloud").jobs


def test_the_per_cpu_mark_is_not_an_amount_and_memory_comes_from_tres(tmp_path: Path) -> None:
    jobs = read(
        tmp_path,
        job(EARLY, "1=8,2=68000,4=2,5=8"),
        job(EARLY + 1, "1=8,4=1,5=8", mem="2048"),
        job(EARLY + 2, "1=8,4=1,5=8"),
    )
    assert jobs["request_memory_gib"].tolist()[:2] == [68000 / 1024 / 2, 2.0]
    assert pd.isna(jobs["request_memory_gib"].iloc[2])
    assert jobs["request_cpu_cores"].tolist() == [4.0, 8.0, 8.0], "per node"
    assert jobs["instances"].tolist() == [2.0, 1.0, 1.0]


def test_gpus_are_unknown_before_they_were_recorded_and_zero_after(tmp_path: Path) -> None:
    jobs = read(
        tmp_path,
        job(EARLY, "1=8,2=8,4=1"),
        job(LATE, "1=8,2=8,4=1"),
        job(LATE + 1, "1=8,2=8,4=1,5=8,1002=2"),
    )
    assert pd.isna(jobs["request_gpus"].iloc[0])
    assert jobs["request_gpus"].tolist()[1:] == [0.0, 2.0]


def test_no_time_limit_and_no_array_are_missing(tmp_path: Path) -> None:
    jobs = read(
        tmp_path,
        job(EARLY, "1=8,4=1", limit="4294967295"),
        job(EARLY + 1, "1=8,4=1", array="17", state=11),
    )
    assert jobs["time_limit_s"].isna().tolist() == [True, False]
    assert jobs["time_limit_s"].iloc[1] == 3600.0
    assert jobs["parent_id"].isna().tolist() == [True, False]
    assert jobs["status"].tolist() == ["completed", "oom"]
    assert jobs["after_node"].iloc[0] == "n1,n2"
    assert jobs["wait_s"].tolist() == [30.0, 30.0]


def test_read_rates_come_from_the_step_before_and_the_first_has_none(tmp_path: Path) -> None:
    (tmp_path / "series.csv").write_text(
        "Step,Node,Series,ElapsedTime,EpochTime,CPUFrequency,CPUTime,CPUUtilization,RSS,VMSize,"
        "Pages,ReadMB,WriteMB\n"
        "batch,n1,0,0,1000,2000,0,0,1048576,2097152,0,5,0\n"
        "batch,n1,0,10,1010,2000,20,200,2097152,2097152,0,5,1\n",
        encoding="utf-8",
    )
    usage = open_trace(tmp_path, source="mit-supercloud").usage
    assert usage["series_id"].unique().tolist() == ["step batch/n1/0"]
    assert usage["cpu_cores"].tolist() == [0.0, 2.0]
    assert usage["memory_gib"].tolist() == [1.0, 2.0]
    assert pd.isna(usage["read_bytes_per_s"].iloc[0])
    assert usage["read_bytes_per_s"].iloc[1] == 5e5


def test_a_folder_of_other_tables_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(MissingFileError, match="neither a Slurm log"):
        open_trace(tmp_path, source="mit-supercloud")


@pytest.mark.data
def test_the_real_sample_has_the_counts_its_readme_says(shared_data: Path) -> None:
    trace = open_trace(shared_data / "mit-supercloud")
    jobs, usage = trace.jobs, trace.usage
    assert trace.source == "mit-supercloud"
    assert (len(jobs), len(usage)) == (5763, 22_344)
    assert jobs["user"].nunique() == 278
    assert (jobs["request_gpus"] > 0).sum() == 394
    assert jobs["status"].value_counts().to_dict() == {
        "completed": 3407, "cancelled": 1176, "failed": 599, "timeout": 555, "oom": 14,
        "node_fail": 12,
    }  # fmt: skip
    assert jobs["request_memory_gib"].notna().all()
    assert jobs["request_memory_gib"].max() < 3000
    assert jobs["wait_s"].median() == 2.0
    assert usage["series_id"].nunique() == 2
    assert usage["cpu_cores"].max() == pytest.approx(31.984)
