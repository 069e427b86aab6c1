from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from prophase.cli import demo_data
from prophase.cli.demo_data import Size
from prophase.study.report import read_report, stored_reports

SMALL = Size(
    2_000, 2.0, 1.0, 4, 100,
    {"seeds": 2, "splits": 2, "targets": ("duration_s",), "methods": ("backoff-median",),
     "steps": ("lint", "describe", "predictions", "sizing", "proof")},
)  # fmt: skip


def test_the_demo_ends_with_a_report_that_stands_alone(prophase_here, tmp_path, monkeypatch):
    monkeypatch.setattr(demo_data, "QUICK", SMALL)
    done = prophase_here("demo", "d", "--quick", "--format", "json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["cannot"] == {}
    assert answer["results"]["lint"]["counts"]["error"] == 0
    assert "9/9" in done.stderr, "every step says where it is and why it matters"
    page = (tmp_path / "d" / "report.html").read_text(encoding="utf-8")
    for title in (
        "Where the waste is", "What to change", "Were predictions kept?",
        "What it does to waiting times", "What jobs do while they run", "How far this reaches",
    ):  # fmt: skip
        assert title in page
    assert not re.search(r'(src|href)="https?:', page)
    (held,) = stored_reports(tmp_path / "d")
    report = read_report(held.json)
    assert report.reproduce is not None
    assert report.reproduce.command.startswith("prophase demo d --quick")
    assert all(data.kind == "synthetic" for data in report.data)
    # a second run replaces the first, and keeps what has not changed
    again = prophase_here("demo", "d", "--quick")
    assert again.returncode == 0
    assert "Next, your own history" in again.stdout
    assert len(again.stdout.splitlines()) < 25, "the summary fits on one screen"


def test_the_demo_leaves_a_workspace_with_other_tables_alone(prophase_here):
    assert prophase_here("synth", "pai", "--jobs", "50", "--out", "mine").returncode == 0
    before = prophase_here("show", "mine").stdout
    refused = prophase_here("demo", "mine", "--quick")
    assert refused.returncode == 1
    assert "mine: already has jobs from synth-pai" in refused.stderr
    assert prophase_here("show", "mine").stdout == before


def test_serving_the_demo_starts_the_dashboard_on_a_workspace_with_models(
    prophase_here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    least = replace(SMALL, jobs=300, plan={"steps": ("lint",)})
    monkeypatch.setattr(demo_data, "QUICK", least)
    asked = []
    monkeypatch.setattr("prophase.cli.demo._serve", asked.append)
    done = prophase_here("demo", "d", "--quick", "--serve")
    assert done.returncode == 0, done.stderr
    assert asked == [Path("d")]
    models = {path.name for path in (tmp_path / "d" / "models").iterdir()}
    assert {"phases.model", "predictions.model", "profiles.model"} <= models
