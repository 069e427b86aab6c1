from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.phase.made_series import steps, usage_of

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def usage() -> pd.DataFrame:
    return usage_of({f"s{n}": steps([1.0, 4.0] * 3, 20, seed=n) for n in range(3)})


@pytest.fixture
def series(usage: pd.DataFrame, tmp_path: Path) -> Path:
    """A workspace with a usage table."""
    from prophase.trace.workspace import Workspace

    workspace = Workspace.create(tmp_path / "ws")
    workspace.store_frames({"usage": usage}, source="test", source_hash="0" * 64)
    return tmp_path / "ws"


def test_phases_are_learnt_shown_used_and_expanded(
    prophase_here: Run, series: Path, usage: pd.DataFrame, tmp_path: Path
) -> None:
    done = prophase_here("phase", "fit", series, "--labeller", "samples", "--figures", "drawn")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "drawn" / "transitions.png").stat().st_size > 5_000
    assert (tmp_path / "drawn" / "phases-0.png").stat().st_size > 5_000
    shown = json.loads(prophase_here("phase", "show", series, "--format", "json").stdout)
    assert shown["phases"] == 2
    one = prophase_here("phase", "show", series, "1")
    assert "Followed by: phase 0 100 %" in one.stdout
    labelled = prophase_here("phase", "label", series, series, "--out", "labels.csv")
    assert labelled.returncode == 0, labelled.stderr
    assert pd.read_csv(tmp_path / "labels.csv")["phase"].nunique() == 2
    usage.to_csv(tmp_path / "live.csv", index=False)
    changes = prophase_here("phase", "label", series, "live.csv", "--changes", "--format", "json")
    lines = [json.loads(line) for line in changes.stdout.splitlines()]
    assert len([line for line in lines if line["series_id"] == "s0"]) >= 6
    text = prophase_here("phase", "label", series, "live.csv", "--changes").stdout
    assert "phase 0 -> 1  next 0 (100 %)" in text


def test_a_split_is_proposed_and_made(
    prophase_here: Run, series: Path, usage: pd.DataFrame, tmp_path: Path
) -> None:
    from prophase.trace.workspace import Workspace

    other = Workspace.create(tmp_path / "other")
    strange = usage_of({"new": steps([4.0, 40.0], 30, seed=8)})
    other.store_frames({"usage": strange}, source="test", source_hash="1" * 64)
    prophase_here("phase", "fit", series, "--labeller", "samples", "--phases", "2")
    dry = prophase_here("phase", "expand", series, "other", "--dry-run")
    assert "phase 1 takes 30 of 30 new samples" in dry.stdout
    done = prophase_here("phase", "expand", series, "other", "--format", "json")
    assert json.loads(done.stdout)["added"] == [2]


def test_a_sweep_prints_a_row_per_trial(prophase_here: Run, series: Path) -> None:
    done = prophase_here(
        "phase", "sweep", series, "--labellers", "samples", "--phases", "1,2", "-f", "json"
    )
    assert [row["phases"] for row in json.loads(done.stdout)] == [2, 1]


def test_questions_that_cannot_be_answered_leave_with_two(
    prophase_here: Run, series: Path, tmp_path: Path
) -> None:
    for arguments, words in (
        (["phase", "show", series], "has no phases yet"),
        (["phase", "fit", tmp_path / "x.csv"], "Name a file"),
        (["phase", "fit", series, "--labeller", "hmmm"], "Did you mean 'hmm'"),
        (["phase", "sweep", series, "--phases", "many"], "write 2-6"),
    ):
        done = prophase_here(*arguments)
        assert done.returncode == 2, done.stdout
        assert words in done.stderr
    prophase_here("phase", "fit", series, "--labeller", "samples", "--phases", "2")
    for arguments, words in (
        (["phase", "label", series], "say what to label"),
        (["phase", "label", series, "--prometheus", "http://127.0.0.1:1"], "give a --query for"),
        (["phase", "show", series, "7"], "there is no phase 7"),
    ):
        done = prophase_here(*arguments)
        assert done.returncode == 2, done.stdout
        assert words in done.stderr


def test_constant_series_leave_with_one_and_a_reason(prophase_here: Run, tmp_path: Path) -> None:
    from prophase.trace.workspace import Workspace

    flat = Workspace.create(tmp_path / "flat")
    usage = usage_of({"a": np.ones((30, 2))})
    flat.store_frames({"usage": usage}, source="test", source_hash="2" * 64)
    done = prophase_here("phase", "fit", "flat")
    assert done.returncode == 1
    assert "no phases to find" in done.stderr


def test_rows_that_do_not_fit_the_header_are_left_out_and_told(
    prophase_here: Run, tmp_path: Path
) -> None:
    rows = [f"a,{30 * place},{place // 60 * 3 + place % 2}" for place in range(120)]
    rows.insert(60, "a,1800,1,7,8")
    (tmp_path / "ragged.csv").write_text("series_id,time_s,cpu_cores\n" + "\n".join(rows) + "\n")
    done = prophase_here(
        "phase", "fit", "ragged.csv", "--out", "p.model", "--labeller", "samples", "--phases", "2"
    )
    assert done.returncode == 0, done.stderr
    assert "ragged.csv: 1 row was left out: bad row: wrong number of fields." in done.stderr
    (tmp_path / "worse.csv").write_text("series_id,time_s,cpu_cores\n" + "a,1,2,3\n" * 40)
    done = prophase_here("phase", "fit", "worse.csv", "--out", "q.model")
    assert done.returncode == 1
    assert "number of fields" in done.stderr
