"""Reported jobs: kept before they are confirmed, once each, and learnt from without a refit."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pandas as pd
import pytest
from fastapi.testclient import TestClient
from tests.serve.conftest import Run, Serve

from prophase.errors import StorageError
from prophase.profile.clusters.default_profiles import ended_jobs
from prophase.profile.clusters.profiler import WorkloadProfiler
from prophase.serve.loaded_workspace import WorkspaceCache
from prophase.study.feedback.store import FeedbackStore
from prophase.trace.workspace import Workspace

JOB = {"job_id": "n1", "user": "newcomer", "gpus": 1, "duration_s": "1h", "status": "completed"}


def report(client: TestClient, *jobs: dict[str, Any]) -> list[str]:
    said = client.post("/v1/observe", json={"jobs": list(jobs)})
    assert said.status_code == 200, said.text
    return [one["result"] for one in said.json()["jobs"]]


def test_a_report_counts_once_however_often_it_is_sent(client: TestClient) -> None:
    assert report(client, JOB) == ["taken"]
    assert report(client, JOB, JOB) == ["known", "known"]
    assert report(client, {**JOB, "duration_s": "2h"}) == ["differs"]
    assert client.get("/v1/observe").json()["reported"] == 1


def test_of_concurrent_reports_of_one_job_exactly_one_is_taken(workspace: Path) -> None:
    store = FeedbackStore(workspace)
    ready = threading.Barrier(8)

    def send(number: int) -> str:
        ready.wait()
        return store.add([{"job_id": "same", "duration_s": float(number)}], "ci")[0]

    with ThreadPoolExecutor(8) as pool:
        outcomes = sorted(pool.map(send, range(8)))
    assert outcomes == ["differs"] * 7 + ["taken"]
    assert len(store.since(0)) == store.count == 1
    store.close()


@pytest.mark.parametrize(
    ("job", "words"),
    [
        ({"duration_s": 5}, "needs a job_id"),
        ({"job_id": "x" * 201, "duration_s": 5}, "needs a job_id"),
        ({"job_id": "1", "user": "ann"}, "says nothing that was measured"),
        ({"job_id": "1", "duration_s": -5}, "never below 0"),
        ({"job_id": "1", "duration_s": "soon"}, "is not a duration"),
        ({"job_id": "1", "duration_s": 5, "status": "done"}, "status 'done' is unknown"),
        ({"job_id": "1", "duration_s": 5, "status": "running"}, "when it has ended"),
        ({"job_id": "1", "start_s": 9, "end_s": 5, "duration_s": 1}, "before it started"),
        ({"job_id": "1", "gpus": 1, "request_gpus": 2, "duration_s": 1}, "a second time"),
    ],
)
def test_a_report_that_makes_no_sense_is_refused_whole(
    client: TestClient, job: dict[str, Any], words: str
) -> None:
    said = client.post("/v1/observe", json={"jobs": [JOB, job]})
    assert said.status_code == 422
    assert words in said.json()["detail"]
    assert client.get("/v1/observe").json()["reported"] == 0


def test_predictions_learn_from_reports_and_still_do_after_a_restart(
    workspace: Path, serve: Serve
) -> None:
    client = serve()
    asked = {"jobs": [{"user": "newcomer"}], "targets": ["duration_s"]}
    before = client.post("/v1/predict", json=asked).json()["predictions"][0]
    report(client, *({**JOB, "job_id": f"n{n}", "duration_s": 77} for n in range(40)))
    client.post("/v1/reload")
    after = client.post("/v1/predict", json=asked).json()["predictions"][0]
    assert (before["stratum"], after["stratum"]) != ("partly", "new")
    assert abs(np.log(after["value"] / 77)) < abs(np.log(before["value"] / 77))
    assert client.get("/v1/observe").json() == {"reported": 40, "learnt": 40}
    again = serve()
    again.post("/v1/reload")
    assert again.post("/v1/predict", json=asked).json()["predictions"][0] == after


def test_a_report_of_a_job_that_the_history_has_is_not_learnt_twice(workspace: Path) -> None:
    library = WorkspaceCache(workspace)
    row = Workspace(workspace).read("jobs").dropna(subset=["duration_s"]).iloc[0]
    library.feedback.add([{"job_id": str(row["job_id"]), "duration_s": 5.0}], "ci")
    before = len(library.now.model.predictors["duration_s"].history_)
    library.learn_reported()
    assert len(library.now.model.predictors["duration_s"].history_) == before
    library.close()


def test_profiles_after_reports_are_those_of_a_batch_recomputed(
    workspace: Path, client: TestClient
) -> None:
    """Mean and quantiles agree within 1 %."""
    history = ended_jobs(Workspace(workspace).read("jobs")).jobs
    profiler = WorkloadProfiler.load(workspace / "models" / "profiles.model")
    draw = np.random.default_rng(1)
    metrics = list(profiler.columns_)
    fresh = history.sample(80, random_state=2).reset_index(drop=True)
    fresh["job_id"] = [f"f{n}" for n in range(len(fresh))]
    for name in {*metrics, "duration_s"}:
        fresh[name] = fresh[name] * np.exp(draw.normal(0, 0.1, len(fresh)))
    names = [n for n in ["job_id", "user", "duration_s", *metrics] if n in fresh]
    rows = [
        {name: value for name, value in row.items() if not pd.isna(value)}
        for row in fresh[list(dict.fromkeys(names))].to_dict("records")
    ]
    assert set(report(client, *rows)) == {"taken"}
    labels = np.concatenate([profiler.recognise(history).labels, profiler.predict(fresh)])
    table = pd.concat([profiler.recognise(history).jobs, fresh], ignore_index=True)
    told = {one["profile"]: one for one in client.get("/v1/profiles").json()["profiles"]}
    compared = 0
    for number, one in told.items():
        part = table[labels == number]
        assert one["n"] == len(part)
        for metric, summary in one["dynamic"].items():
            values = part[metric].dropna().to_numpy(float)
            assert summary["mean"] == pytest.approx(values.mean(), rel=0.01)
            for share in ("q05", "q50", "q95"):
                truth = np.quantile(values, int(share[1:]) / 100)
                assert summary["quantiles"][share] == pytest.approx(truth, rel=0.01, abs=1e-9)
                compared += 1
    assert compared > 10


def test_a_full_disk_is_told_and_the_report_can_be_sent_again(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    from prophase.study.feedback import store

    real = store._written

    def full(base: Any, connection: Any, orders: Any) -> Any:
        connection.exec_driver_sql("PRAGMA max_page_count=1")
        try:
            return real(base, connection, orders)
        finally:
            connection.exec_driver_sql("PRAGMA max_page_count=1000000")

    monkeypatch.setattr(store, "_written", full)
    job = {**JOB, **{f"attr_note_{number}": "x" * 9_000 for number in range(8)}}
    said = client.post("/v1/observe", json={"jobs": [job]})
    assert said.status_code == 507
    assert "no space left on the device" in said.json()["detail"]
    monkeypatch.setattr(store, "_written", real)
    assert report(client, job) == ["taken"]


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "service").write_text("a file", encoding="utf-8")
    with pytest.raises(StorageError):
        FeedbackStore(tmp_path).add([{"job_id": "1", "duration_s": 1.0}], "ci")


def test_a_damaged_database_is_told(workspace: Path) -> None:
    (workspace / "service").mkdir(exist_ok=True)
    (workspace / "service" / "feedback.sqlite").write_bytes(b"no database" * 1000)
    with pytest.raises(StorageError, match="cannot be kept"):
        FeedbackStore(workspace)


def test_what_was_confirmed_survives_a_kill(workspace: Path, run: Run) -> None:
    """The real program, killed in the middle of reports, has every job that it confirmed."""
    service = run(workspace, "--open")
    confirmed: list[str] = []
    with httpx.Client(base_url=service.address, timeout=60) as client:
        for number in range(20):
            job = {"job_id": f"k{number}", "duration_s": 5}
            said = client.post("/v1/observe", json={"jobs": [job]})
            confirmed.append(said.json()["jobs"][0]["job_id"])
    service.process.kill()
    service.process.wait()
    store = FeedbackStore(workspace)
    assert {job["job_id"] for _, job in store.since(0)} >= set(confirmed)
    assert store.add([{"job_id": "k0", "duration_s": 5.0}], "ci") == ["known"]
    store.close()
