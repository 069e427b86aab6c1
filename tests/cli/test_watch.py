"""prophase watch, on jobs of three kinds of which one comes to run three times longer."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.profile.drift.made_jobs import CHANGE, HISTORY, jobs_of_kinds

from prophase.trace.workspace import Workspace

SETTINGS = ("--method", "recent-median", "--no-profiles")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {"folder": tmp_path_factory.mktemp("watch")}


@pytest.fixture
def ws(prophase_here, kept: dict[str, Path], tmp_path: Path) -> Path:
    """A workspace that has watched a change, and the finished jobs it was given."""
    made = kept["folder"]
    if not (made / "finished.csv").exists():
        jobs = jobs_of_kinds(change=CHANGE, what="run", seed=1)
        Workspace.create(made / "ws").store_frames(
            {"jobs": jobs[:HISTORY]}, source="test", source_hash="0" * 64
        )
        jobs[HISTORY:].to_csv(made / "finished.csv", index=False)
        done = prophase_here("watch", made / "ws", "--with", made / "finished.csv", *SETTINGS)
        assert done.returncode == 0, done.stderr
        (made / "said.txt").write_text(done.stdout, encoding="utf-8")
    return Path(shutil.copytree(made, tmp_path / "made")) / "ws"


def test_the_change_its_culprit_and_what_was_done_are_shown(prophase_here, ws: Path) -> None:
    said = (ws.parent / "said.txt").read_text(encoding="utf-8")
    assert "900 jobs are new" in said
    assert "workload ctr" in said
    assert "Take the last step back with: --undo" in said
    again = prophase_here("watch", ws, "--with", ws.parent / "finished.csv", "--figures", "charts")
    assert "900 were known by their job_id" in again.stdout
    assert (ws.parents[1] / "charts" / "monitors.png").is_file()
    assert (ws.parents[1] / "charts" / "error-over-time.svg").is_file()


def test_json_has_every_scope_signal_and_step(prophase_here, ws: Path) -> None:
    told = json.loads(prophase_here("watch", ws, "--format", "json").stdout)
    assert told["watched_jobs"] == 900
    assert told["waiting_jobs"] == 0
    (overall,) = told["scopes"]
    assert {"error", "outside", "new", "levels", "state"} <= set(overall)
    assert set(overall["levels"]) >= {"longer", "calibration", "novelty"}
    assert all(step["stands"] for step in told["steps"])
    assert told["steps"][0]["culprit"] == "workload ctr"


def test_a_step_is_undone_and_the_jobs_since_wait_to_be_watched_again(
    prophase_here, ws: Path
) -> None:
    done = prophase_here("watch", ws, "--undo", "1")
    assert done.returncode == 0, done.stderr
    assert "alarm, undone" in done.stdout
    assert "jobs wait to be watched" in done.stdout
    told = json.loads(prophase_here("watch", ws, "--format", "json").stdout)
    assert told["waiting_jobs"] == 0
    assert [step["kind"] for step in told["steps"]].count("undo") == 1


def test_what_cannot_be_done_is_refused_with_what_to_do(prophase_here, ws: Path) -> None:
    for arguments, words in (
        (("--undo", "77"), "there is no step 77 to undo. Steps that stand: 1"),
        (("--undo", "1", "--restart"), "--undo stands alone"),
        (("--target", "wait_s"), "start again with --restart"),
        (("--with", ws.parent / "nowhere.csv"), "nowhere.csv"),
    ):
        done = prophase_here("watch", ws, *arguments)
        assert done.returncode in (1, 2)
        assert words in done.stderr.replace("\n", " ")
    small = Workspace.create(ws.parent / "small")
    small.store_frames({"jobs": jobs_of_kinds(40)}, source="test", source_hash="1" * 64)
    done = prophase_here("watch", small.folder, *SETTINGS)
    assert "Take a history of 600" in done.stderr


def test_jobs_that_lack_what_is_watched_are_refused_and_not_kept(prophase_here, ws: Path) -> None:
    jobs = jobs_of_kinds(2_730)[2_700:]
    jobs.drop(columns=["duration_s", "end_s"]).to_csv(ws.parent / "running.csv", index=False)
    done = prophase_here("watch", ws, "--with", ws.parent / "running.csv")
    assert done.returncode == 1
    assert "no column 'duration_s'" in done.stderr
    jobs.assign(colour="red", user="never seen").to_csv(ws.parent / "more.csv", index=False)
    done = prophase_here("watch", ws, "--with", ws.parent / "more.csv")
    assert done.returncode == 0, done.stderr
    assert "930 jobs watched" in done.stdout


def test_an_empty_workspace_is_refused_before_any_work(prophase_here, tmp_path: Path) -> None:
    empty = Workspace.create(tmp_path / "empty")
    empty.store_frames({"jobs": jobs_of_kinds(5)[:0]}, source="test", source_hash="2" * 64)
    done = prophase_here("watch", empty.folder)
    assert done.returncode == 1
    assert "0 finished jobs with a value of duration_s" in done.stderr
    done = prophase_here("predict", empty.folder, "--workspace", empty.folder, "--target", "wait_s")
    assert "holds no jobs to learn from" in done.stderr
