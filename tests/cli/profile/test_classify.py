from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Jobs of three kinds that metadata tells apart and use does too."""
    draw = np.random.default_rng(0)
    kind = draw.integers(0, 3, 150)
    submit = 60.0 * np.arange(150)
    run = np.array([50.0, 400.0, 3000.0])[kind] * np.exp(draw.normal(0, 0.05, 150))
    jobs = pd.DataFrame(
        {
            "job_id": [f"j{n}" for n in range(150)],
            "user": np.array(["ann", "bob", "eve"])[kind],
            "workload": np.array(["bert", "ctr", "bert"])[kind],
            "submit_s": submit,
            "start_s": submit,
            "end_s": submit + run,
            "duration_s": run,
            "cpu_mean_cores": np.array([1.0, 8.0, 30.0])[kind] * np.exp(draw.normal(0, 0.05, 150)),
            "memory_peak_gib": np.array([2.0, 9.0, 60.0])[kind] * np.exp(draw.normal(0, 0.05, 150)),
        }
    )
    path = tmp_path / "jobs.csv"
    jobs.to_csv(path, index=False)
    return path


def test_classifiers_are_compared_saved_and_explained(prophase_here, table: Path) -> None:
    done = prophase_here(
        "profile", "classify", table, "--classifiers", "xgboost,most-frequent", "--split", "job",
        "--save", "kind.model", "--figures", "figures", "--format", "json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert set(found["methods"]) == {"xgboost", "most-frequent"}
    assert found["reported_split"] == "job"
    assert found["methods"]["xgboost"]["job"]["accuracy"] > 0.95
    assert found["encoding"]["columns"] == 2
    assert found["model"]["threshold"]["value"] < 1
    folder = table.parent / "figures"
    assert {one.name for one in folder.iterdir()} == {
        *(f"confusion.{e}" for e in ("png", "svg", "csv")), "tree-0-0.png", "tree-0-0.svg",
    }  # fmt: skip

    done = prophase_here(
        "profile", "explain", "kind.model", "--trace", table, "--figures", "figures",
        "--format", "json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["importance"][0]["column"] in ("user", "workload")
    assert {one["column"] for one in told["shap"]["columns"]} == {"user", "workload"}
    assert (folder / "shap-summary.png").stat().st_size > 5_000

    done = prophase_here(
        "profile", "explain", "kind.model", "--trace", table, "--job", "j7", "--figures", "figures"
    )
    assert done.returncode == 0, done.stderr
    assert "pushes towards profile" in done.stdout
    assert (folder / "shap-job.png").is_file()
    profile = found["methods"]["xgboost"]["job"]["per_class"][0]["profile"]
    done = prophase_here(
        "profile", "explain", "kind.model", "--profile", str(profile), "--tree", "0"
    )
    assert done.stdout.splitlines()[0].endswith("?")


def test_the_table_holds_every_split_the_report_and_what_was_left_out(
    prophase_here, table: Path
) -> None:
    done = prophase_here(
        "profile", "classify", table, "--classifiers", "rules,most-frequent", "--label", "workload",
        "--metadata", "user",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split()[:2] for line in lines[1:4]] == [
        ["rules", s] for s in ("row", "job", "time")
    ]
    assert "Per profile: rules, split by time" in done.stdout
    assert "Predicted from user. 1 column became 3:" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["classify", "jobs.csv", "--classifiers", "xgbost"], "Did you mean 'xgboost'"),
        (["classify", "jobs.csv", "--classifiers", "rules", "--split", "tme"], "'tme'"),
        (["classify", "jobs.csv", "--label", "colour"], "no column 'colour'"),
        (["classify", "jobs.csv", "--label", "user", "--profiles", "x"], "exclude each other"),
        (["classify", "jobs.csv", "--classifiers", ","], "--classifiers names none"),
        (
            ["classify", "jobs.csv", "--classifiers", "rules", "--label", "user",
             "--save", "m.model", "--unknown-below", "often"],
            "--unknown-below is 'often'",
        ),
        (["explain", "none.model"], "there is no model file at this path"),
        (["explain", "jobs.csv", "--tree", "0"], "--tree needs --profile"),
        (["explain", "jobs.csv", "--trace", "jobs.csv"], "--trace goes with a file of --save"),
        (["explain", "jobs.csv", "--label", "user", "--job", "j7000"], "there is no job 'j7000'"),
    ],
)  # fmt: skip
def test_a_wrong_question_is_answered_with_what_to_ask(
    arguments: list[str], said: str, prophase_here, table: Path
) -> None:
    done = prophase_here("profile", *arguments)
    assert done.returncode in (1, 2)
    assert said in done.stderr
