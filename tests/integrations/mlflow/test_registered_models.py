from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from mlflow.tracking import MlflowClient

from prophase.errors import ExecutorError, ModelFileError, ParameterError
from prophase.integrations.mlflow.pyfunc import BundleModel
from prophase.integrations.mlflow.registered_models import register_bundle
from prophase.integrations.mlflow.tracking import log_evaluation, pyfunc_of_mlflow, without_password
from prophase.modelfile import save_model
from prophase.profile.classify.classifier import ProfileClassifier
from prophase.profile.predict.job_model import JobModel, learn

#: MLflow's tables use what its database library will drop one day
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading a model makes MLflow open its usual store, in the folder one is in."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def uri(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store of plain files, which MLflow still has for those who insist."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    return (tmp_path / "runs").as_uri()


@pytest.fixture(scope="module")
def jobs() -> pd.DataFrame:
    rows = np.arange(60)
    return pd.DataFrame(
        {
            "user": np.where(rows % 2, "ann", "bob"),
            "request_gpus": 1.0 + rows % 3,
            "duration_s": np.where(rows % 2, 60.0, 600.0),
            "memory_peak_gib": 2.0,
        }
    )


@pytest.fixture(scope="module")
def bundle(jobs: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bundle") / "predictions.model"
    learn(jobs, method="backoff-median", data_hash="abc").save(path)
    return path


def test_a_registered_model_answers_as_the_file_does(
    bundle: Path, jobs: pd.DataFrame, uri: str
) -> None:
    first = register_bundle(bundle, uri, "ours")
    second = register_bundle(bundle, uri, "ours", metrics={"r2_log": 0.5})
    assert (first.version, second.version) == ("1", "2")
    assert second.uri == "models:/ours/2"
    client = MlflowClient(tracking_uri=uri, registry_uri=uri)
    place = client.get_model_version_download_uri("ours", "2")
    loaded = pyfunc_of_mlflow().load_model(place)
    asked = jobs[["user", "request_gpus"]].head(4)
    expected = JobModel.load(bundle).predict(asked)
    found = loaded.predict(asked)
    assert found["value"].tolist() == expected["value"].tolist()
    assert found["job"].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert set(found["target"]) == {"duration_s", "memory_peak_gib"}
    # a caller may leave columns out
    assert len(loaded.predict(pd.DataFrame({"user": ["ann"]}))) == 2
    assert client.get_run(second.run_id).data.metrics == {"r2_log": 0.5}


def test_a_database_does_as_well(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri = f"sqlite:///{tmp_path / 'mlflow.db'}"
    made = register_bundle(bundle, uri, "ours")
    client = MlflowClient(tracking_uri=uri, registry_uri=uri)
    assert client.get_model_version("ours", made.version).run_id == made.run_id
    run_id = log_evaluation({"target": "duration_s", "methods": {"forest": {"r2_log": 0.8}}}, uri)
    assert client.get_run(run_id).info.status == "FINISHED"


def test_registering_leaves_nothing_in_the_folder_one_is_in(
    bundle: Path, uri: str, tmp_path: Path
) -> None:
    register_bundle(bundle, uri, "ours")
    assert {path.name for path in tmp_path.iterdir()} == {"runs"}


def test_nothing_of_a_registered_model_is_a_pickle(bundle: Path, uri: str, tmp_path: Path) -> None:
    made = register_bundle(bundle, uri, "ours")
    client = MlflowClient(tracking_uri=uri, registry_uri=uri)
    folder = Path(client.download_artifacts(made.run_id, "model", str(tmp_path)))
    names = {path.name for path in folder.rglob("*") if path.is_file()}
    assert "predictions.model" in names
    assert not [name for name in names if name.endswith((".pkl", ".pickle", ".joblib"))]
    assert "loader_module: prophase.integrations.mlflow.pyfunc" in (folder / "MLmodel").read_text()
    assert "prophase[learn]==" in (folder / "requirements.txt").read_text()


def test_a_model_that_predicts_profiles_can_be_served_too(tmp_path: Path, uri: str) -> None:
    rows = np.arange(80)
    jobs = pd.DataFrame({"user": np.where(rows % 2, "ann", "bob"), "workload": "bert"})
    labels = pd.Series(np.where(rows % 2, "small", "large"))
    fitted = ProfileClassifier(method="rules", unknown_below=0.5).fit(jobs, labels)
    fitted.save(tmp_path / "classifier.model")
    made = register_bundle(tmp_path / "classifier.model", uri, "profiles")
    client = MlflowClient(tracking_uri=uri, registry_uri=uri)
    place = client.get_model_version_download_uri("profiles", made.version)
    loaded = pyfunc_of_mlflow().load_model(place)
    assert loaded.predict(jobs.head(2))["profile"].tolist() == ["large", "small"]


def test_an_evaluation_becomes_a_run_with_one_below_it_per_method(uri: str) -> None:
    document = {
        "target": "duration_s", "split": "by time", "online": True, "train_jobs": 10,
        "test_jobs": 5, "notes": ["a note"],
        "methods": {
            "forest": {"r2_log": 0.8, "r2_log_95": [0.7, 0.9], "strata": {"new": {"jobs": 2}}},
            "user-median": {"r2_log": None, "jobs": 5},
        },
    }  # fmt: skip
    run_id = log_evaluation(document, uri, command="prophase evaluate ws", data_hash="abc")
    client = MlflowClient(tracking_uri=uri)
    parent = client.get_run(run_id)
    assert parent.data.params["split"] == "by time"
    assert parent.data.tags["prophase.data_hash"] == "abc"
    assert parent.info.status == "FINISHED"
    below = client.search_runs([parent.info.experiment_id], f"tags.mlflow.parentRunId = '{run_id}'")
    metrics = {one.data.params["method"]: one.data.metrics for one in below}
    assert metrics["forest"] == {
        "r2_log": 0.8, "r2_log_95/low": 0.7, "r2_log_95/high": 0.9, "strata/new/jobs": 2.0,
    }  # fmt: skip
    assert metrics["user-median"] == {"jobs": 5.0}
    kept = Path(client.download_artifacts(run_id, "evaluation.json"))
    assert json.loads(kept.read_text(encoding="utf-8"))["methods"].keys() == metrics.keys()


def test_what_cannot_be_served_is_refused_before_anything_is_logged(
    tmp_path: Path, uri: str
) -> None:
    save_model(tmp_path / "other.model", kind="sizing.requests", meta={})
    with pytest.raises(ParameterError, match="gives no answers"):
        register_bundle(tmp_path / "other.model", uri, "ours")
    with pytest.raises(ModelFileError, match="cannot serve"):
        BundleModel(tmp_path / "other.model")
    (tmp_path / "pickle.model").write_bytes(b"\x80\x04N.")
    with pytest.raises(ModelFileError, match="pickle"):
        register_bundle(tmp_path / "pickle.model", uri, "ours")


def test_addresses_are_checked_and_shown_without_passwords(bundle: Path) -> None:
    with pytest.raises(ParameterError, match="write http"):
        register_bundle(bundle, "mlflow.db", "ours")
    with pytest.raises(ParameterError, match="no name"):
        register_bundle(bundle, "sqlite://", "it's")
    assert without_password("https://ann:hush@host/x") == "https://ann:...@host/x"


def test_what_mlflow_refuses_is_reported_in_its_words(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MLFLOW_ALLOW_FILE_STORE", raising=False)
    with pytest.raises(ExecutorError, match="MLflow at file://"):
        register_bundle(bundle, (tmp_path / "runs").as_uri(), "ours")
