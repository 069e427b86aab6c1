"""A workspace whose history says: bert of team nlp asks for 16 GiB and uses 2.4."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from prophase.profile.predict.job_model import learn
from prophase.sizing.recommender import learn_recommender
from prophase.trace.workspace import Workspace
from prophase.trace.workspace_paths import PREDICTIONS, REQUESTS


def history() -> pd.DataFrame:
    rows = np.arange(120)
    return pd.DataFrame(
        {
            "job_id": [f"ml/bert-{n}" for n in rows],
            "name": "bert",
            "user": np.where(rows % 2, "ann", "bob"),
            "group": "nlp",
            "queue": "ml",
            "workload": "bert",
            "task": "train",
            "submit_s": 1300.0 * rows,
            "start_s": 1300.0 * rows,
            "duration_s": np.where(rows % 2, 600.0, 1200.0),
            "end_s": 1300.0 * rows + np.where(rows % 2, 600.0, 1200.0),
            "status": "completed",
            "instances": 1.0,
            "request_cpu_cores": 4.0,
            "request_memory_gib": 16.0,
            "request_gpus": 1.0,
            "time_limit_s": 14_400.0,
            "memory_peak_gib": 2.0 + 0.1 * (rows % 5),
            "cpu_peak_cores": 1.0 + 0.1 * (rows % 3),
        }
    )


@pytest.fixture(scope="session")
def made_workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Stands in for the workspace of the other tests of the service."""
    folder = tmp_path_factory.mktemp("submitted") / "ws"
    workspace = Workspace.create(folder)
    workspace.store_frames({"jobs": history()}, source="csv", source_hash="h", seed=0)
    jobs = workspace.read("jobs")
    learn(jobs, method="backoff-median", data_hash="h").save(folder / PREDICTIONS)
    learn_recommender(jobs, data_hash="h").save(folder / REQUESTS)
    return folder


def set_policy(workspace: Path, text: str) -> None:
    """Give a workspace this policy."""
    settings = workspace / "prophase.toml"
    settings.write_text('engine = "duckdb"\n' + text, encoding="utf-8")
