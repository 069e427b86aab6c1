from __future__ import annotations

from pathlib import Path

import pytest

from prophase.study.pipeline import StepFailedError, StudyResult, run_study
from prophase.study.plan import StudyPlan

#: a trace whose columns have names of their own
FOREIGN = "Job,Owner,Process,submit_time,elapsed,mem_req_mb,max_rss_mb\n"


def foreign_row(number: int) -> str:
    at = f"2026-01-{1 + number // 24:02d} {number % 24:02d}:00:00"
    return f"j{number},ann,align,{at},600,16384,{2048 + number % 9}\n"


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    path = tmp_path / "jobs.csv"
    path.write_text(FOREIGN + "".join(foreign_row(number) for number in range(60)))
    return path


def study(path: Path, out: Path, **settings: object) -> StudyResult:
    plan = StudyPlan(str(path), steps=("lint",)).changed(**settings)
    return run_study(plan, out=out)


def jobs_of(found: StudyResult) -> dict[str, float]:
    from prophase.trace.trace_tables import open_trace

    first = open_trace(found.workspace).jobs.iloc[0]
    return {name: float(first[name]) for name in ("duration_s", "request_memory_gib")}


def test_columns_with_names_of_their_own_are_guessed_and_the_report_says_so(
    foreign: Path, tmp_path: Path
) -> None:
    found = study(foreign, tmp_path / "ws")
    expected = {"duration_s": 600.0, "request_memory_gib": 16.0}
    assert jobs_of(found) == pytest.approx(expected)
    said = next(one for one in found.report.limits if "guessed" in one)
    assert "unsure: duration_s (no unit in the name; seconds are usual)" in said
    assert str(tmp_path / "ws" / "mapping.toml") in said


def test_a_guess_that_was_corrected_is_used(foreign: Path, tmp_path: Path) -> None:
    study(foreign, tmp_path / "ws")
    mapping = tmp_path / "ws" / "mapping.toml"
    mapping.write_text(mapping.read_text().replace('unit = "MiB"', 'unit = "MB"'))
    found = study(foreign, tmp_path / "ws")
    assert found.steps[0].state == "done"
    assert jobs_of(found)["request_memory_gib"] == pytest.approx(16384e6 / 2**30)


def test_a_guess_follows_the_file_while_nobody_corrected_it(foreign: Path, tmp_path: Path) -> None:
    study(foreign, tmp_path / "ws")
    foreign.write_text(foreign.read_text().replace("mem_req_mb", "mem_req_gb"))
    assert jobs_of(study(foreign, tmp_path / "ws"))["request_memory_gib"] > 15_000


def test_times_as_text_under_our_names_are_understood(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    rows = [f"j{n},2026-01-01T{n:02d}:00:00+01:00,60,4\n" for n in range(20)]
    path.write_text("job_id,submit_s,duration_s,request_memory_gib\n" + "".join(rows))
    assert jobs_of(study(path, tmp_path / "ws"))["duration_s"] == 60.0


def test_names_that_tell_nothing_are_refused_with_what_to_type(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_text("A,B,C\n1,2,3\n4,5,6\n")
    with pytest.raises(StepFailedError, match=r"--guess > mapping.toml.*--map mapping.toml"):
        study(path, tmp_path / "ws")
    assert not (tmp_path / "ws").exists()


def test_rows_that_were_left_out_are_told_in_the_report(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    rows = [f"j{n},{60 * n},{-5 if n == 7 else 60}\n" for n in range(200)]
    path.write_text("job_id,submit_s,duration_s\n" + "".join(rows))
    found = study(path, tmp_path / "ws")
    assert any("1 rows of jobs left out" in said for said in found.report.limits)
