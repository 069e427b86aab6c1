"""prophase lint, as typed."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

HEADER = "timestamp,duration,num_gpus,gpu_time,cluster\n"


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    rows = (
        f"2017-10-{1 + i // 8:02d} {i % 8:02d}:01:55,{60 + i * 7.5},1,{i},a\n" for i in range(80)
    )
    path = tmp_path / "philly.csv"
    path.write_text(HEADER + "".join(rows))
    return path


def test_a_sound_trace_leaves_with_0_and_says_what_comes_next(prophase_here, dump):
    said = prophase_here("lint", dump)
    assert said.returncode == 0
    assert "0 errors, 0 warnings" in said.stdout
    assert said.stdout.splitlines()[-1] == f"Next: prophase import philly {dump}"


def test_an_error_leaves_with_1_after_its_explanation_and_advice(prophase_here, dump):
    said = prophase_here("lint", dump, "--source", "philly", "--inputs", "queue, duration_s")
    assert said.returncode == 1
    first, *below = said.stdout.splitlines()
    assert first == "error    after-the-fact-input  jobs.duration_s  80 rows (100 %)"
    assert all(line.startswith(" " * 9) for line in below[:3])
    assert "Take it out of the inputs" in said.stdout
    assert said.stdout.splitlines()[-1].startswith("Next: correct the errors")
    assert max(map(len, said.stdout.splitlines())) <= 110


def test_json_holds_findings_what_was_checked_and_the_hash(prophase_here, dump):
    said = prophase_here("lint", dump, "--inputs", "duration_s", "--format", "json")
    assert said.returncode == 1
    report = json.loads(said.stdout)
    assert set(report) == {"findings", "checked", "data_hash", "version"}
    assert report["checked"]["tables"] == {"jobs": 80}
    finding = report["findings"][0]
    assert set(finding) == {"check", "severity", "table", "column", "rows", "share", "where",
                            "explanation", "advice"}  # fmt: skip


def test_csv_has_a_line_per_finding(prophase_here, dump):
    said = prophase_here("lint", dump, "--inputs", "duration_s,wait_s", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(said.stdout)))
    assert [row["column"] for row in rows if row["severity"] == "error"] == ["duration_s", "wait_s"]


def test_a_workspace_is_linted_and_described_next(prophase_here, dump):
    prophase_here("import", "philly", dump, "--workspace", "ws")
    said = prophase_here("lint", "ws")
    assert said.returncode == 0
    assert said.stdout.splitlines()[-1] == "Next: prophase describe ws"


def test_the_other_side_of_a_split_is_compared(prophase_here, dump):
    said = prophase_here("lint", dump, "--test", dump)
    assert said.returncode == 1
    assert "split-shares-jobs" in said.stdout


def test_files_of_no_known_source_are_checked_as_files(prophase_here, tmp_path):
    (tmp_path / "mine.csv").write_text("a,b\n" + "1,2\n" * 9 + "3\n")
    said = prophase_here("lint", "mine.csv")
    assert said.returncode == 1
    assert "row-width" in said.stdout
    assert "Name the source with --source." in said.stdout


def test_asking_wrongly_leaves_with_2(prophase_here, dump):
    assert prophase_here("lint", "nowhere").returncode == 2
    assert prophase_here("lint", dump, "--source", "phily").returncode == 2
    assert prophase_here("lint", dump, "--inputs", "queu").returncode == 2
    assert prophase_here("lint", dump, "--option", "x").returncode == 2


@pytest.mark.parametrize(
    ("train", "test", "said"),
    [
        ("jobs.csv", "usage.csv", "the other side (--test) has no jobs"),
        ("usage.csv", "jobs.csv", "the trace has no jobs"),
        ("usage.csv", "usage.csv", "the trace and the other side (--test) have no jobs"),
    ],
)
def test_a_side_without_jobs_is_not_taken_for_one_without_leakage(
    prophase_here, tmp_path, train, test, said
):
    (tmp_path / "jobs.csv").write_text("job_id,submit_s,duration_s\na,0,1\nb,1,2\n")
    (tmp_path / "usage.csv").write_text("series_id,time_s,cpu_cores\na,0,1\na,1,2\n")
    words = f"Leakage between the sides was not checked: {said}."
    assert words in prophase_here("lint", train, "--test", test).stdout
    report = json.loads(prophase_here("lint", train, "--test", test, "-f", "json").stdout)
    assert report["checked"]["not_checked"] == [words]


def test_two_sides_with_jobs_are_checked(prophase_here, dump):
    said = prophase_here("lint", dump, "--test", dump)
    assert "not checked" not in said.stdout
    assert "split-shares-jobs" in said.stdout


def test_one_of_a_kind_is_counted_in_the_singular(prophase_here, tmp_path):
    (tmp_path / "jobs.csv").write_text("job_id,submit_s,duration_s\na,0,1\n")
    said = prophase_here("lint", "jobs.csv").stdout
    assert "1 row of jobs, 1 file." in said
