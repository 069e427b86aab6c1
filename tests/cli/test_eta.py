from __future__ import annotations

import json
from pathlib import Path

import pytest


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Jobs that arrive every 10 s and run 15 s, one at a time."""
    rows = [
        f"{i} {10 * i} {5 * i} 15 1 -1 -1 1 60 -1 1 {i % 2 + 1} 1 -1 1 -1 -1 -1\n"
        for i in range(300)
    ]
    path = tmp_path / "log.swf"
    path.write_text("; Version: 2\n" + "".join(rows))
    return path


def test_a_waiting_job_gets_a_start_and_an_interval(prophase_here, log):
    done = prophase_here(
        "eta", log, "--job", "250", "--now", "+2600s", "--cluster", "1x0 1c", "--draws", "20",
        "--queue", "strict", "--check", "12", "--format", "json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["start_p50_s"] == pytest.approx(3750, abs=1)
    assert answer["p10_s"] <= answer["p50_s"] <= answer["p90_s"]
    assert answer["checked"]["covered"] > 0.8


def test_a_new_job_is_forecast_in_words(prophase_here, log):
    done = prophase_here(
        "eta", log, "--cpus", "1", "--user", "1", "--now", "2600", "--cluster", "1x0 1c",
        "--draws", "10", "--check", "0",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "median" in done.stdout
    assert "not checked against the past" in done.stdout


def test_the_rows_are_written_with_where_they_come_from(prophase_here, log, tmp_path):
    asked = ("eta", log, "--cpus", "1", "--now", "2600", "--cluster", "1x0 1c", "--check", "0")
    out = tmp_path / "eta.csv"
    done = prophase_here(*asked, "--draws", "10", "--out", out)
    assert done.returncode == 0, done.stderr
    assert out.read_text().splitlines()[0] == "start,in,at,at_s"
    origin = json.loads((tmp_path / "eta.csv.provenance.json").read_text())
    assert origin["command"].startswith("prophase eta")
    assert origin["data_hash"]
    done = prophase_here(*asked, "--save-as", "mine")
    assert done.returncode == 2
    assert "is no workspace" in done.stderr


def test_what_cannot_be_told_is_said_and_ends_with_one(prophase_here, log):
    done = prophase_here(
        "eta", log, "--cpus", "1", "--now", "300", "--cluster", "1x0 1c", "--check", "0"
    )
    assert done.returncode == 1
    assert "No forecast: only" in done.stdout
    assert "alike that started last, half started within" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--cluster", "1x0 1c"), "--job ID"),
        (
            ("--cluster", "1x0 1c", "--job", "1", "--now", "2600", "--check", "0"),
            "has already ended, so",
        ),
        (("--cluster", "1x0 1c", "--cpus", "1", "--now", "soon"), "+36h"),
    ],
)
def test_what_is_asked_wrongly_is_explained(prophase_here, log, arguments, message):
    done = prophase_here("eta", log, *arguments)
    assert done.returncode in (1, 2)
    assert message in done.stderr
