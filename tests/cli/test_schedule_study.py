from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Run


def trace(folder: Path) -> Path:
    lines = ["job_id,user,submit_s,duration_s,request_gpus"]
    lines += [f"j{i},{'ab'[i % 2]},{500 * i},{[60, 4000][i % 2]},1" for i in range(300)]
    path = folder / "jobs.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_schedule_study_shows_every_policy_and_writes_a_report(
    prophase_here: Run, tmp_path: Path
) -> None:
    shown = prophase_here(
        "schedule-study", trace(tmp_path), "--cluster", "1x2", "--methods", "user-median",
        "--seeds", "2", "--format", "json", "--report", tmp_path / "out",
    )  # fmt: skip
    assert shown.returncode == 0, shown.stderr
    found = json.loads(shown.stdout)
    assert found["policies"][0]["policy"] == "fifo"
    assert found["findings"][0]["published"] == "-63 to -77 %"
    assert (tmp_path / "out" / "report.html").is_file()


def test_schedule_study_asks_for_a_cluster_and_refuses_unknown_predictors(
    prophase_here: Run, tmp_path: Path
) -> None:
    path = trace(tmp_path)
    shown = prophase_here("schedule-study", path)
    assert shown.returncode == 1
    assert "--cluster" in shown.stderr
    shown = prophase_here("schedule-study", path, "--methods", "userr-median")
    assert shown.returncode == 2
    assert "user-median" in shown.stderr


def test_a_trace_without_a_clock_and_a_cluster_by_its_load(
    prophase_here: Run, tmp_path: Path
) -> None:
    path = trace(tmp_path)
    shown = prophase_here(
        "schedule-study", path, "--cluster", "90%", "--methods", "user-median", "--seeds", "0"
    )
    assert shown.returncode == 0, shown.stderr
    assert "response ratio, predicted by user-median" in shown.stdout
    timeless = tmp_path / "timeless.csv"
    timeless.write_text("job_id,user,duration_s,request_gpus\nj1,a,60,1\nj2,b,60,1\n")
    shown = prophase_here("schedule-study", timeless, "--cluster", "1x2")
    assert shown.returncode == 1
    assert "submit_s" in shown.stderr
