from __future__ import annotations

import json

import numpy as np
import pytest
from tests.sizing.assess.made_runs import light_and_heavy


@pytest.fixture
def table(tmp_path) -> str:
    runs = light_and_heavy(60)
    runs["job_id"] = [f"{kind}{n}" for kind in "lt" for n in range(60)]
    runs["submit_s"] = np.tile(np.arange(60) * 21_600.0, 2)
    runs.to_csv(tmp_path / "jobs.csv", index=False)
    (tmp_path / "prices.toml").write_text("gib_hour = 0.01\n", encoding="utf-8")
    return "jobs.csv"


def test_the_table_says_what_to_ask_for_and_what_is_saved(prophase_here, table):
    done = prophase_here("assess", table, "--prices", "prices.toml", "--figures", "fig")
    assert done.returncode == 0, done.stderr
    assert "recommended_gib" in done.stdout
    assert "those of prophase size at a risk of 1%" in done.stdout
    assert "Used of what was asked for: cpu 15.0 %" in done.stdout
    assert "per month, extrapolated from 14.8 days; recommended requests save" in done.stdout
    assert "memory-boxes.png" in done.stdout


def test_json_holds_utilisation_groups_and_drivers(prophase_here, table):
    done = prophase_here("assess", table, "--drivers-of", "train", "-f", "json")
    document = json.loads(done.stdout)
    assert {"utilisation", "tasks", "clusters", "drivers", "sentences"} <= set(document)
    assert "train" in document["drivers"]


def test_an_unknown_task_or_price_file_is_explained(prophase_here, table):
    done = prophase_here("assess", table, "--drivers-of", "trane")
    assert done.returncode == 1
    assert "Did you mean 'train'" in done.stderr
    done = prophase_here("assess", table, "--prices", "none.toml")
    assert done.returncode == 2
    assert "gib_hour" in done.stderr


def test_assess_and_size_recommend_the_same_number_for_every_task(prophase_here, table):
    assessed = json.loads(prophase_here("assess", table, "-f", "json").stdout)["tasks"]
    sized = json.loads(prophase_here("size", table, "-f", "json").stdout)["tasks"]
    ours = {row["task"]: (row["recommended_gib"], row["recommendation"]) for row in assessed}
    assert ours == {row["task"]: (row["advice"], row["why"]) for row in sized}
    cores = json.loads(prophase_here("size", table, "--resource", "cpu", "-f", "json").stdout)
    assert {row["task"]: row["recommended_cores"] for row in assessed} == {
        row["task"]: row["advice"] for row in cores["tasks"]
    }
