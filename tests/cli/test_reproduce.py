from __future__ import annotations

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("opnb", "--data", "."), "Did you mean 'openb'"),
        (("openb", "--data", "."), "openb_node_list_gpu_node.csv: is missing"),
        (("pai-sim", "--data", "."), "results.json: is missing"),
        (("pai-sim", "--data", ".", "--lists", "default"), "no meaning for pai-sim"),
        (("openb", "--data", ".", "--seeds", "x"), "give numbers"),
    ],
)
def test_what_is_asked_wrongly_is_explained(prophase_here, arguments, message):
    done = prophase_here("reproduce", *arguments)
    assert done.returncode == 2
    assert message in done.stderr


@pytest.mark.data
def test_published_curves_come_out_beside_ours(prophase_here, shared_data):
    done = prophase_here(
        "reproduce", "openb", "--data", shared_data / "openb", "--seeds", "43", "--workers", "1",
        "--format", "json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = {row["place"]: row for row in json.loads(done.stdout)["rows"]}
    assert len(rows) == 6
    assert rows["random"]["verdict"] == "agrees in the mean"
    for place in set(rows) - {"random"}:
        assert rows[place]["verdict"] == "agrees at every point of 1 seeds"
        assert rows[place]["max_deviation_fragmentation_ratio"] < 0.01


@pytest.mark.data
def test_an_unknown_list_or_a_seed_without_an_order_is_named(prophase_here, shared_data):
    folder = shared_data / "openb"
    done = prophase_here("reproduce", "openb", "--data", folder, "--lists", "defalt")
    assert "Did you mean 'default'" in done.stderr
    done = prophase_here("reproduce", "openb", "--data", folder, "--seeds", "7")
    assert "seed 7" in done.stderr


@pytest.mark.data
def test_a_number_that_does_not_come_out_is_said_and_the_command_leaves_with_1(
    prophase_here, shared_data, tmp_path
):
    folder = tmp_path / "openb"
    folder.mkdir()
    for path in Path(shared_data / "openb").glob("*"):
        shutil.copyfile(path, folder / path.name)
    path = folder / "published_default_seeds42_44.csv"
    table = pd.read_csv(path)
    wrong = (table["policy"] == "05-BestFit") & (table["seed"] == 43)
    table.loc[wrong, "90"] += 0.02
    table.to_csv(path, index=False)
    done = prophase_here("reproduce", "openb", "--data", folder, "--seeds", "43", "--workers", "1")
    assert done.returncode == 1
    assert "1 of 6 rows differ" in done.stdout


@pytest.mark.data
def test_every_job_of_the_recorded_pai_runs_comes_out(prophase_here, shared_data):
    done = prophase_here(
        "reproduce", "pai-sim", "--data", shared_data / "pai_sim", "--workers", "1", "-f", "json"
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert [row["verdict"] for row in rows] == ["agrees at every job"] * 2
    assert [row["jobs_that_differ"] for row in rows] == [0, 0]
