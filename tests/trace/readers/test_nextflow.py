from __future__ import annotations

from pathlib import Path

import pytest

from prophase.errors import BadRowsError, FormatError, ParameterError
from prophase.trace.trace_tables import Trace, open_trace

HUMAN = (
    "task_id\thash\tnative_id\tprocess\ttag\tname\tstatus\texit\tcpus\tmemory\ttime\tsubmit\t"
    "start\tcomplete\tduration\trealtime\t%cpu\trss\tpeak_rss\trchar"
)
ROWS = (
    "1\tab/123456\t77\tNF:FASTQC\ts1\tNF:FASTQC (s1)\tCOMPLETED\t0\t2\t4 GB\t1d 4h\t"
    "2024-05-01 10:00:00.250\t2024-05-01 10:00:10.000\t2024-05-01 10:03:30.500\t3m 30s\t3m 20s\t"
    "98.5%\t1 MB\t1.5 GB\t12 KB",
    "2\tcd/abcdef\t78\tNF:ALIGN\ts2\tNF:ALIGN (s2)\tFAILED\t137\t4\t8 GB\t30m\t"
    "2024-05-01 10:00:01.000\t2024-05-01 10:00:11.000\t2024-05-01 10:00:11.850\t11s\t850ms\t"
    "400.0%\t0\t0\t-",
    "3\tef/000000\t-\tNF:LATER\t-\tNF:LATER\tSUBMITTED\t-\t1\t512 MB\t90s\t"
    "2024-05-01 10:00:02.000\t-\t-\t-\t-\t-\t-\t-\t-",
)


def read_text(folder: Path, name: str, *lines: str, **options: str) -> Trace:
    (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return open_trace(folder / name, source="nextflow", options=options)


def test_human_units_become_seconds_gib_and_cores(tmp_path: Path) -> None:
    trace = read_text(tmp_path, "trace.txt", HUMAN, *ROWS)
    jobs = trace.jobs.set_index("job_id")
    done = jobs.loc["trace/ab/123456"]
    assert done["request_memory_gib"] == 4.0
    assert done["time_limit_s"] == 28 * 3600
    assert done["duration_s"] == 200.0
    assert done["memory_peak_gib"] == 1.5
    assert done["after_rss_last_gib"] == 1 / 1024
    assert done["after_rchar_bytes"] == 12 * 1024
    assert done["cpu_mean_cores"] == pytest.approx(0.985)
    assert done["wait_s"] == pytest.approx(9.75)
    assert done["submit_s"] == pytest.approx(1714557600.25)
    assert jobs.loc["trace/cd/abcdef", "duration_s"] == pytest.approx(0.85)
    assert trace.report is not None
    assert any("local wall time" in note for note in trace.report.notes)


def test_states_map_and_a_task_not_yet_started_has_no_times(tmp_path: Path) -> None:
    jobs = read_text(tmp_path, "trace.txt", HUMAN, *ROWS).jobs
    assert list(jobs["status"]) == ["completed", "failed", "pending"]
    waiting = jobs.iloc[2]
    assert waiting[["start_s", "end_s", "duration_s", "memory_peak_gib", "attr_tag"]].isna().all()


def test_a_peak_of_zero_bytes_is_missing_and_counted(tmp_path: Path) -> None:
    trace = read_text(tmp_path, "trace.txt", HUMAN, *ROWS)
    assert trace.report is not None
    assert trace.report.tables["jobs"].repaired == {"memory peak of 0 bytes, not measured": 1}
    assert trace.jobs["memory_peak_gib"].notna().sum() == 1


def test_raw_units_are_recognised_by_their_values(tmp_path: Path) -> None:
    header = "task_id,hash,native_id,process,name,status,exit,memory,submit,start,realtime,peak_rss"
    row = "1,ab/12,7,P,P (x),COMPLETED,0,2147483648,1700000000000,1700000005000,0,1073741824"
    job = read_text(tmp_path, "trace_mag.csv", header, row).jobs.iloc[0]
    assert job["request_memory_gib"] == 2.0
    assert job["memory_peak_gib"] == 1.0
    assert job["submit_s"] == 1.7e9
    assert job["duration_s"] == 0.0, "below the resolution of a second, not unknown"
    assert (job["workload"], job["parent_id"]) == ("mag", "trace_mag")


def test_the_default_columns_give_process_tag_and_start_from_what_is_there(tmp_path: Path) -> None:
    header = "task_id\thash\tnative_id\tname\tstatus\texit\tsubmit\tduration\trealtime\t%cpu"
    row = "1\tab/12\t7\tALIGN (s 1)\tCOMPLETED\t0\t2024-05-01 10:00:00.000\t1m 10s\t1m\t50.0%"
    job = read_text(tmp_path, "trace.txt", header, row).jobs.iloc[0]
    assert (job["task"], job["attr_tag"]) == ("ALIGN", "s 1")
    assert job["wait_s"] == pytest.approx(10.0)
    assert job["duration_s"] == 60.0


def test_the_workflow_can_be_named_and_several_files_are_several_workflows(tmp_path: Path) -> None:
    header = "task_id,hash,native_id,name,status,exit"
    for name in ("trace_a.csv", "trace_b.csv"):
        (tmp_path / name).write_text(f"{header}\n1,ab/12,7,P,COMPLETED,0\n", encoding="utf-8")
    jobs = open_trace(tmp_path, source="nextflow").jobs
    assert set(jobs["job_id"]) == {"a/ab/12", "b/ab/12"}
    named = open_trace(tmp_path / "trace_a.csv", source="nextflow", options={"workflow": "sarek"})
    assert set(named.jobs["workload"]) == {"sarek"}


def test_runs_that_share_a_file_name_are_distinguished_by_their_folders(tmp_path: Path) -> None:
    for run in ("monday", "tuesday"):
        (tmp_path / run).mkdir()
        (tmp_path / run / "trace.txt").write_text(f"{HUMAN}\n{ROWS[0]}\n", encoding="utf-8")
    jobs = open_trace(tmp_path, source="nextflow").jobs
    assert set(jobs["parent_id"]) == {"monday/trace", "tuesday/trace"}
    assert set(jobs["job_id"]) == {"monday/trace/ab/123456", "tuesday/trace/ab/123456"}


def test_a_cell_that_is_no_amount_is_a_bad_row(tmp_path: Path) -> None:
    with pytest.raises(BadRowsError, match="memory is not an amount such as"):
        read_text(tmp_path, "trace.txt", HUMAN, ROWS[0].replace("4 GB", "plenty"))


def test_human_cells_are_refused_where_raw_units_were_promised(tmp_path: Path) -> None:
    with pytest.raises(BadRowsError, match="time is not a time such as 200000"):
        read_text(tmp_path, "trace.txt", HUMAN, *ROWS, units="raw")
    with pytest.raises(ParameterError, match="raw or human"):
        read_text(tmp_path, "trace.txt", HUMAN, *ROWS, units="metric")


def test_a_table_without_tasks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no column task_id"):
        read_text(tmp_path, "trace.txt", "a\tb", "1\t2")


@pytest.mark.data
def test_the_four_workflows_have_the_rows_their_readme_says(shared_data: Path) -> None:
    trace = open_trace(shared_data / "nextflow")
    jobs = trace.jobs
    assert trace.source == "nextflow"
    rows = jobs.groupby("workload").size()
    assert rows.to_dict() == {"chipseq": 2938, "eager": 1576, "mag": 6242, "rnaseq": 1308}
    assert jobs.groupby("workload")["memory_peak_gib"].count().to_dict() == {
        "chipseq": 2937, "eager": 1576, "mag": 6237, "rnaseq": 1308,
    }  # fmt: skip
    types = jobs.groupby("workload")["task"].nunique().to_dict()
    assert types == {"chipseq": 48, "eager": 19, "mag": 38, "rnaseq": 54}
    assert (jobs["memory_peak_gib"].dropna() <= jobs["request_memory_gib"].max()).all()
    assert (jobs["attr_attempt"] > 1).sum() == 10
    assert set(jobs["status"]) == {"completed"}
