from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from tests.cli.conftest import Run


@pytest.fixture
def history(tmp_path: Path) -> Path:
    lines = ["job_id,task,submit_s,duration_s,request_memory_gib,memory_peak_gib"]
    lines += [f"j{i},{'ab'[i % 2]},{1440 * i},600,16,{2 + i % 3}" for i in range(60)]
    (tmp_path / "jobs.csv").write_text("\n".join(lines) + "\n")
    return tmp_path / "jobs.csv"


def test_next_measure_writes_a_file_that_runs_can_register(
    prophase_here: Run, history: Path, tmp_path: Path
) -> None:
    out = tmp_path / "next" / "scenarios.yaml"
    shown = prophase_here(
        "next", "measure", history, "--out", out, "--dates", "2026-01-05", "--count", "1"
    )
    assert shown.returncode == 0, shown.stderr
    found = yaml.safe_load(out.read_text())
    assert found["dates"] == "2026-01-05"
    assert len(found["scenarios"]) == 1
    assert "prophase runs register" in shown.stdout


def test_next_first_run_answers_for_a_job_nobody_has_run(
    prophase_here: Run, history: Path, tmp_path: Path
) -> None:
    (tmp_path / "job.yaml").write_text("task: new\nrequest_memory_gib: 16\n")
    shown = prophase_here(
        "next", "first-run", tmp_path / "job.yaml", "--workspace", history, "--format", "json"
    )
    assert shown.returncode == 0, shown.stderr
    found = json.loads(shown.stdout)
    assert found["runs_known"] == 0
    assert found["peak_low"] <= found["peak"] <= found["peak_high"]
    text = prophase_here("next", "first-run", tmp_path / "job.yaml", "--workspace", history)
    assert "no run of it is known" in text.stdout
