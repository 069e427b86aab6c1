from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from mlflow.tracking import MlflowClient
from tests.cli.conftest import Run

from prophase.trace.workspace import Workspace

#: MLflow's tables use what its database library will drop one day
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture
def here(tmp_path: Path) -> Path:
    rows = np.arange(120)
    jobs = pd.DataFrame(
        {
            "job_id": [f"j{n}" for n in rows],
            "user": np.where(rows % 2, "ann", "bob"),
            "submit_s": 700.0 * rows,
            "duration_s": np.where(rows % 2, 60.0, 600.0),
        }
    )
    workspace = Workspace.create(tmp_path / "ws")
    workspace.store_frames({"jobs": jobs}, source="csv", source_hash="h", seed=0)
    return tmp_path


def test_evaluations_are_logged_and_models_registered(
    here: Path, prophase_here: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    uri = (here / "runs").as_uri()
    said = prophase_here("evaluate", "ws", "--methods", "user-median", "--mlflow", uri)
    assert said.returncode == 0, said.stderr
    assert "Logged to MLflow as run" in said.stdout
    said = prophase_here(
        "learn", "ws", "--method", "backoff-median", "--mlflow", uri, "--register", "ours",
        "--format", "json",
    )  # fmt: skip
    assert said.returncode == 0, said.stderr
    assert json.loads(said.stdout)["registered"] == "models:/ours/1"
    client = MlflowClient(tracking_uri=uri, registry_uri=uri)
    (place,) = (one.experiment_id for one in client.search_experiments() if one.name == "prophase")
    names = {run.info.run_name for run in client.search_runs([place])}
    assert names == {"evaluate duration_s", "user-median", "register ours"}


def test_an_address_that_is_none_is_refused_in_words(here: Path, prophase_here: Run) -> None:
    said = prophase_here("learn", "ws", "--method", "backoff-median", "--mlflow", "nowhere")
    assert said.returncode == 2
    assert "sqlite:///mlflow.db" in said.stderr
