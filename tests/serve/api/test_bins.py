from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
from tests.serve.conftest import Serve
from tests.sizing.bins.made_scenarios import scenario_jobs

from prophase.sizing.bins.pipeline_bins import PipelineBins
from prophase.sizing.bins.pipeline_study import BinsSettings, study_bins


def test_the_service_transforms_and_classifies_as_python_does(
    workspace: Path, serve: Serve
) -> None:
    study_bins(scenario_jobs(), BinsSettings(trials=1)).model.save(workspace / "models/bins.model")
    asked = [
        {"task": "train", "attr_articles": 1000.0, "request_memory_gib": 64.0},
        {"task": "train", "attr_articles": 10.0},
        {"task": "load", "attr_articles": 10.0},
        {"task": "never seen"},
    ]
    said = serve().post("/v1/bins", json={"jobs": asked})
    assert said.status_code == 200
    model = PipelineBins.load(workspace / "models/bins.model")
    ours = json.loads(json.dumps(model.requests(pd.DataFrame(asked))))
    assert said.json()["requests"] == ours
    assert [row["by"] for row in ours] == ["bins", "bins", "static", "request"]
    lacking = serve().post("/v1/bins", json={"jobs": [{"user": "ann"}]})
    assert lacking.status_code == 200


def test_without_a_trained_model_the_answer_says_how_to_train_one(serve: Serve) -> None:
    said = serve().post("/v1/bins", json={"jobs": [{"task": "train"}]})
    assert said.status_code == 409
    assert "prophase size bins" in said.json()["detail"]
