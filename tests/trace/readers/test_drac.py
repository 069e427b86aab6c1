from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from prophase.errors import BadRowsError, MissingColumnError
from prophase.trace import check_jobs, known_at_submit, open_trace

HEADER = (
    "job_unique_id,submit_time,partition_id,account_id,req_cpus,req_mem_total,req_tres,alloc_nodes,"
    "state,priority_final,eligible_time,start_time,end_time,time_limit_sec,submit_wait_sec,"
    "run_time_sec,poll_time,poll_wait_sec,priority_poll,q_jobs_above,r_p_gpus_above,level_fs_poll"
)


def day_file(folder: Path, name: str, *rows: str) -> Path:
    path = folder / name
    path.write_text("\n".join([HEADER, *rows]) + "\n", encoding="utf-8")
    return path


def row(identity: str, memory: str, tres: str, state: str, level: str = "0.5") -> str:
    return (
        f'{identity},2021-05-01 02:00:00,14,116,96,{memory},"{tres}",3,{state},1508,'
        "2021-05-01 02:00:01,2021-05-02 02:00:00,2021-05-02 03:00:00,43200,86400,3600,"
        f"2021-05-01 12:00:00,50400,0.0003,7,9,{level}"
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    first = row("1", "240000", "billing=96,cpu=96,mem=240000M,node=3", "OUT_OF_MEMORY")
    second = row("2", "0", "cpu=4,gres/gpu=1,mem=1024M,node=1", "COMPLETED", "inf")
    day_file(tmp_path, "cedar_2021-05.csv", first, second)
    day_file(tmp_path, "graham_2021-05a.csv", first)
    return tmp_path


def test_numbers_are_unique_inside_a_cluster_so_its_name_comes_first(folder: Path) -> None:
    jobs = check_jobs(open_trace(folder).jobs).set_index("job_id")
    assert sorted(jobs.index) == ["cedar/1", "cedar/2", "graham/1"]
    assert jobs.loc["graham/1", "attr_cluster"] == "graham"


def test_a_job_is_one_instance_with_its_total_request(folder: Path) -> None:
    jobs = open_trace(folder).jobs.set_index("job_id")
    job = jobs.loc["cedar/1"]
    assert (job["instances"], job["request_cpu_cores"], job["request_gpus"]) == (1, 96, 0)
    assert job["request_memory_gib"] == pytest.approx(240000 / 1024)
    assert jobs.loc["cedar/2", ["request_memory_gib", "request_gpus"]].tolist() == [1.0, 1.0]
    assert (job["status"], job["wait_s"], job["duration_s"]) == ("oom", 86400, 3600)


def test_nothing_seen_at_noon_is_known_at_submission(folder: Path) -> None:
    jobs = open_trace(folder).jobs
    at_noon = "q_jobs_above r_p_gpus_above priority_poll level_fs_poll priority_final alloc_nodes"
    later = {f"after_{name}" for name in at_noon.split()}
    assert later <= set(jobs.columns)
    assert not later & set(known_at_submit(jobs.columns))


def test_an_infinite_fair_share_is_missing(folder: Path) -> None:
    jobs = open_trace(folder).jobs.set_index("job_id")
    assert pd.isna(jobs.loc["cedar/2", "after_level_fs_poll"])
    assert jobs.loc["cedar/1", "after_level_fs_poll"] == 0.5


def test_broken_rows_and_foreign_files_are_refused(tmp_path: Path) -> None:
    path = day_file(tmp_path, "cedar_x.csv", row("1", "much", "cpu=1", "FAILED"))
    with pytest.raises(BadRowsError, match="line 2: req_mem_total is 'much'"):
        open_trace(path)
    path.write_text("a,b\n1,2\n")
    with pytest.raises(MissingColumnError, match="job_unique_id"):
        open_trace(path, source="drac")


@pytest.mark.data
def test_cedar_and_graham_read_as_their_readme_says(shared_data: Path) -> None:
    trace = open_trace(shared_data / "drac-slurm")
    assert trace.source == "drac"
    jobs = check_jobs(trace.jobs)
    clusters = jobs.groupby("attr_cluster")
    assert clusters.size().to_dict() == {"cedar": 53856, "graham": 36909 + 35551}
    gpus = jobs["request_gpus"] > 0
    assert gpus.groupby(jobs["attr_cluster"]).sum().to_dict() == {"cedar": 6294, "graham": 7832}
    assert clusters["group"].nunique().to_dict() == {"cedar": 306, "graham": 433}
    assert clusters["duration_s"].median().round(-2).to_dict() == {"cedar": 6100, "graham": 3200}
    # the publisher's own difference: the clocks agree
    polled = jobs["start_s"] - jobs["after_poll_s"]
    assert (polled == jobs["after_poll_wait_sec"]).all()
    assert jobs["job_id"].is_unique
