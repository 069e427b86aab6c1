from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.made_demo import SMALL

from prophase import __version__, units
from prophase.cli import demo_data
from prophase.profile.clusters.profiler import WorkloadProfiler
from prophase.result.json_form import read_result
from prophase.result.stored import stored_reports
from prophase.study.study_answers import with_range
from prophase.trace.workspace_paths import PROFILES


def test_the_demo_ends_with_a_report_that_stands_alone_and_a_workspace_to_serve(
    prophase_here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo_data, "QUICK", SMALL)
    done = prophase_here("demo", "d", "--quick", "--seed", "3", "--format", "json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["cannot"] == {}
    assert answer["results"]["lint"]["counts"]["error"] == 0
    assert "10/10" in done.stderr, "every step says where it is and why it matters"
    page = (tmp_path / "d" / "report.html").read_text(encoding="utf-8")
    for title in (
        "Where is the waste?", "What should change?", "What does it save?", "What does it risk?",
        "What does it do to waiting times?", "How sure is that?",
        "Where the waste is", "What to change", "Were predictions right?",
        "What it does to waiting times", "What jobs do while they run", "How far this reaches",
    ):  # fmt: skip
        assert title in page
    assert not re.search(r'(src|href)="https?:', page)
    told = f"<dd>{answer['data_hash']}</dd>", f"prophase {__version__}", "<dt>seed</dt>"
    assert all(words in page for words in told), "data hash, version and seed are on the page"
    _tells_what_the_json_tells(page, answer)
    kinds = WorkloadProfiler.load(tmp_path / "d" / PROFILES).profiles_
    told = {one["profile"]: one["jobs"] for one in answer["results"]["profiles"]["profiles"]}
    assert told == {one.name: one.n for one in kinds if not one.outliers}, "as on the dashboard"
    (held,) = stored_reports(tmp_path / "d")
    report = read_result(held.json)
    assert report.provenance is not None
    assert report.provenance.command.startswith("prophase demo d --quick")
    assert all(data.kind == "synthetic" for data in report.data)
    # a second run replaces the first, keeps what has not changed, and may be looked at
    asked = []
    monkeypatch.setattr("prophase.cli.demo._serve", asked.append)
    again = prophase_here("demo", "d", "--quick", "--seed", "3", "--serve")
    assert again.returncode == 0
    assert asked == [Path("d")]
    assert "Next, your own history" in again.stdout
    assert len(again.stdout.splitlines()) < 25, "the summary fits on one screen"
    models = {path.name for path in (tmp_path / "d" / "models").iterdir()}
    assert {"phases.model", "predictions.model", "profiles.model"} <= models


def _tells_what_the_json_tells(page: str, answer: dict[str, object]) -> None:
    """Hold the numbers of the page against those of the JSON."""
    proof = answer["results"]["proof"]  # type: ignore[index]
    saving, total = proof["saving"], proof["totals"][0]
    assert units.percent(saving["value"]) in page
    if saving["low"] is None:
        assert saving["reason"].startswith("too short to say")
    else:
        assert f"{with_range(saving).replace(' (', ' <small>(')}</small>" in page
    for hours in (total["today"], total["advised"]):
        assert f"{hours:,.0f}" in page
    assert f"{proof['advised_jobs']:,} of {proof['jobs']:,} jobs" in page
    for row in answer["results"]["describe"]["used"]:  # type: ignore[index]
        assert f"{row['used_pct']:.1f}" in page
    shown = [one["value"] for one in answer["answers"]]  # type: ignore[attr-defined]
    assert all(value.split(" (")[0] in page for value in shown)


def test_the_demo_leaves_a_workspace_with_other_tables_alone(prophase_here):
    assert prophase_here("synth", "pai", "--jobs", "50", "--out", "mine").returncode == 0
    before = prophase_here("show", "mine").stdout
    refused = prophase_here("demo", "mine", "--quick")
    assert refused.returncode == 1
    assert "mine: already has jobs from synth-pai" in refused.stderr
    assert prophase_here("show", "mine").stdout == before
