"""What is loaded changes in one step, and a damaged file harms nothing that is loaded."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from tests.serve.conftest import Serve

from prophase.profile.predict.job_model import learn
from prophase.serve.loaded_workspace import WorkspaceCache
from prophase.trace.workspace import Workspace
from prophase.trace.workspace_paths import CLASSIFIER, PREDICTIONS, PROFILES

ASKED = {"jobs": [{"user": "u1", "gpus": 1}], "targets": ["duration_s"]}


def learn_another(workspace: Path) -> None:
    jobs = Workspace(workspace).read("jobs")
    learn(jobs, ["duration_s"], method="global-median", data_hash="synthetic").save(
        workspace / PREDICTIONS
    )


def test_a_new_model_is_taken_over(workspace: Path, client: TestClient) -> None:
    assert client.get("/v1/workspace").json()["models"]["predictions"]["method"] == "mixture"
    learn_another(workspace)
    told = client.post("/v1/reload").json()
    assert told["models"]["predictions"]["method"] == "global-median"


def test_the_service_looks_for_new_models_by_itself(workspace: Path, serve: Serve) -> None:
    client = serve(reload_every_s=0.05)
    learn_another(workspace)
    for _ in range(600):
        told = client.get("/v1/workspace").json()["models"]["predictions"]
        if told["method"] == "global-median":
            break
        threading.Event().wait(0.1)
    assert told["method"] == "global-median"
    assert "prophase_reloads_total 1.0" in client.get("/metrics").text


def test_no_request_is_dropped_while_models_are_reloaded(
    workspace: Path, client: TestClient
) -> None:
    over = threading.Event()
    reloads = []

    def reload_often() -> None:
        library: WorkspaceCache = client.app.state.library  # type: ignore[attr-defined]
        while not over.is_set():
            reloads.append(library.reload(force=True))

    thread = threading.Thread(target=reload_often)
    thread.start()
    try:
        answers = [client.post("/v1/predict", json=ASKED) for _ in range(12)]
    finally:
        over.set()
        thread.join()
    assert {said.status_code for said in answers} == {200}
    assert len({said.text for said in answers}) == 1
    assert reloads


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes()[:-100]),
        lambda path: path.write_bytes(path.read_bytes().replace(b"meta", b"mete", 1)),
        lambda path: path.write_bytes(b"\x80\x04." + path.read_bytes()),
        lambda path: path.write_bytes((path.parent / "profiles.model").read_bytes()),
    ],
    ids=["empty", "cut off", "changed", "a pickle", "another kind"],
)
def test_a_damaged_model_is_told_and_the_one_that_is_loaded_goes_on(
    workspace: Path, serve: Serve, damage: object
) -> None:
    client = serve()
    before = client.post("/v1/predict", json=ASKED).json()
    damage(workspace / PREDICTIONS)  # type: ignore[operator]
    told = client.post("/v1/reload").json()
    assert "predictions.model" in told["problems"]["predictions"]
    assert client.post("/v1/predict", json=ASKED).json() == before
    ready = client.get("/readyz")
    assert ready.status_code == 200
    assert ready.json()["problems"]
    fresh = serve()
    refused = fresh.post("/v1/predict", json=ASKED)
    assert refused.status_code == 503
    assert refused.json()["code"] == "ModelFileError"
    assert fresh.get("/readyz").status_code == 503
    assert fresh.get("/healthz").status_code == 200


def test_without_models_every_question_says_what_to_learn(workspace: Path, serve: Serve) -> None:
    for path in (PREDICTIONS, CLASSIFIER, PROFILES):
        (workspace / path).unlink()
    client = serve()
    said = client.post("/v1/ask", json=ASKED)
    assert said.status_code == 409
    assert said.json()["detail"] == "ws: has no predictions yet. Learn with: prophase learn ws"
    assert "prophase profile fit" in client.get("/v1/profiles").json()["detail"]
    assert client.get("/readyz").status_code == 503


def test_an_empty_workspace_is_served(tmp_path: Path) -> None:
    from prophase.serve.app import create_app
    from prophase.serve.settings import ServiceSettings

    folder = Workspace.create(tmp_path / "empty").folder
    with TestClient(create_app(folder, ServiceSettings(open=True))) as client:
        assert client.get("/v1/workspace").json()["tables"] == {}
        assert client.post("/v1/simulate", json={}).status_code == 409
        assert client.get("/v1/drift").json() == {"watching": False, "reported_jobs": 0}
        assert client.get("/v1/reports").json() == []
        assert client.get("/v1/runs").status_code == 404
