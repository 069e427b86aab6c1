from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest


@pytest.fixture
def parts(prophase_here, tmp_path: Path) -> Path:
    for arguments in (
        ("synth", "pai", "--jobs", "500", "--days", "2", "--out", "ws"),
        ("split", "ws", "--out", "parts"),
    ):
        done = prophase_here(*arguments)
        assert done.returncode == 0, done.stderr
    return tmp_path / "parts"


def test_every_job_gets_a_value_a_range_and_a_reason(prophase_here, parts: Path) -> None:
    done = prophase_here(
        "predict", parts / "test", "--workspace", parts / "train", "--out", "answers.csv"
    )
    assert done.returncode == 0, done.stderr
    with (parts.parent / "answers.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == [
        "job_id", "value", "low", "high", "stratum", "seen", "reason", "abstained",
    ]  # fmt: skip
    assert all(float(row["low"]) <= float(row["value"]) <= float(row["high"]) for row in rows)
    assert f"Wrote {len(rows):,} answers" in done.stderr


def test_usage_is_a_target_as_well(prophase_here, parts: Path) -> None:
    done = prophase_here(
        "predict", parts / "test", "--workspace", parts / "train",
        "--target", "memory_peak_gib", "--method", "shrinkage", "--format", "json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert all(row["value"] > 0 for row in json.loads(done.stdout)["predictions"])


def test_a_target_that_is_not_there_is_refused(prophase_here, parts: Path) -> None:
    done = prophase_here(
        "predict", parts / "test", "--workspace", parts / "train", "--target", "joules"
    )
    assert done.returncode == 1
    assert "no column 'joules'" in done.stderr


def test_a_column_that_is_not_of_the_job_table_is_named_with_what_to_do(
    prophase_here, parts: Path
) -> None:
    (parts.parent / "new.csv").write_text("user,colour\nann,red\n", encoding="utf-8")
    asked = ("predict", "new.csv", "--workspace", parts / "train", "--target", "duration_s")
    done = prophase_here(*asked, "--method", "shrinkage")
    assert done.returncode == 2
    assert "new.csv: colour is not of the job table" in done.stderr
    assert "attr_NAME" in done.stderr
