from __future__ import annotations

from pathlib import Path

import pytest

from prophase.errors import BadRowsError, MissingFileError, ParameterError
from prophase.trace.trace_tables import open_trace

TASKS = (
    "id,submit_utc,submission_time,duration,cpu_count,cpu_capacity,mem_capacity\n"
    "1,2022-10-06 22:00:00,1665093600000,90000,16,33600.0,100000\n"
    "2,2022-10-06 22:01:00,1665093660000,30000,16,33600.0,100000\n"
)


def write(folder: Path, series: str, *, tasks: str = TASKS) -> Path:
    (folder / "tasks.csv").write_text(tasks, encoding="utf-8")
    (folder / "cpu_series.csv").write_text(f"id,cpu_mhz_every_30s\n{series}", encoding="utf-8")
    return folder


def test_a_line_of_values_becomes_one_row_per_value_in_its_place(tmp_path: Path) -> None:
    trace = open_trace(write(tmp_path, "1,0  2100 33600\n2,4200\n"), source="surf-lisa")
    usage = trace.usage
    assert usage["series_id"].tolist() == ["1", "1", "1", "2"]
    assert (usage["time_s"] - 1665093600).tolist() == [30.0, 60.0, 90.0, 90.0]
    assert usage["cpu_cores"].tolist() == [0.0, 1.0, 16.0, 2.0]
    assert trace.jobs["duration_s"].tolist() == [90.0, 30.0]


def test_a_series_without_a_task_and_a_word_among_the_values_are_counted(tmp_path: Path) -> None:
    folder = write(tmp_path, "1,0 2100 many\n9,5 6\n")
    report = open_trace(folder, source="surf-lisa", max_bad=0.5).report
    assert report is not None
    assert report.tables["usage"].dropped == {
        "series without a task": 2,
        "bad row: cpu_mhz_every_30s is not a number": 1,
    }
    with pytest.raises(BadRowsError, match="cpu_mhz_every_30s is not a number"):
        open_trace(folder, source="surf-lisa")


def test_the_month_is_a_side_table_unless_it_is_asked_for(tmp_path: Path) -> None:
    folder = write(tmp_path, "1,5\n")
    (folder / "month_tasks.csv").write_text(
        "id,submit_utc,duration_ms\n7,2022-09-30 22:00:00,1500\n", encoding="utf-8"
    )
    week = open_trace(folder, source="surf-lisa")
    assert set(week.tables) == {"jobs", "usage", "month_tasks"}
    month = open_trace(folder, source="surf-lisa", options={"tasks": "month"})
    assert month.jobs["job_id"].tolist() == ["7"]
    assert month.jobs["duration_s"].tolist() == [1.5]
    assert "usage" not in month.tables
    with pytest.raises(ParameterError, match="week or month"):
        open_trace(folder, source="surf-lisa", options={"tasks": "year"})


def test_a_series_alone_starts_at_zero_and_an_empty_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cpu_series.csv").write_text("id,cpu_mhz_every_30s\n1,5 6\n", encoding="utf-8")
    assert open_trace(tmp_path, source="surf-lisa").usage["time_s"].tolist() == [30.0, 60.0]
    (tmp_path / "cpu_series.csv").write_text("x\n1\n", encoding="utf-8")
    with pytest.raises(MissingFileError, match="no CPU series"):
        open_trace(tmp_path, source="surf-lisa")


@pytest.mark.data
def test_the_real_week_has_the_counts_its_readme_says(shared_data: Path) -> None:
    trace = open_trace(shared_data / "surf-lisa")
    jobs, usage = trace.jobs, trace.usage
    assert trace.source == "surf-lisa"
    assert (len(jobs), len(usage), len(trace.tables["month_tasks"])) == (2651, 1_894_171, 50_381)
    assert usage["cpu_cores"].between(0, 16).all()
    ends = usage.groupby("series_id")["time_s"].max()
    expected = jobs.set_index("job_id")["submit_s"] + jobs.set_index("job_id")["duration_s"]
    assert (ends - expected).abs().max() == 0, "the last sample stands at the end of the task"
