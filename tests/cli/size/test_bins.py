from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
from tests.sizing.bins.made_scenarios import scenario_jobs

from prophase.sizing.bins.pipeline_bins import PipelineBins
from prophase.trace.workspace import Workspace


def test_bins_are_trained_compared_and_kept_in_the_workspace(tmp_path: Path, prophase_here) -> None:
    folder = tmp_path / "ws"
    Workspace.create(folder).store_frames({"jobs": scenario_jobs()}, source="csv", source_hash="x")
    (tmp_path / "prices.toml").write_text('currency = "EUR"\ngib_hour = 0.01\n')
    done = prophase_here("size", "bins", str(folder), "--model-trials", "1", "--prices",
               str(tmp_path / "prices.toml"), "--format", "json")  # fmt: skip
    told = json.loads(done.stdout)
    assert {row["sized_by"] for row in told["comparison"]} >= {"thesis' bins", "recommender"}
    assert all("cost" in row for row in told["comparison"])
    assert told["chosen"]["train"]["confusion"]
    model = PipelineBins.load(folder / "models" / "bins.model")
    asked = pd.DataFrame({"task": ["train"], "attr_articles": [10.0]})
    assert model.requests(asked)[0]["by"] == "bins"


def test_a_trace_without_a_workspace_says_where_to_keep_the_model(
    tmp_path: Path, prophase_here
) -> None:
    path = tmp_path / "jobs.csv"
    scenario_jobs().to_csv(path, index=False)
    shown = prophase_here("size", "bins", str(path), "--model-trials", "1", "--penalty", "1").stdout
    assert "name a file with --out" in shown
    assert "depends_on_scenario" in shown
