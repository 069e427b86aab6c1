from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run

from prophase.errors import StorageError


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    lines = ["job_id,task,submit_s,duration_s,request_cpu_cores,request_memory_gib,memory_peak_gib"]
    lines += [f"j{i},align,{7200 * i},600,2,16,{2 + 0.01 * (i % 9)}" for i in range(120)]
    (tmp_path / "jobs.csv").write_text("\n".join(lines) + "\n")
    return tmp_path / "jobs.csv"


def test_study_runs_a_plan_keeps_its_steps_and_names_the_report(
    prophase_here: Run, trace: Path, tmp_path: Path
) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'trace = "jobs.csv"\ncluster = "1x0 8c 64g"\nsteps = ["lint", "sizing", "proof"]\n'
        'seeds = 2\nsplits = 3\n[limits]\nmin_saving = "50%"\nmax_oom = "10%"\n'
    )
    first = prophase_here("study", plan, "--out", tmp_path / "ws")
    assert first.returncode == 0, first.stderr
    assert "4/4  proof" in first.stderr
    assert "PASS" in first.stdout
    assert (tmp_path / "ws" / "reports" / "study" / "report.html").is_file()
    again = prophase_here("study", plan, "--out", tmp_path / "ws", "--format", "json")
    assert again.stderr.count("kept from an earlier run") == 4
    assert {one["state"] for one in json.loads(again.stdout)["steps"]} == {"kept"}


def test_study_without_a_workspace_or_with_an_unknown_step_says_what_to_type(
    prophase_here: Run, trace: Path
) -> None:
    shown = prophase_here("study")
    assert shown.returncode == 1
    assert "prophase study trace.csv" in shown.stderr
    shown = prophase_here("study", trace, "--steps", "prof")
    assert shown.returncode == 2
    assert "proof" in shown.stderr


def test_study_writes_a_plan_with_every_setting_that_runs(
    prophase_here: Run, trace: Path, tmp_path: Path
) -> None:
    (tmp_path / "plans").mkdir()
    plan = tmp_path / "plans" / "plan.toml"
    written = prophase_here("study", trace.name, "--steps", "lint", "--write-plan", plan)
    assert written.returncode == 0, written.stderr
    assert "min_saving = 0.0" in plan.read_text()
    shown = prophase_here("study", plan, "--out", tmp_path / "ws")
    assert shown.returncode == 0, shown.stderr
    again = prophase_here("study", trace.name, "--write-plan", plan)
    assert "is there already" in again.stderr


def test_a_report_that_finds_no_space_says_that_the_steps_are_kept(
    prophase_here: Run, trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from prophase.plots import result_files

    def full(*_: object) -> None:
        raise StorageError("report.html: no space left on the device. Free some space.")

    monkeypatch.setattr(result_files, "write_report", full)
    shown = prophase_here("study", trace, "--steps", "lint", "--out", tmp_path / "ws")
    assert shown.returncode == 1
    assert "step report (the last) failed: report.html: no space left" in shown.stderr
    assert "Finished steps are kept: import, lint." in shown.stderr


def test_an_interrupted_study_says_that_it_goes_on(
    prophase_here: Run, trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from prophase.study import pipeline

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(pipeline, "run_study", interrupted)
    shown = prophase_here("study", trace)
    assert shown.returncode == 130
    assert "Run the same command again to resume" in shown.stderr
