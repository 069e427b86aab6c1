from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from prophase.errors import BadRowsError, FormatError, ParameterError
from prophase.trace import check_jobs, open_trace

HEADER = "; Computer: test\n; UnixStartTime: 1000000000\n; MaxNodes: 4\n; MaxProcs: 8\n;\n"
#: job submit wait run used cpu memory asked time memory status user group exe queue part prev think
PLAIN = (
    "    1      10   5  100   4   50  1048576   4  200  2097152  1  7  3  9  2  1  -1  -1\n"
    "\t2  20 -1 -1 -1 -1 -1 2 -1 -1 5 8 3 -1 -1 -1 1 30\n"
)
ALEA = (
    "0 1356996147 0 560 64 1 1024 64 86400 8589934592 1 62 1 1 -1 1 1 1 {1,2} q_1d 8:ppn=8:x#excl\n"
    "1 1356996200 3 20 2 1 1024 2 7200 4294967296 1 62 1 1 -1 1 1 1 {1,2} q_2h 2:infiniband\n"
    "2 1356996300 3 20 12 1 1024 12 7200 4294967296 1 9 1 1 -1 1 1 1 {1} q_2h 1:a.b:ppn=12\n"
)


def log(folder: Path, text: str, name: str = "test-2001.swf") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_processor_is_an_instance_and_everything_counts_per_processor(tmp_path: Path) -> None:
    trace = open_trace(log(tmp_path, HEADER + PLAIN))
    assert (trace.source, trace.clock) == ("swf", "unix")
    jobs = check_jobs(trace.jobs).set_index("job_id")
    job = jobs.loc["1"]
    assert (job["submit_s"], job["wait_s"], job["duration_s"]) == (1000000010, 5, 100)
    assert (job["start_s"], job["end_s"]) == (1000000015, 1000000115)
    assert (job["instances"], job["request_cpu_cores"], job["cpu_mean_cores"]) == (4, 1, 0.5)
    assert (job["request_memory_gib"], job["memory_mean_gib"]) == (2.0, 1.0)
    assert (job["user"], job["group"], job["workload"], job["queue"]) == ("7", "3", "9", "2")
    assert (job["status"], job["time_limit_s"]) == ("completed", 200)


def test_minus_one_is_missing(tmp_path: Path) -> None:
    job = open_trace(log(tmp_path, HEADER + PLAIN)).jobs.set_index("job_id").loc["2"]
    unknown = ["start_s", "wait_s", "duration_s", "request_memory_gib", "time_limit_s", "queue"]
    assert job[unknown].isna().all()
    assert (job["instances"], job["status"]) == (2, "cancelled")
    assert (job["attr_preceding_job"], job["attr_think_time_s"]) == ("1", 30)


def test_nodes_come_from_the_header(tmp_path: Path) -> None:
    nodes = open_trace(log(tmp_path, HEADER + PLAIN)).nodes
    assert len(nodes) == 4
    assert nodes["cpu_cores"].tolist() == [2.0] * 4


def test_alea_requests_become_nodes_with_their_processors(tmp_path: Path) -> None:
    trace = open_trace(log(tmp_path, ALEA))
    jobs = check_jobs(trace.jobs).set_index("job_id")
    assert jobs["instances"].tolist() == [8, 2, 1]
    assert jobs["request_cpu_cores"].tolist() == [8, 1, 12]
    assert jobs["request_memory_gib"].tolist() == [8.0, 4.0, 4.0]
    assert jobs["submit_s"].min() == 1356996147
    assert jobs["queue"].tolist() == ["q_1d", "q_2h", "q_2h"]
    assert trace.report is not None
    assert any("read as bytes" in note for note in trace.report.notes)


def test_the_unit_of_memory_can_be_given(tmp_path: Path) -> None:
    path = log(tmp_path, HEADER + PLAIN)
    jobs = open_trace(path, options={"memory_unit": "bytes"}).jobs.set_index("job_id")
    assert jobs.loc["1", "request_memory_gib"] == pytest.approx(2097152 / 2**30)
    with pytest.raises(ParameterError, match="choose kb, bytes or auto"):
        open_trace(path, options={"memory_unit": "stones"})


def test_several_logs_are_joined_under_their_names(tmp_path: Path) -> None:
    log(tmp_path, HEADER + PLAIN, "north-1.swf")
    with gzip.open(tmp_path / "south-2.part1.swf.gz", "wt") as packed:
        packed.write(ALEA)
    (tmp_path / "south-2.machines.csv").write_text(
        "cluster_id,name,nodes,cpus_per_node,speed,ram_per_node_kib\n"
        "0,big,1,80,1,1048576\n1,small,2,12,1,2097152\n"
    )
    trace = open_trace(tmp_path)
    assert sorted(trace.jobs["job_id"])[:3] == ["north-1/1", "north-1/2", "south-2/0"]
    assert trace.jobs["user"].nunique() == 4
    nodes = trace.nodes.set_index("node_id")
    assert len(nodes) == 4 + 3
    assert nodes.loc["south-2-small-1", ["cpu_cores", "memory_gib"]].tolist() == [12, 2]
    assert nodes.loc["south-2-small-1", "features"] == "south-2|small"


def test_a_log_without_start_keeps_its_own_zero(tmp_path: Path) -> None:
    trace = open_trace(log(tmp_path, PLAIN), source="swf")
    assert trace.clock == "relative"
    assert trace.jobs["submit_s"].tolist() == [10, 20]


def test_parts_of_a_checkpointed_job_are_left_out_and_counted(tmp_path: Path) -> None:
    part = "    1      10   5   40   4   50  1048576   4  200  2097152  2  7  3  9  2  1  -1  -1\n"
    report = open_trace(log(tmp_path, HEADER + PLAIN + part)).report
    assert report is not None
    assert report.tables["jobs"].dropped == {"part of a job that has its own line": 1}


def test_a_log_that_calls_every_job_failed_has_no_status(tmp_path: Path) -> None:
    line = "1 10 5 100 4 -1 -1 4 200 -1 0 7 3 9 2 1 -1 -1\n"
    trace = open_trace(log(tmp_path, HEADER + line))
    assert trace.jobs["status"].tolist() == ["unknown"]


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        (HEADER, FormatError, "has a header but no jobs"),
        (HEADER + "1 2 3\n", FormatError, "the first job has 3 fields"),
        (HEADER + PLAIN + "3 4 5\n", BadRowsError, "line 8: has 3 fields"),
        (HEADER + PLAIN + PLAIN.replace("100", "long"), BadRowsError, "line 8: run is 'long'"),
    ],
)
def test_broken_logs_are_refused_with_the_reason(
    tmp_path: Path, text: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        open_trace(log(tmp_path, text), source="swf")


@pytest.mark.data
def test_the_three_batch_logs_read_as_their_readme_says(shared_data: Path) -> None:
    trace = open_trace(shared_data / "hpc-swf")
    jobs = check_jobs(trace.jobs)
    assert jobs["attr_log"].value_counts().to_dict() == {
        "kth-sp2-1996": 16465,
        "alcf-theta-2022": 12599,
        "cerit-wagap-2013": 7765,
    }
    assert len(trace.nodes) == 100 + 4360 + 68
    means = jobs[jobs["duration_s"] > 0].groupby("attr_log")["wait_s"].mean().round()
    assert means["kth-sp2-1996"] == 20360
    assert means["alcf-theta-2022"] == 105527
    assert means["cerit-wagap-2013"] == 37232
    assert jobs.groupby("attr_log")["user"].nunique()["kth-sp2-1996"] == 157
    assert (jobs["instances"] * jobs["request_cpu_cores"] >= 1).all()
    assert trace.report is not None
    assert trace.report.tables["jobs"].repaired == {"run time below zero, left missing": 2}
    wagap = jobs[jobs["attr_log"] == "cerit-wagap-2013"]
    assert (wagap["instances"] * wagap["request_cpu_cores"] == wagap["after_procs"]).all()
    assert wagap["request_memory_gib"].max() <= 505


def test_a_first_line_with_odd_numbers_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="18 numbers"):
        open_trace(log(tmp_path, "1 1.2.3 " + "0 " * 16), source="swf")
