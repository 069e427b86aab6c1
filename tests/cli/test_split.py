from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from prophase.trace.workspace import Workspace

MIDNIGHT = 1_509_494_400.0  # 2017-11-01 in UTC


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """100 jobs, one a minute from an hour before midnight; every tenth runs for a day."""
    submit = MIDNIGHT - 3600 + 60 * np.arange(100.0)
    run = np.where(np.arange(100) % 10 == 9, 86_400.0, 30.0)
    jobs = pd.DataFrame(
        {
            "job_id": [f"j{n}" for n in range(100)],
            "parent_id": [f"p{n // 4}" for n in range(100)],
            "submit_s": submit,
            "start_s": submit,
            "end_s": submit + run,
        }
    )
    Workspace.create(tmp_path / "ws").store_frames(
        {"jobs": jobs, "nodes": pd.DataFrame({"node_id": ["n1"]})},
        source="philly",
        source_hash="abc",
        clock="unix",
    )
    return tmp_path / "ws"


def counts(done) -> dict[str, object]:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["splits"][0]


def test_a_date_cuts_between_what_had_ended_and_what_came_later(prophase_here, workspace):
    found = counts(prophase_here("split", workspace, "--cut", "2017-11-01", "--format", "json"))
    assert (found["train"], found["test"], found["left_out"]) == (54, 40, 6)


def test_seconds_cut_as_a_date_does(prophase_here, workspace):
    found = counts(prophase_here("split", workspace, "--cut", str(MIDNIGHT), "--format", "json"))
    assert found["test"] == 40


def test_the_sides_are_written_with_what_was_left_out_told(prophase_here, workspace):
    out = workspace.parent / "parts"
    done = prophase_here("split", workspace, "--test-share", "40%", "--out", out)
    assert done.returncode == 0, done.stderr
    assert "6 rows arrived before the cut and had not ended by then." in done.stdout
    train, test = (Workspace(out / side) for side in ("train", "test"))
    assert len(train.read("jobs")) == 54
    assert test.read("jobs")["submit_s"].min() >= MIDNIGHT
    assert train.read("jobs")["end_s"].max() < MIDNIGHT
    assert set(test.tables) == {"jobs", "nodes"}


def test_a_job_split_keeps_parents_together(prophase_here, workspace):
    out = workspace.parent / "parts"
    done = prophase_here("split", workspace, "--split", "job", "--seed", "5", "--out", out)
    assert done.returncode == 0, done.stderr
    train, test = (Workspace(out / side).read("jobs") for side in ("train", "test"))
    assert not set(train["parent_id"]) & set(test["parent_id"])
    assert len(test) == 20


def test_folds_are_counted_one_by_one(prophase_here, workspace):
    done = prophase_here("split", workspace, "--folds", "3", "--format", "json")
    assert done.returncode == 0, done.stderr
    assert [fold["test"] for fold in json.loads(done.stdout)["splits"]] == [25, 25, 25]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--split", "job", "--cut", "5"), "go with --split time"),
        (("--folds", "3", "--cut", "5"), "neither --cut nor --out"),
        (("--cut", "tomorrow"), "a date such as"),
        (("--test-share", "20"), "is not a share"),
        (("--cut", "5"), "train side empty"),
    ],
)
def test_what_does_not_fit_together_is_asked_wrongly(prophase_here, workspace, arguments, words):
    done = prophase_here("split", workspace, *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stdout == ""
