from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

HEADER = "; Version: 2\n; MaxProcs: 4\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log of jobs that arrive every 10 s, run 20 s and wait their turn on one processor."""
    rows = [
        f"{i} {10 * i} {10 * i} 20 1 -1 -1 1 60 -1 1 {i % 2 + 1} 1 -1 1 -1 -1 -1\n"
        for i in range(150)
    ]
    path = tmp_path / "log.swf"
    path.write_text(HEADER + "".join(rows))
    return path


def test_a_right_model_is_valid_and_everything_is_written(prophase_here, log, tmp_path):
    done = prophase_here(
        "validate", log, "--cluster", "1x0 1c", "--page", "p.html", "--figures", "f",
        "--out", "waits.csv",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (
        "all jobs: valid for the mean wait, the quantiles, the distribution and single jobs."
        in (done.stdout)
    )
    assert (tmp_path / "p.html").read_text().startswith("<!DOCTYPE html>")
    figures = sorted(path.name for path in (tmp_path / "f").glob("*.png"))
    assert figures == ["wait-distributions.png", "wait-quantiles.png"]
    assert len(pd.read_csv(tmp_path / "waits.csv")) == 150


def test_nodes_that_limit_no_cores_are_told(prophase_here, log):
    done = prophase_here("validate", log, "--cluster", "1x8")
    assert "The nodes state no cores, so cores never limit: 150 of 150 jobs" in done.stdout


def test_a_wrong_model_is_told_so_in_json(prophase_here, log):
    done = prophase_here(
        "validate", log, "--cluster", "1x0 4c", "--format", "json", "--set", "seed=3"
    )
    answer = json.loads(done.stdout)
    assert answer["verdicts"][0]["valid"] is False
    assert answer["scores"]["all jobs"]["simulated_mean_s"] == 0.0
    assert answer["policy"]["seed"] == 3
    assert answer["utilisation"]["cores"]["simulated"] == pytest.approx(0.5, abs=0.01)


def test_csv_has_one_row_per_class(prophase_here, log, tmp_path):
    (tmp_path / "ids").write_text("1\n2\n" + "\n".join(str(i) for i in range(20, 140)))
    done = prophase_here(
        "validate", log, "--cluster", "1x0 1c", "--format", "csv", "--by", "user",
        "--score-ids", "ids", "--limit", "least_jobs=5",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 4
    assert lines[1].startswith("all jobs,122,")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--limit", "mean_eror=1"), "Did you mean 'mean_error'"),
        (("--set", "plaice=x"), "Did you mean 'place'"),
        (("--by", "colour"), "no column 'colour'"),
        (("--order", "column:wait_s"), "no column wait_s"),
    ],
)
def test_what_is_asked_wrongly_is_explained(prophase_here, log, arguments, message):
    done = prophase_here("validate", log, "--cluster", "1x0 1c", *arguments)
    assert done.returncode in (1, 2)
    assert message in done.stderr


@pytest.mark.data
def test_a_real_slurm_run_is_replayed_whole_and_scored_where_known(prophase_here, shared_data):
    root = Path(__file__).parents[2]
    done = prophase_here(
        "validate", shared_data / "ubccr-micro-slurm", "--nodes",
        root / "benchmarks" / "quality" / "micro-slurm", "--queue", "easy", "--place", "first_fit",
        "--format", "json",
    )  # fmt: skip
    answer = json.loads(done.stdout)
    assert answer["nodes"] == 10
    assert answer["left_out"] == {"no recorded wait": 250}
    assert answer["scores"]["all jobs"]["observed_mean_s"] == pytest.approx(8162, abs=1)
    assert answer["verdicts"][0]["valid"] is False
