from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    submit = np.sort(rng.integers(0, 8 * 86400, 600))
    table = pd.DataFrame({"timestamp": pd.Timestamp("2017-10-09") + pd.to_timedelta(submit, "s")})
    table["duration"] = rng.exponential(9000, 600).round() + 1
    table["num_gpus"] = rng.choice([1, 2, 4], 600)
    table["gpu_time"], table["cluster"] = table["duration"] * table["num_gpus"], "a"
    path = tmp_path / "philly.csv"
    table.to_csv(path, index=False)
    return path


def test_scenarios_and_a_target_are_answered_in_one_call(prophase_here, dump):
    arguments = (
        "whatif", dump, "--cluster", "3x8", "--add", "1x8", "--goal", "p95 wait < 30 min",
        "--seeds", "8", "--workers", "1", "--block", "24h",
    )  # fmt: skip
    done = prophase_here(
        *arguments, "--add", "16xA10", "--load", "1.3", "--policy", "shortest,fifo:fgd",
        "--format", "json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    rows = {row["scenario"]: row for row in answer["rows"]}
    assert set(rows) == {
        "baseline", "add 1x8", "add 16xA10", "load x 1.3", "policy shortest", "policy fifo:fgd",
    }  # fmt: skip
    assert rows["add 16xA10"]["gpus"] == 40
    assert rows["add 1x8"]["change"] < 0 < rows["load x 1.3"]["change"]
    smallest = {row["scenario"]: row for row in answer["smallest"]}
    assert smallest["baseline"]["value_s"] < 1800
    assert smallest["load x 1.3"]["nodes"] >= smallest["baseline"]["nodes"]
    table = prophase_here(*arguments)
    assert "Fewest nodes for: p95 wait < 30 min" in table.stdout
    assert "Only 8 blocks to draw from" in table.stdout


def test_the_purchase_question_is_answered_in_one_command(prophase_here, dump, tmp_path):
    (tmp_path / "nodes.csv").write_text("name,gpus,most\nsmall,4,4\nlarge,8,3\n")
    (tmp_path / "prices.toml").write_text('currency = "EUR"\ngpu_hour = 2.0\n')
    done = prophase_here(
        "whatif", dump, "--cluster", "2x8", "--target", "p95_wait<30min", "--options", "nodes.csv",
        "--prices", "prices.toml", "--policy", "shortest", "--seeds", "2", "--format", "json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["proven"] is True
    assert answer["best"]["value_s"] < 1800
    assert answer["currency"] == "EUR"


def test_static_reactive_and_predictive_nodes_stand_in_one_table(prophase_here, dump):
    asked = ("whatif", dump, "--cluster", "6x8", "--scaling", "floor=0,boot=20min", "--seeds", "2")
    done = prophase_here(*asked, "--format", "json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    static, reactive, predictive = answer["scaling"]
    assert [static["nodes"], reactive["nodes"]] == ["static", "reactive"]
    assert static["paid_pct"] == 100 > reactive["paid_pct"]
    assert predictive["mean_wait_s"] < reactive["mean_wait_s"]
    assert any("Predictive cuts the mean wait" in line for line in answer["remarks"])
    twice = prophase_here(*asked, "--set", "scaling=on")
    assert "always on: name it once" in twice.stderr


def test_advised_requests_are_compared(prophase_here, dump, tmp_path):
    (tmp_path / "advised.csv").write_text("request_gpus,queue\n1,a\n")
    trial = prophase_here(
        "whatif", dump, "--cluster", "3x8", "--requests", "advised.csv", "--seeds", "2",
        "--workers", "1", "--format", "csv",
    )  # fmt: skip
    assert trial.returncode == 0, trial.stderr
    assert "requests advised.csv" in trial.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "nothing to compare"),
        (("--policy", "shortst"), "Did you mean 'shortest'"),
        (("--load", "more"), "not a number"),
        (("--load", "0"), "above 0"),
        (("--sharing", "perhaps"), "on or off"),
        (("--goal", "soon"), "not understood"),
        (("--options", "nodes.csv"), "not what for"),
        (("--load", "2", "--prices", "p.toml"), "which nodes can be bought"),
        (("--goal", "p95 wait < 1 h", "--options", "none.csv"), "no such table"),
        (("--add", "plenty"), "not understood"),
        (("--remove", "9x8"), "has 3 such nodes"),
        (("--requests", "none.csv"), "no such file"),
        (("--load", "1.2", "--seeds", "-1"), "greater than or equal to 0"),
        (("--load", "1.2", "--block-h", "900"), "--block-h"),
    ],
)
def test_what_is_asked_wrongly_is_explained(prophase_here, dump, arguments, message):
    done = prophase_here("whatif", dump, "--cluster", "3x8", *arguments)
    assert done.returncode in (1, 2)
    assert message in done.stderr
