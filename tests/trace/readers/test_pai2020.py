from __future__ import annotations

import gzip
import tarfile
from pathlib import Path

import pandas as pd
import pytest

from prophase.errors import BadRowsError, FanOutError, MissingColumnError, MissingFileError
from prophase.trace import Workspace, check_jobs, import_trace, open_trace
from prophase.trace.identity.job_identity import _follows


def test_one_row_per_job_task_and_worker_with_everything_joined(pai_dump: Path) -> None:
    trace = open_trace(pai_dump, source="pai2020")
    jobs = check_jobs(trace.jobs).set_index("job_id")
    assert sorted(jobs.index) == ["w1", "w2", "w3", "w4", "w5"]
    first = jobs.loc["w1"]
    assert first["parent_id"] == "j1"
    assert first["user"] == "u1"
    assert first["group"] == "g1"
    assert first["workload"] == "bert"
    assert (first["submit_s"], first["start_s"], first["end_s"]) == (100, 120, 890)
    assert (first["wait_s"], first["duration_s"]) == (20, 770)
    assert (first["request_cpu_cores"], first["request_gpus"]) == (6.0, 0.5)
    assert first["cpu_mean_cores"] == pytest.approx(1.045)
    assert first["gang_size"] == 2
    assert first["after_gpu_type"] == "T4"
    assert first["after_machine_cpu"] == pytest.approx(32.1)
    assert jobs.loc["w4", "gpu_type"] == "V100"


def test_what_is_unknown_is_missing_and_never_zero(pai_dump: Path) -> None:
    jobs = open_trace(pai_dump, source="pai2020").jobs.set_index("job_id")
    assert pd.isna(jobs.loc["w3", "request_gpus"])
    assert pd.isna(jobs.loc["w3", "cpu_mean_cores"])
    assert pd.isna(jobs.loc["w5", "duration_s"])
    assert pd.isna(jobs.loc["w4", "workload"])


def test_the_report_counts_what_each_table_joined(pai_dump: Path) -> None:
    report = open_trace(pai_dump, source="pai2020").report
    assert report is not None
    count = report.tables["jobs"]
    assert (count.read, count.kept) == (5, 5)
    assert count.joined == {
        "job": 5,
        "group_tag": 5,
        "task": 5,
        "sensor": 3,
        "machine_metric": 1,
        "machine_spec": 5,
    }


def test_rows_of_side_tables_that_belong_to_no_job_are_counted(pai_dump: Path) -> None:
    orphans = {
        "pai_job_table": "j9,id9,u1,Terminated,100,900",
        "pai_task_table": "j8,ps,1,Terminated,110,900,100.0,10.0,,",
        "pai_group_tag_table": "id7,u1,,g9,ctr",
        "pai_sensor_table": "j9,worker,w9,id9,m1,,9,9,1,1,1,1,1,1,1,1",
        "pai_machine_metric": "w9,m1,120,890,0.1,2.0,30.0,25.0,4.5,1000.0,3,32.1",
    }
    for name, row in orphans.items():
        with (pai_dump / f"{name}.csv").open("a", encoding="utf-8") as file:
            file.write(row + "\n")
    report = open_trace(pai_dump, source="pai2020").report
    assert report is not None
    counted = [note for note in report.notes if "to no job" in note]
    assert {note.split(":")[0] for note in counted} == {
        "job", "group_tag", "task", "sensor", "machine_metric",
    }  # fmt: skip
    assert report.tables["jobs"].kept == 5


@pytest.mark.parametrize(
    ("table", "row", "key"),
    [
        ("pai_job_table", "j1,id9,u1,Terminated,100,900", "job_name"),
        ("pai_task_table", "j1,worker,2,Terminated,110,900,600,29,50,T4", "job_name, task_name"),
        ("pai_group_tag_table", "id1,u1,,g9,ctr", "inst_id"),
        (
            "pai_sensor_table",
            "j1,worker,w1,id1,m1,/dev/nvidia0,9,9,1,1,1,1,1,1,1,1",
            "inst_id, worker_name",
        ),
        ("pai_machine_spec", "m1,P100,64,512,2", "machine"),
    ],
)
def test_a_join_that_would_multiply_rows_stops_and_names_its_key(
    pai_dump: Path, table: str, row: str, key: str
) -> None:
    path = pai_dump / f"{table}.csv"
    path.write_text(path.read_text() + row + "\n")
    with pytest.raises(FanOutError, match=rf"\({key}\) repeats for 1 values"):
        open_trace(pai_dump, source="pai2020")


def test_a_worker_with_several_gpus_keeps_one_row_with_its_gpu_use_added_up(pai_dump: Path) -> None:
    path = pai_dump / "pai_sensor_table.csv"
    row = "j1,worker,w1,id1,m1,/dev/nvidia7,104.5,40.0,1.7,1.9,2.0,2.5,1,1,1,1"
    path.write_text(path.read_text() + row + "\n")
    trace = open_trace(pai_dump, source="pai2020")
    first = trace.jobs.set_index("job_id").loc["w1"]
    assert len(trace.jobs) == 5
    assert first["gpu_util_mean_pct"] == pytest.approx(97.2)
    assert first["memory_peak_gib"] == pytest.approx(1.9)
    assert trace.report is not None
    assert any("row per GPU" in note for note in trace.report.notes)


def test_gz_tar_gz_and_header_files_give_the_same_rows(pai_dump: Path, tmp_path: Path) -> None:
    plain = open_trace(pai_dump, source="pai2020").jobs
    packed = tmp_path / "packed"
    packed.mkdir()
    for path in pai_dump.glob("*.csv"):
        if path.stem == "pai_instance_table":
            with gzip.open(packed / f"{path.name}.gz", "wb") as out:
                out.write(path.read_bytes())
        else:
            with tarfile.open(packed / f"{path.stem}.tar.gz", "w:gz") as tar:
                tar.add(path, arcname=path.name)
    header = "job_name,inst_id,user,status,start_time,end_time"
    (packed / "pai_job_table.header").write_text(header)
    pd.testing.assert_frame_equal(open_trace(packed, source="pai2020").jobs, plain)


def test_a_header_file_that_lacks_a_column_is_refused_by_name(pai_dump: Path) -> None:
    (pai_dump / "pai_job_table.header").write_text("job_name,inst_id,person,status,a,b")
    with pytest.raises(MissingColumnError, match="user"):
        open_trace(pai_dump, source="pai2020")


def test_keep_rules_leave_rows_out_by_reason(pai_dump: Path, tmp_path: Path) -> None:
    workspace = Workspace.create(tmp_path / "ws")
    report = import_trace(
        "pai2020", pai_dump, workspace, keep=["finished", "known-workload", "positive-duration"]
    )
    count = report.tables["jobs"]
    assert count.kept == 3
    assert count.dropped == {"not completed": 2}
    assert len(workspace.read("jobs")) == 3


def test_an_end_before_its_start_is_a_damaged_row(pai_dump: Path) -> None:
    path = pai_dump / "pai_instance_table.csv"
    path.write_text(path.read_text().replace("120,890", "890,120"))
    with pytest.raises(BadRowsError, match="duration_s is negative"):
        open_trace(pai_dump, source="pai2020")
    assert len(open_trace(pai_dump, source="pai2020", max_bad=0.5).jobs) == 4


def test_a_folder_without_instances_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "readme.txt").write_text("nothing here")
    with pytest.raises(MissingFileError, match="pai_instance_table"):
        open_trace(tmp_path, source="pai2020")


@pytest.mark.data
def test_the_joined_sample_and_the_machine_list_import(shared_data: Path) -> None:
    trace = open_trace(shared_data / "pai", source="pai2020")
    assert len(trace.jobs) == 999
    assert len(trace.nodes) == 1897
    assert trace.nodes["gpus"].sum() == 6742
    assert (trace.jobs["status"] == "completed").all()
    assert trace.jobs["request_cpu_cores"].median() == pytest.approx(6.0)


def test_a_side_table_that_is_looked_up_in_parts_joins_the_same(
    pai_dump: Path, monkeypatch
) -> None:
    with (pai_dump / "pai_sensor_table.csv").open("a", encoding="utf-8") as file:
        file.write("j9,worker,w9,id9,m1,,9,9,1,1,1,1,1,1,1,1\n")
    whole = open_trace(pai_dump, source="pai2020")
    monkeypatch.setattr("prophase.trace.dump._LOOKED_UP", 1)
    parts = open_trace(pai_dump, source="pai2020")
    assert whole.report is not None
    assert parts.report is not None
    assert parts.report.tables == whole.report.tables
    assert parts.report.notes == whole.report.notes
    pd.testing.assert_frame_equal(parts.jobs, whole.jobs)


def test_a_repeated_key_of_two_columns_is_named_by_its_columns(pai_dump: Path) -> None:
    with (pai_dump / "pai_task_table.csv").open("a", encoding="utf-8") as file:
        file.write("j1,worker,2,Terminated,110,900,600,29,50,T4\n")
    with pytest.raises(FanOutError, match="job_name, task_name"):
        open_trace(pai_dump, source="pai2020")


def test_a_row_without_its_key_finds_no_partner_and_is_kept(pai_dump: Path) -> None:
    before = open_trace(pai_dump, source="pai2020").report
    with (pai_dump / "pai_sensor_table.csv").open("a", encoding="utf-8") as file:
        file.write("j1,worker,,id1,m1,,9,9,1,1,1,1,1,1,1,1\n")
    with (pai_dump / "pai_instance_table.csv").open("a", encoding="utf-8") as file:
        file.write("j1,worker,i77,,id1,Terminated,130,800,m1\n")
    after = open_trace(pai_dump, source="pai2020").report
    assert before is not None
    assert after is not None
    assert after.tables["jobs"].kept == before.tables["jobs"].kept + 1
    assert after.tables["jobs"].joined["sensor"] == before.tables["jobs"].joined["sensor"]


def test_orphans_are_counted_right_where_a_worker_runs_twice(pai_dump: Path) -> None:
    instances = pai_dump / "pai_instance_table.csv"
    first = instances.read_text().splitlines()[0]
    instances.write_text(instances.read_text() + first + "\n")
    report = open_trace(pai_dump, source="pai2020").report
    assert report is not None
    assert not [note for note in report.notes if "to no job" in note]


def test_a_large_table_gets_its_identity_while_it_is_written(
    pai_dump: Path, tmp_path: Path, monkeypatch
) -> None:
    def imported(name: str) -> tuple[pd.DataFrame, object, list[str]]:
        workspace = Workspace.create(tmp_path / name)
        report = import_trace("pai2020", pai_dump, workspace)
        jobs = workspace.read("jobs").sort_values("job_id", ignore_index=True)
        return jobs, report.identity, list(jobs.columns)

    plain = imported("plain")
    monkeypatch.setattr("prophase.trace.staged_tables._SORTED_ROWS", 0)
    twice = imported("twice")
    written = []
    monkeypatch.setattr("prophase.trace.engine._PART_BYTES", 16)
    monkeypatch.setattr("prophase.trace.engine._PIECES", 16)
    monkeypatch.setattr(
        "prophase.trace.identity.job_identity._follows",
        lambda *args: written.append(args) or _follows(*args),
    )
    once = imported("once")
    assert written
    assert once[1:] == twice[1:]
    assert once[1] == plain[1]
    for other in (twice, once):
        pd.testing.assert_frame_equal(other[0][plain[2]], plain[0])
