from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """A trace of one task in the columns of the job table."""
    lines = ["job_id,task,submit_s,duration_s,request_cpu_cores,request_memory_gib,memory_peak_gib"]
    lines += [f"j{i},align,{7200 * i},600,2,16,{2 + 0.01 * (i % 9)}" for i in range(200)]
    path = tmp_path / "jobs.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_prove_passes_an_advice_and_writes_its_report(
    prophase_here: Run, history: Path, tmp_path: Path
) -> None:
    (tmp_path / "nodes.csv").write_text("node_id,cpu_cores,memory_gib,gpus\nn1,8,64,0\n")
    told = prophase_here("size", history, "--export", "json")
    (tmp_path / "advice.json").write_text(told.stdout)
    shown = prophase_here(
        "prove", tmp_path / "advice.json", "--workspace", history, "--cluster",
        tmp_path / "nodes.csv", "--seeds", "2", "--report", tmp_path / "proof", "--max-oom", "5%",
    )  # fmt: skip
    assert shown.returncode == 0, shown.stderr
    assert "PASS" in shown.stdout
    assert "mean_wait_s, all jobs" in shown.stdout
    assert {"report.html", "report.md", "report.json"} <= {
        path.name for path in (tmp_path / "proof").iterdir()
    }


def test_prove_says_what_too_few_runs_do_not_show(prophase_here: Run, history: Path) -> None:
    shown = prophase_here("prove", history, "--splits", "3")
    assert shown.returncode == 1
    assert "UNDECIDED: OOM kills in the back-test 0.00 %" in shown.stdout
    assert "more runs are needed" in shown.stdout


def test_prove_fails_with_code_1_where_a_limit_is_broken(prophase_here: Run, history: Path) -> None:
    shown = prophase_here("prove", history, "--min-saving", "95%", "--format", "json")
    assert shown.returncode == 1
    assert json.loads(shown.stdout)["verdict"]["outcome"] == "fail"


def test_prove_asks_for_the_history_of_an_advice(prophase_here: Run, tmp_path: Path) -> None:
    (tmp_path / "advice.json").write_text('{"tasks": [{"task": "align", "advice": 2}]}')
    shown = prophase_here("prove", tmp_path / "advice.json")
    assert shown.returncode == 1
    assert "--workspace" in shown.stderr


def test_prove_says_when_a_node_list_is_not_there(prophase_here: Run, history: Path) -> None:
    shown = prophase_here("prove", history, "--cluster", "no/nodes.csv")
    assert shown.returncode == 2
    assert "no such list of nodes" in shown.stderr
