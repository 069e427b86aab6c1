from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from prophase.errors import BadRowsError, MissingFileError
from prophase.trace import check_jobs, check_usage, open_trace

LOG = (
    "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"
    "1,u1,vcA,16,64,2,COMPLETED,2020-06-09 18:41:01,2020-06-09 18:42:01,2020-06-09 19:42:01,"
    "3600,60\n"
    "2,u2,vcB,0,4,0,CANCELLED,2020-06-09 18:41:27,,,,\n"
)
SIZES = "date,vcA,vcB,total\n2020-04-01,8,16,24\n2020-04-02,8,24,32\n"


def test_a_job_log_becomes_jobs_with_requests_per_node(tmp_path: Path) -> None:
    path = tmp_path / "cluster_log.csv"
    path.write_text(LOG)
    trace = open_trace(path)
    assert trace.source == "helios"
    jobs = check_jobs(trace.jobs).set_index("job_id")
    job = jobs.loc["1"]
    assert (job["user"], job["queue"], job["status"]) == ("u1", "vcA", "completed")
    assert (job["instances"], job["request_gpus"], job["request_cpu_cores"]) == (2, 8, 32)
    assert (job["wait_s"], job["duration_s"]) == (60, 3600)
    assert jobs.loc["2", ["start_s", "end_s", "duration_s"]].isna().all()
    assert jobs.loc["2", "instances"] == 1


def test_logs_of_several_clusters_in_the_official_archive_stay_apart(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "data.zip", "w") as archive:
        for cluster, user in (("Earth", "u1"), ("Venus", "u9")):
            archive.writestr(f"data/{cluster}/cluster_log.csv", LOG.replace("u1", user))
            archive.writestr(f"data/{cluster}/cluster_gpu_number.csv", SIZES)
    trace = open_trace(tmp_path, source="helios")
    jobs = trace.jobs.set_index("job_id")
    assert sorted(jobs.index) == ["Earth/1", "Earth/2", "Venus/1", "Venus/2"]
    assert jobs.loc[["Earth/1", "Venus/1"], "user"].tolist() == ["u1", "u9"]
    assert jobs.loc["Venus/1", "attr_cluster"] == "Venus"
    sizes = trace.tables["gpus_by_day"]
    assert sizes.groupby(["cluster", "date"])["gpus"].sum().tolist() == [24, 32, 24, 32]


def test_minutes_of_virtual_clusters_become_usage(tmp_path: Path) -> None:
    (tmp_path / "vc_minute_state_2020-05.csv").write_text(
        "vc,time,total_job_num,running_job_num,pending_job_num,running_gpujob_num,"
        "pending_gpujob_num,total_gpu_num,running_gpu_num,pending_gpu_num,idle_gpu_num,"
        "gpu_utilization\n"
        "vcA,2020-05-01 00:01:00,12,11,1,11,1,64,59,8,5,0.922\n"
    )
    (tmp_path / "earth_gpu_number_by_day.csv").write_text(SIZES)
    trace = open_trace(tmp_path)
    row = check_usage(trace.usage).iloc[0]
    assert (row["series_id"], row["running_gpus"], row["pending_gpus"]) == ("vcA", 59, 8)
    assert (row["total_gpus"], row["allocated_frac"], row["pending_gpu_jobs"]) == (64, 0.922, 1)
    assert row["time_s"] % 86400 == 60
    assert trace.tables["gpus_by_day"]["cluster"].unique().tolist() == ["Earth"]


def test_a_time_that_is_none_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "cluster_log.csv"
    path.write_text(LOG.replace("2020-06-09 18:41:27", "noon"))
    with pytest.raises(BadRowsError, match="line 3: submit_time is 'noon'"):
        open_trace(path)


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "cluster_log.csv").write_text("a,b\n1,2\n")
    with pytest.raises(MissingFileError, match="neither the columns of a job log"):
        open_trace(tmp_path, source="helios")


@pytest.mark.data
def test_the_state_of_earth_reads_as_its_readme_says(shared_data: Path) -> None:
    trace = open_trace(shared_data / "helios-earth")
    usage = trace.usage
    assert len(usage) == 11 * 44640
    assert usage.groupby("series_id").size().eq(44640).all()
    busy = usage.groupby("series_id").agg({"total_gpus": "max", "allocated_frac": "mean"})
    assert busy.loc["vcpDC"].round(2).tolist() == [56, 0.91]
    waiting = usage.assign(waits=usage["pending_gpu_jobs"] > 0).groupby("series_id")["waits"].mean()
    assert waiting["vcpDC"] == pytest.approx(0.77, abs=0.005)
    assert waiting["vc8Sj"] == pytest.approx(0.23, abs=0.005)
    summary = trace.tables["cluster_summary"].set_index("cluster")
    assert summary.loc["Earth", ["gpu_num", "job_num"]].tolist() == [997, 872886]
    sizes = trace.tables["gpus_by_day"]
    assert (sizes["date"].min(), sizes["date"].max()) == ("2020-04-01", "2020-09-28")
    assert sizes[sizes["date"] == "2020-04-01"]["gpus"].sum() == 784
