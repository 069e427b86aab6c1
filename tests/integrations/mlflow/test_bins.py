from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from mlflow.tracking import MlflowClient
from tests.sizing.bins.made_scenarios import scenario_jobs

from prophase.integrations.mlflow.bins import log_bins
from prophase.integrations.mlflow.registered_models import register_bundle
from prophase.integrations.mlflow.tracking import pyfunc_of_mlflow
from prophase.sizing.bins.pipeline_bins import PipelineBins
from prophase.sizing.bins.pipeline_study import BinsSettings, study_bins

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def test_a_study_of_bins_is_a_run_with_one_below_it_per_model_and_its_file_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    uri = (tmp_path / "runs").as_uri()
    found = study_bins(scenario_jobs(), BinsSettings(trials=1))
    run_id = log_bins(found, uri, command="prophase size bins ws")
    client = MlflowClient(tracking_uri=uri)
    place = client.get_run(run_id).info.experiment_id
    children = client.search_runs([place], f"tags.`mlflow.parentRunId` = '{run_id}'")
    assert len(children) == len(found.experiments)
    assert {child.data.params["classifier"] for child in children} == {"svm", "xgboost"}
    assert all("u_score" in child.data.metrics for child in children)
    folder = Path(client.download_artifacts(run_id, "", str(tmp_path)))
    assert json.loads((folder / "tuning.json").read_text())["trials"]
    kept = folder / "bins.model"
    asked = pd.DataFrame({"task": ["train", "load"], "attr_articles": [1000.0, 10.0]})
    wanted = PipelineBins.load(kept).requests(asked)
    assert wanted == found.model.requests(asked)
    served = pyfunc_of_mlflow()
    registered = register_bundle(kept, uri, "bins")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    monkeypatch.setenv("MLFLOW_REGISTRY_URI", uri)
    answer = served.load_model(registered.uri).predict(asked)
    assert answer["memory_gib"].tolist() == [row["memory_gib"] for row in wanted]
