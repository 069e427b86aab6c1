from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Run

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
    added = prophase_here("ledger", "add", advice, "--history", history, "--ledger", book)
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


def test_a_missing_ledger_says_how_to_begin_one(prophase_here: Run, tmp_path: Path) -> None:
    shown = prophase_here("ledger", "show", tmp_path / "none.db")
    assert shown.returncode == 2
    assert "prophase ledger add" in shown.stderr
