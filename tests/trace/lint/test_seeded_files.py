"""Defects of files: found before a reader drops or sorts the rows."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from prophase.errors import MissingFileError, ParameterError
from prophase.trace import Workspace, import_trace
from prophase.trace.lint.linter import LintReport, lint

PHILLY = "timestamp,duration,num_gpus,gpu_time,cluster"


def philly_rows(count: int = 300, *, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    submit = pd.Timestamp("2017-10-01") + pd.to_timedelta(
        np.cumsum(rng.integers(1, 900, count)), "s"
    )
    duration = np.round(np.exp(rng.normal(7, 1.5, count)), 3) + 1
    gpus = rng.choice([1, 2, 4, 8], count)
    return [
        f"{when:%Y-%m-%d %H:%M:%S},{run},{n},{run * n:.3f},vc{n % 3}"
        for when, run, n in zip(submit, duration, gpus, strict=True)
    ]


def write(path: Path, header: str, rows: Sequence[str], *, end: str = "\n") -> Path:
    path.write_text("\n".join([header, *rows]) + end)
    return path


def found(report: LintReport) -> dict[str, str]:
    return {f.check: f.severity for f in report.findings if f.severity != "info"}


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    return write(tmp_path / "philly.csv", PHILLY, philly_rows())


def test_a_sound_file_gives_no_finding_above_info(dump):
    report = lint(dump, source="philly")
    assert found(report) == {}
    assert report.checked["tables"] == {"jobs": 300}
    assert report.checked["files"] == {"philly.csv": 300}
    assert len(report.data_hash) == 64


def test_the_source_is_recognised_by_its_columns(dump):
    assert lint(dump).checked["source"] == "philly"


def test_a_gzip_that_was_cut_is_an_error(dump, tmp_path):
    whole = gzip.compress(dump.read_bytes())
    cut = tmp_path / "cut" / "philly.csv.gz"
    cut.parent.mkdir()
    cut.write_bytes(whole[: len(whole) // 2])
    report = lint(cut, source="philly")
    assert found(report) == {"truncated-file": "error"}
    assert "end too early" in report.findings[0].explanation
    assert len(report.data_hash) == 64


def test_a_last_line_that_was_cut_is_an_error(tmp_path):
    rows = philly_rows()
    rows[-1] = rows[-1][:25]
    report = lint(write(tmp_path / "philly.csv", PHILLY, rows, end=""), source="philly")
    assert found(report) == {"truncated-file": "error"}


def test_a_last_line_without_newline_is_only_a_remark(tmp_path):
    report = lint(write(tmp_path / "philly.csv", PHILLY, philly_rows(), end=""), source="philly")
    assert found(report) == {}
    assert "truncated-file" in {f.check for f in report.findings}


def test_a_few_rows_of_another_width_are_a_warning_with_their_lines(tmp_path):
    rows = philly_rows()
    rows[41] += ",extra"
    rows[99] = rows[99].replace(",vc", "")
    report = lint(write(tmp_path / "philly.csv", PHILLY, rows), source="philly")
    odd = next(f for f in report.findings if f.check == "row-width")
    assert (odd.severity, odd.rows) == ("warning", 2)
    assert odd.where == ("line 43 (6 fields)", "line 101 (4 fields)")


def test_many_rows_of_another_width_are_an_error(tmp_path):
    rows = [row + ",x" * (i % 10 == 0) for i, row in enumerate(philly_rows())]
    report = lint(write(tmp_path / "philly.csv", PHILLY, rows), source="philly")
    assert found(report)["row-width"] == "error"


def test_a_header_that_lacks_the_row_number_is_a_warning(tmp_path):
    rows = [f"{i},{row}" for i, row in enumerate(philly_rows())]
    report = lint(write(tmp_path / "mine.csv", PHILLY, rows))
    assert found(report)["header-width"] == "warning"


def test_a_header_with_too_many_names_is_an_error(tmp_path):
    path = write(tmp_path / "mine.csv", "a,b," + PHILLY.replace("cluster", "vc"), philly_rows())
    assert found(lint(path))["header-width"] == "error"


def test_separators_and_newlines_inside_quotes_are_no_defect(tmp_path):
    rows = [f'{i},"a, b\nc ""{i}""",{i * 3}' for i in range(100)]
    assert found(lint(write(tmp_path / "notes.csv", "id,text,value", rows))) == {}


def test_negative_durations_that_the_import_left_out_are_counted(tmp_path):
    rows = philly_rows()
    rows[5] = rows[5].replace(",", ",-", 1)
    report = lint(write(tmp_path / "philly.csv", PHILLY, rows), source="philly")
    assert found(report) == {"negative-duration": "warning"}
    assert report.findings[0].rows == 1


def test_many_damaged_rows_are_an_error_not_a_refusal(tmp_path):
    rows = [row.replace(",", ",x", 1) if i % 5 == 0 else row for i, row in enumerate(philly_rows())]
    report = lint(write(tmp_path / "philly.csv", PHILLY, rows), source="philly")
    damaged = next(f for f in report.findings if f.check == "damaged-rows")
    assert (damaged.severity, damaged.rows) == ("error", 60)
    assert "duration is not a number" in damaged.explanation


def test_a_trace_that_the_reader_refuses_is_an_error_with_its_words(tmp_path):
    path = write(tmp_path / "philly.csv", "timestamp,duration,cluster", ["2017-10-01,3,a"] * 3)
    report = lint(path, source="philly")
    assert found(report) == {"unreadable": "error"}
    assert "num_gpus" in report.findings[0].explanation


def test_a_clock_that_is_set_back_inside_a_file_is_a_warning(tmp_path):
    times = [1000 + 30 * i for i in range(500)]
    times[300:] = [time - 3600 for time in times[300:]]
    rows = [f"pod{i % 4},{time},{i % 7}" for i, time in enumerate(times)]
    report = lint(write(tmp_path / "samples.csv", "pod_id,timestamp,value", rows))
    back = next(f for f in report.findings if f.check == "time-goes-back")
    assert (back.severity, back.rows, back.where[0]) == ("warning", 1, "line 302")


def test_a_file_in_no_time_order_is_a_remark(tmp_path):
    rows = list(np.random.default_rng(0).permutation(philly_rows()))
    report = lint(write(tmp_path / "philly.csv", PHILLY, rows), source="philly")
    assert found(report) == {}
    assert "time-goes-back" in {f.check for f in report.findings}


def test_a_key_that_repeats_in_two_files_warns_of_the_join(tmp_path):
    workers = [f"job{i // 4},worker{i},{i * 10}" for i in range(200)]
    sensors = [f"job{i // 4},{i * 0.5}" for i in range(200)]
    write(tmp_path / "instances.csv", "inst_id,worker,started", workers)
    write(tmp_path / "sensors.csv", "inst_id,cpu", sensors)
    report = lint(tmp_path)
    join = next(f for f in report.findings if f.check == "fan-out-join")
    assert (join.severity, join.column, join.rows) == ("warning", "inst_id", 800)
    assert "4.0 times" in join.explanation


def test_a_key_that_is_unique_on_one_side_does_not_warn(tmp_path):
    write(tmp_path / "jobs.csv", "job_id,user", [f"job{i},u" for i in range(50)])
    write(tmp_path / "tasks.csv", "job_id,n", [f"job{i // 4},{i}" for i in range(200)])
    assert "fan-out-join" not in {f.check for f in lint(tmp_path).findings}


def test_a_raw_dump_whose_task_table_repeats_its_key_is_an_error(tmp_path):
    instances = [f"j{i},worker,i{i},w{i},x{i},Terminated,{100 + i},{200 + i},m0" for i in range(40)]
    tasks = [f"j{i},worker,1,Terminated,{100 + i},{200 + i},600,29,100,T4" for i in range(40)]
    (tmp_path / "pai_instance_table.csv").write_text("\n".join(instances) + "\n")
    (tmp_path / "pai_task_table.csv").write_text("\n".join([*tasks, *tasks[:5]]) + "\n")
    report = lint(tmp_path, source="pai2020")
    assert found(report)["fan-out-join"] == "error"
    join = next(f for f in report.findings if f.check == "fan-out-join")
    assert "job_name, task_name" in join.explanation


def test_files_that_no_reader_knows_are_still_checked_as_files(tmp_path):
    rows = ["1,2,3"] * 50 + ["1,2"]
    report = lint(write(tmp_path / "odd.csv", "a,b,c", rows))
    assert found(report) == {"row-width": "error"}
    assert report.checked["source"] == ""


def test_an_error_in_percent_that_is_a_ratio_is_seen_in_the_raw_file(tmp_path):
    rng = np.random.default_rng(0)
    ratio = np.where(rng.random(500) < 0.5, 1 - np.exp(-rng.exponential(3, 500)),
                     rng.exponential(5, 500))  # fmt: skip
    path = write(
        tmp_path / "errors.csv", "row,rmse_perc", [f"{i},{x}" for i, x in enumerate(ratio)]
    )
    assert found(lint(path)) == {"ratio-as-percent": "warning"}
    percent = write(
        tmp_path / "percent.csv", "row,rmse_perc", [f"{i},{100 * x}" for i, x in enumerate(ratio)]
    )
    assert found(lint(percent)) == {}


def test_what_an_import_left_out_is_remembered_by_the_workspace(tmp_path):
    rows = philly_rows()
    rows[5] = rows[5].replace(",", ",-", 1)
    dump = write(tmp_path / "philly.csv", PHILLY, rows)
    workspace = Workspace.create(tmp_path / "ws")
    import_trace("philly", dump, workspace)
    report = lint(workspace.folder)
    assert found(report) == {"negative-duration": "warning"}
    assert report.data_hash == workspace.tables["jobs"].source_hash


def test_the_inputs_of_a_workspace_come_from_its_settings(tmp_path, dump):
    workspace = Workspace.create(tmp_path / "ws")
    import_trace("philly", dump, workspace)
    settings = workspace.folder / "prophase.toml"
    settings.write_text('[inputs]\ncolumns = ["queue", "duration_s"]\n')
    assert found(lint(workspace.folder)) == {"after-the-fact-input": "error"}
    assert found(lint(workspace.folder, inputs=["queue"])) == {}
    settings.write_text("[inputs]\ncolumns = 3\n")
    with pytest.raises(ParameterError, match="columns = "):
        lint(workspace.folder)


def test_a_test_file_that_repeats_training_jobs_is_an_error(tmp_path, dump):
    rows = philly_rows()
    later = [row.replace("2017-", "2018-") for row in philly_rows(50, seed=1)]
    test = write(tmp_path / "test.csv", PHILLY, [*rows[:20], *later])
    report = lint(dump, source="philly", test=test)
    shared = next(f for f in report.findings if f.check == "split-shares-jobs")
    assert (shared.severity, shared.rows) == ("error", 20)


def test_nothing_at_the_path_is_the_users_mistake(tmp_path):
    with pytest.raises(MissingFileError):
        lint(tmp_path / "nowhere")
    (tmp_path / "notes.md").write_text("hello\n")
    with pytest.raises(MissingFileError, match="--source"):
        lint(tmp_path)
