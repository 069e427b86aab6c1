from __future__ import annotations

import json

from prophase.errors import MissingExtraError


def test_the_demo_ends_with_a_report_that_stands_alone(prophase, tmp_path):
    done = prophase("demo", "d", "--quick", "--format", "json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["lint"]["errors"] == 0
    waits = {(row["queue"], row["order"]): row["mean_wait_s"] for row in answer["replay"]}
    assert waits["skip", "shortest"] < waits["skip", "fifo"] < waits["strict", "fifo"]
    assert waits["skip", "shortest"] < waits["skip", "shortest predicted"] < waits["skip", "fifo"]
    scores = {row["method"]: row for row in answer["predictions"]}
    assert scores["default"]["r2_log"] > scores["backoff-median"]["r2_log"]
    assert 85 < scores["default"]["coverage_90_pct"] < 95
    page = (tmp_path / "d" / "report.html").read_text(encoding="utf-8")
    assert "How long jobs will run" in page
    assert "What other queue orders would do" in page
    assert "http://" not in page.replace("http://www.w3.org", "")


def test_the_demo_leaves_a_workspace_with_other_tables_alone(prophase):
    assert prophase("synth", "pai", "--jobs", "50", "--out", "mine").returncode == 0
    before = prophase("show", "mine").stdout
    refused = prophase("demo", "mine", "--quick")
    assert refused.returncode == 1
    assert "mine: already has jobs from synth-pai" in refused.stderr
    assert prophase("show", "mine").stdout == before


def test_without_the_learning_libraries_the_demo_leaves_these_steps_out(prophase_here, monkeypatch):
    def missing(*_: object) -> None:
        raise MissingExtraError("profiles", "learn")

    monkeypatch.setattr("prophase.cli.demo_steps.group_jobs", missing)
    # a second run replaces the first
    for seed in ("0", "1"):
        done = prophase_here("demo", "d", "--quick", "--seed", seed, "--format", "json")
        assert done.returncode == 0, done.stderr
    assert "left out: " in done.stderr
    answer = json.loads(done.stdout)
    assert answer["predictions"] == answer["profiles"] == []
    assert "shortest predicted" not in {row["order"] for row in answer["replay"]}
