from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from prophase.errors import BadRowsError, MissingColumnError
from prophase.trace import check_jobs, open_trace

SEREN = (
    "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,"
    "queue,gpu_time\n"
    "51,u1,2,16,256,Pretrain,FAILED,1970-01-01 08:00:00+08:00,1970-01-01 08:00:32+08:00,"
    "1970-01-01 08:02:29+08:00,117,32,1872.0\n"
)
KALOS = (
    "job_id,user,node_num,gpu_num,cpu_num,mem_per_pod_GB,shared_mem_per_pod,type,state,"
    "submit_time,start_time,end_time,fail_time,stop_time,duration,queue,gpu_time\n"
    "dlc1,u2,8,64,960,1000,100.0,Other,CANCELLED,1970-01-01 00:00:00+00:00,"
    "1970-01-01 00:00:12+00:00,1970-01-01 00:01:22+00:00,,1970-01-01 00:01:22+00:00,82,12.0,"
    "5248.0\n"
    "dlc2,u2,1,0,4,8,,Evaluation,RUNNING,1970-01-01 00:00:00+00:00,"
    "1970-01-01 00:00:12+00:00,,,,,12.0,\n"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "trace_seren.csv").write_text(SEREN)
    (tmp_path / "trace_kalos.csv").write_text(KALOS)
    return tmp_path


def test_both_clusters_are_read_on_one_clock(folder: Path) -> None:
    trace = open_trace(folder)
    assert (trace.source, trace.clock) == ("acme", "unix")
    jobs = check_jobs(trace.jobs).set_index("job_id")
    assert jobs["submit_s"].tolist() == [0, 0, 0]
    assert jobs["attr_cluster"].to_dict() == {"51": "seren", "dlc1": "kalos", "dlc2": "kalos"}


def test_requests_are_per_pod(folder: Path) -> None:
    jobs = open_trace(folder).jobs.set_index("job_id")
    job = jobs.loc["dlc1"]
    assert (job["instances"], job["request_gpus"], job["request_cpu_cores"]) == (8, 8, 120)
    assert job["request_memory_gib"] == pytest.approx(1000 * 1e9 / 2**30)
    assert jobs.loc["51", ["instances", "request_gpus"]].tolist() == [2, 8]
    assert pd.isna(jobs.loc["51", "request_memory_gib"])


def test_a_published_duration_that_holds_the_wait_is_mended_and_counted(folder: Path) -> None:
    trace = open_trace(folder)
    jobs = trace.jobs.set_index("job_id")
    assert jobs.loc["51", ["wait_s", "duration_s"]].tolist() == [32, 117]
    assert jobs.loc["dlc1", ["wait_s", "duration_s"]].tolist() == [12, 70]
    assert jobs.loc["dlc1", "after_reported_duration_s"] == 82
    assert trace.report is not None
    assert trace.report.tables["jobs"].repaired == {"duration included the wait": 1}


def test_states_and_times_that_are_not_there_stay_missing(folder: Path) -> None:
    jobs = open_trace(folder).jobs.set_index("job_id")
    assert jobs["status"].to_dict() == {"51": "failed", "dlc1": "cancelled", "dlc2": "running"}
    assert jobs["workload"].to_dict() == {"51": "Pretrain", "dlc1": "Other", "dlc2": "Evaluation"}
    assert jobs.loc["dlc2", ["end_s", "duration_s"]].isna().all()


def test_broken_times_and_foreign_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "trace_seren.csv"
    path.write_text(SEREN.replace("1970-01-01 08:00:32+08:00", "later"))
    with pytest.raises(BadRowsError, match="start_time is not a time"):
        open_trace(path)
    path.write_text("a,b\n1,2\n")
    with pytest.raises(MissingColumnError, match="job_id"):
        open_trace(path, source="acme")
