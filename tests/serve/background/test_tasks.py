"""Long work: in a process of its own, followed, cancelled, and remembered."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from fastapi.testclient import TestClient
from tests.serve.conftest import Serve

from prophase.serve.background.tasks import BackgroundTasks
from prophase.serve.problems import Problem
from prophase.serve.settings import ServiceSettings
from prophase.serve.tokens import TokenStore


def ended(client: TestClient, task: str) -> dict[str, Any]:
    for _ in range(100):
        told: dict[str, Any] = client.get(f"/v1/tasks/{task}?wait=5").json()
        if told["state"] in ("done", "failed", "cancelled"):
            return told
    raise AssertionError(f"the task does not end: {told}")


def test_a_replay_runs_in_the_background_and_its_result_stays(
    workspace: Path, serve: Serve
) -> None:
    client = serve()
    started = client.post("/v1/simulate", json={"cluster": "30x8", "leave_out_unfit": True})
    assert started.status_code == 202
    assert started.headers["location"] == f"/v1/tasks/{started.json()['id']}"
    told = ended(client, started.json()["id"])
    assert told["state"] == "done", told["error"]
    assert told["result"]["order"] == "fifo"
    assert "result" not in client.get("/v1/tasks").json()[0]
    assert 'prophase_tasks{state="done"} 1.0' in client.get("/metrics").text
    assert serve().get(f"/v1/tasks/{told['id']}").json()["result"] == told["result"]


def test_what_is_asked_wrongly_fails_in_the_words_of_the_command(client: TestClient) -> None:
    asked = {"cluster": "30x8", "by": "usr", "leave_out_unfit": True}
    told = ended(client, client.post("/v1/simulate", json=asked).json()["id"])
    assert (told["state"], told["code"], told["result"]) == ("failed", "ParameterError", None)
    assert "no column 'usr' to form classes by" in told["error"]
    assert "Did you mean 'user'?" in told["error"]


def test_who_waits_for_a_task_that_fails_gets_the_problem_and_may_still_look_it_up(
    client: TestClient,
) -> None:
    asked = {"cluster": "30x8", "by": "usr", "leave_out_unfit": True}
    said = client.post("/v1/simulate?wait=50", json=asked)
    assert (said.status_code, said.headers["content-type"]) == (422, "application/problem+json")
    found = client.get(said.headers["location"], params={"wait": 5})
    assert (found.status_code, found.json()["state"]) == (200, "failed")
    assert said.json()["detail"] == found.json()["error"]
    assert said.json()["code"] == found.json()["code"]


def test_a_task_is_cancelled_while_it_waits_or_runs(client: TestClient) -> None:
    asked = {"cluster": "30x8", "load": [1.5], "seeds": 200, "leave_out_unfit": True}
    running, waiting = (client.post("/v1/whatif", json=asked).json()["id"] for _ in range(2))
    for task in (waiting, running):
        assert client.delete(f"/v1/tasks/{task}").json()["state"] == "cancelled"
    assert [one["state"] for one in client.get("/v1/tasks").json()] == ["cancelled"] * 2
    again = client.delete(f"/v1/tasks/{running}")
    assert again.json()["state"] == "cancelled"


def test_too_many_tasks_are_refused_first_to_one_caller_then_to_all(
    workspace: Path, client: TestClient
) -> None:
    store = TokenStore(workspace)
    asked = {"cluster": "30x8", "load": [1.5], "seeds": 200, "leave_out_unfit": True}

    def ask_as(name: str, times: int) -> list[int]:
        token = {"authorization": f"Bearer {store.add(name, 'read')}"}
        said = [client.post("/v1/whatif", json=asked, headers=token) for _ in range(times)]
        assert said[-1].status_code < 400 or "Cancel one" in said[-1].json()["detail"]
        return [one.status_code for one in said]

    assert ask_as("ann", 11) == [202] * 10 + [429]
    assert ask_as("bob", 10) == [202] * 10
    assert ask_as("eve", 1) == [503]


def test_a_task_that_the_end_of_the_service_interrupted_is_told_so(tmp_path: Path) -> None:
    folder = tmp_path / "service" / "tasks"
    folder.mkdir(parents=True)
    held = {
        "id": "ab", "kind": "learn", "arguments": {}, "started_by": "ann", "state": "running",
        "asked_at": "2026-01-01T00:00:00",
    }  # fmt: skip
    (folder / "ab.json").write_text(json.dumps(held), encoding="utf-8")
    (folder / "cd.json").write_text("{", encoding="utf-8")
    tasks = BackgroundTasks(tmp_path)
    assert tasks.get("ab").state == "failed"
    assert "stopped before" in str(tasks.get("ab").error)
    with pytest.raises(Problem, match="no task 'cd'"):
        tasks.get("cd")


def test_a_process_that_dies_without_a_word_is_told(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from prophase.serve.background import tasks as module

    monkeypatch.setattr(module.sys, "executable", "/bin/false")
    tasks = BackgroundTasks(workspace)
    task = tasks.start("learn", {}, "ann")
    for _ in range(600):
        if tasks.get(task.id).ended:
            break
        time.sleep(0.1)
    assert tasks.get(task.id).error == "the process ended with code 1 without a result."


def test_unknown_work_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="no background work of kind 'mischief'"):
        BackgroundTasks(tmp_path).start("mischief", {}, "ann")


def test_reported_jobs_are_watched_and_the_mended_models_taken_over(tmp_path: Path) -> None:
    from prophase.profile.predict.job_model import learn
    from prophase.serve.app import create_app
    from prophase.serve.background.task_kinds import result_of
    from prophase.trace.workspace import Workspace
    from prophase.trace.workspace_paths import PREDICTIONS

    draw = np.random.default_rng(0)
    submit = 60.0 * np.arange(700)
    run = 60.0 * np.exp(draw.normal(0, 0.3, 700))
    history = pd.DataFrame(
        {
            "job_id": [f"h{n}" for n in range(700)],
            "user": draw.choice(list("abc"), 700),
            "submit_s": submit,
            "duration_s": run,
            "end_s": submit + run,
        }
    )
    folder = Workspace.create(tmp_path / "ws").folder
    Workspace(folder).store_frames({"jobs": history}, source="made", source_hash="made")
    learn(history, ["duration_s"], data_hash="made").save(folder / PREDICTIONS)
    late = float(submit[-1])
    jobs = [
        {"job_id": f"w{n}", "user": "a", "duration_s": 60.0, "submit_s": late + n}
        for n in range(30)
    ]
    with TestClient(create_app(folder, ServiceSettings(open=True, reload_every_s=0))) as client:
        assert client.get("/v1/drift").json()["watching"] is False
        client.post("/v1/observe", json={"jobs": jobs})
        told = result_of("watch", folder, {}, lambda step, percent: None)
        assert (told["watched_jobs"], told["waiting_jobs"]) == (30, 0)
        client.post("/v1/reload")
        said = client.get("/v1/drift").json()
        assert (said["watching"], said["reported_jobs"]) == (True, 30)
        assert said["state"] == told["state"]
        # the watcher taught the predictor these jobs, so the service does not once more
        model = client.app.state.library.now.model  # type: ignore[attr-defined]
        assert len(model.predictors["duration_s"].history_) == 730


def test_the_next_task_is_done_by_the_process_that_waits_but_not_by_a_stopped_one(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from prophase.serve.background import tasks as module

    started, begin = [], module._worker
    monkeypatch.setattr(module, "_worker", lambda: started.append(begin()) or started[-1])
    tasks = BackgroundTasks(workspace)

    def state(task: str) -> str:
        for _ in range(600):
            if tasks.get(task).ended:
                break
            time.sleep(0.05)
        return tasks.get(task).state

    wrong = [state(tasks.start("simulate", {"cluster": name}, "ann").id) for name in ("a", "b")]
    assert (wrong, len(started)) == (["failed", "failed"], 1)
    tasks.cancel(going := tasks.start("simulate", {"cluster": "c"}, "ann").id)
    assert state(going) in ("cancelled", "failed")
    assert state(tasks.start("simulate", {"cluster": "d"}, "ann").id) == "failed"
    assert "'d'" in str(tasks.all()[0].error), tasks.all()[0].error
    tasks.close()
    assert all(process.poll() is not None for process in started)
