from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Run

from prophase.study.feedback.store import FeedbackStore

HEAD = "job_id,task,submit_s,duration_s,request_memory_gib,memory_peak_gib,status"


def write(path: Path, rows: list[str]) -> Path:
    path.write_text("\n".join([HEAD, *rows]) + "\n")
    return path


def test_an_advice_is_kept_settled_and_shown(prophase_here: Run, tmp_path: Path) -> None:
    history = write(
        tmp_path / "before.csv", [f"a{i},align,{i},3600,16,2,completed" for i in range(30)]
    )
    after = write(
        tmp_path / "after.csv",
        [f"b{i},align,{100 + i},3600,4,2,completed" for i in range(3)]
        + ["c,align,200,3600,4,4,oom"],
    )
    advice = tmp_path / "advice.json"
    advice.write_text('{"tasks": [{"task": "align", "advice": 4, "saving_pct": 75}]}')
    book = tmp_path / "ledger.db"
    added = prophase_here("ledger", "add", advice, "--workspace", history, "--ledger", book)
    assert added.returncode == 0, added.stderr
    settled = prophase_here("ledger", "settle", after, "--ledger", book, "--format", "json")
    assert settled.returncode == 0, settled.stderr
    found = json.loads(settled.stdout)
    assert found["reconciles"] is True
    assert found["advices"][0]["saved_h"] == 3 * 12 - 4
    assert found["advices"][0]["predicted_h"] == 3 * 12
    shown = prophase_here("ledger", "show", book, "--advice", "1")
    assert "align" in shown.stdout
    assert "add up exactly" in shown.stdout


def test_a_recommendation_that_lost_money_is_named_with_what_it_lost(
    prophase_here: Run, tmp_path: Path
) -> None:
    history = write(tmp_path / "before.csv", ["a,align,0,3600,16,2,completed"])
    after = write(
        tmp_path / "after.csv",
        ["b,align,100,3600,15,2,completed", "c,align,200,3600,15,15,oom"],
    )
    advice, book = tmp_path / "advice.json", tmp_path / "ledger.db"
    advice.write_text('{"tasks": [{"task": "align", "advice": 15, "saving_pct": 6}]}')
    prices = tmp_path / "prices.toml"
    prices.write_text('currency = "EUR"\ngib_hour = 0.5\n')
    prophase_here("ledger", "add", advice, "--workspace", history, "--ledger", book)
    shown = prophase_here("ledger", "settle", after, "--ledger", book, "--prices", prices)
    said = " ".join(shown.stdout.split())
    assert "Recommendation 1 lost more than it saved: advice.json (-14.00 GiB h, -7.00 EUR)" in said
    assert "Recommendation 1 lost with: align (-14.00 GiB h, -7.00 EUR)" in said


def test_a_missing_ledger_says_how_to_begin_one(prophase_here: Run, tmp_path: Path) -> None:
    shown = prophase_here("ledger", "show", tmp_path / "none.db")
    assert shown.returncode == 2
    assert "prophase ledger add" in shown.stderr


def test_jobs_reported_to_the_service_are_settled_with_the_workspace(
    prophase_here: Run, tmp_path: Path
) -> None:
    history = write(
        tmp_path / "before.csv", [f"a{i},align,{i},3600,16,2,completed" for i in range(30)]
    )
    workspace = tmp_path / "ws"
    done = prophase_here("import", "csv", history, "--workspace", workspace)
    assert done.returncode == 0, done.stderr
    advice = tmp_path / "advice.json"
    advice.write_text('{"tasks": [{"task": "align", "advice": 4, "saving_pct": 75}]}')
    assert prophase_here("ledger", "add", advice, "--workspace", workspace).returncode == 0
    store = FeedbackStore(workspace)
    told = {"task": "align", "duration_s": 3600.0, "request_memory_gib": 4.0}
    reports = [
        {**told, "job_id": "r1", "submit_s": 100.0, "status": "completed"},
        {**told, "job_id": "r2", "status": "completed"},
        {**told, "job_id": "r3", "submit_s": 102.0, "status": "oom"},
        # the history has it already
        {**told, "job_id": "a3", "status": "completed"},
    ]
    store.add(reports, "ci")
    store.close()
    for _ in range(2):
        settled = prophase_here("ledger", "settle", workspace, "--format", "json")
        assert settled.returncode == 0, settled.stderr
        found = json.loads(settled.stdout)
        assert found["reconciles"] is True
        assert (found["advices"][0]["followed"], found["advices"][0]["killed"]) == (2, 1)
        assert found["advices"][0]["saved_h"] == 2 * 12 - 4


def test_reports_that_cannot_be_read_say_what_to_do(prophase_here: Run, tmp_path: Path) -> None:
    workspace = tmp_path / "ws"
    history = write(tmp_path / "jobs.csv", ["a,align,0,3600,16,2,completed"])
    assert prophase_here("import", "csv", history, "--workspace", workspace).returncode == 0
    (workspace / "service").mkdir()
    (workspace / "service" / "feedback.sqlite").write_text("no database\n" * 99)
    settled = prophase_here("ledger", "settle", workspace)
    assert settled.returncode == 1
    assert "reported to the service cannot be read" in settled.stderr
