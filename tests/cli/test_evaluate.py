from __future__ import annotations

import json
from pathlib import Path

import pytest

MEASURES = {
    "median_ape_pct", "within_20_pct", "within_50_pct", "within_x2_pct", "r2_log",
    "signed_log_error", "coverage_90_pct",
}  # fmt: skip


@pytest.fixture
def workspace(prophase_here, tmp_path: Path) -> Path:
    done = prophase_here("synth", "pai", "--jobs", "600", "--days", "2", "--out", "ws")
    assert done.returncode == 0, done.stderr
    return tmp_path / "ws"


def test_methods_stand_beside_baselines_with_all_measures_and_intervals(
    prophase_here, workspace: Path
) -> None:
    done = prophase_here("evaluate", workspace, "--online", "--format", "json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert set(found["methods"]) == {
        "default", "global-median", "user-median", "time-limit", "backoff-median",
    }  # fmt: skip
    default = found["methods"]["default"]
    assert set(default) >= MEASURES
    assert set(default["intervals"]) >= MEASURES
    for part in default["strata"].values():
        assert set(part) >= MEASURES | {"jobs"}


def test_two_files_and_strata_make_one_table(prophase_here, workspace: Path) -> None:
    assert prophase_here("split", workspace, "--out", "parts").returncode == 0
    done = prophase_here(
        "evaluate", "--train", "parts/train", "--test", "parts/test",
        "--methods", "shrinkage", "--strata",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1].split()[:2] == ["shrinkage", "all"]
    assert "judged on" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "either a trace or --train and --test"),
        (("ws", "--train", "a"), "go together"),
        (("ws", "--methods", "oracle"), "no method 'oracle'"),
        (("ws", "--methods", ","), "names none"),
        (("ws", "--per", "user"), "Add --figures FOLDER"),
        (("ws", "--split", "row", "--cut", "5"), "--cut goes with --split time"),
    ],
)
def test_contradictory_questions_are_refused(
    prophase_here, workspace: Path, arguments: tuple[str, ...], words: str
) -> None:
    done = prophase_here("evaluate", *arguments)
    assert done.returncode == 2
    assert words in " ".join(done.stderr.split())
