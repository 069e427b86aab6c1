"""What a real Airflow does only rarely; the rest is in tests/contracts/test_every_executor.py."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from prophase.errors import ExecutorError, ParameterError
from prophase.integrations.airflow.api import AirflowApiError
from prophase.integrations.airflow.executor import AirflowExecutor
from prophase.runs._yaml_file import YamlFile
from prophase.runs.executor import Assignment, executor_names
from prophase.runs.pipeline import pipeline_of

PIPELINE = """
name: small
tasks:
  first: {command: "true"}
  second: {command: "python {code}/work.py", after: first}
"""


class FakeApi:
    """Answers from a dictionary of paths and remembers what was changed."""

    def __init__(self) -> None:
        self.there: dict[tuple[str, ...], Any] = {("version",): {"version": "3"}}
        self.done: list[tuple[str, tuple[str, ...], dict[str, Any]]] = []

    def get(self, *path: str, **query: Any) -> Any:
        if path not in self.there:
            raise AirflowApiError("Airflow says 404: not found", 404)
        return self.there[path]

    def all_of(self, key: str, *path: str, **query: Any) -> Any:
        return self.there.get(path, [])

    def post(self, *path: str, body: dict[str, Any]) -> Any:
        self.done.append(("POST", path, body))
        if path[-1] == "dagRuns":
            there = (*path, body["dag_run_id"])
            if there in self.there:
                raise AirflowApiError("Airflow says 409: already exists", 409)
            self.there[there] = {"state": "queued", "note": body["note"]}
        return {"task_instances": [1]}

    def patch(self, *path: str, body: dict[str, Any], **query: Any) -> Any:
        self.done.append(("PATCH", path, body))
        self.there[path] |= body

    def set_variable(self, key: str, value: str, description: str) -> None:
        self.done.append(("VARIABLE", (key,), json.loads(value)))


@pytest.fixture
def airflow(tmp_path: Path) -> tuple[FakeApi, AirflowExecutor]:
    api = FakeApi()
    return api, AirflowExecutor(tmp_path / "campaign", api=api, dags=tmp_path / "dags")


@pytest.fixture
def job(tmp_path: Path) -> Assignment:
    code = tmp_path / "versions" / "f"
    code.mkdir(parents=True)
    (code / "work.py").write_text("print('working')")
    pipeline = pipeline_of(YamlFile(PIPELINE, "p.yaml"))
    day = date(2024, 1, 1)
    return Assignment(1, "EU, nörth", {}, day, "f" * 40, pipeline, code, campaign="abc123")


def begun(executor: AirflowExecutor, job: Assignment) -> Assignment:
    job = replace(job, dag_id=executor.deploy(job))
    return replace(job, run_id=executor.execute(job))


def test_a_deployment_has_the_dag_the_scenario_and_the_code(airflow, job, tmp_path):
    _, executor = airflow
    dag_id = executor.deploy(job)
    place = tmp_path / "dags" / "prophase_dags" / dag_id
    assert dag_id.isascii()
    assert (place / "code" / "work.py").exists()
    assert (place / ".airflowignore").read_text() == "code/\n"
    assert "pipeline_dag" in (place / "dag.py").read_text()
    assert json.loads((place / "deployment.json").read_text())["tasks"]["second"] == ["first"]


def test_a_dag_that_is_not_read_yet_is_waited_for_and_a_paused_one_unpaused(airflow, job):
    api, executor = airflow
    job = replace(job, dag_id=executor.deploy(job))
    assert executor.check_deploy(job).progress == "running"
    api.there["dags", job.dag_id] = {"is_stale": False, "is_paused": True}
    assert executor.check_deploy(job).progress == "succeeded"
    assert api.done[-1] == ("PATCH", ("dags", job.dag_id), {"is_paused": False})


def test_a_dag_that_cannot_be_read_fails_with_the_last_line_of_what_airflow_says(airflow, job):
    api, executor = airflow
    job = replace(job, dag_id=executor.deploy(job))
    told = "Traceback\n  ...\nModuleNotFoundError: No module named 'prophase'\n"
    error = {"filename": f"prophase_dags/{job.dag_id}/dag.py", "stack_trace": told}
    api.there[("importErrors",)] = [error]
    found = executor.check_deploy(job)
    assert found.progress == "failed"
    assert found.reason == (
        "Airflow cannot read the DAG: ModuleNotFoundError: No module named 'prophase'"
    )


def test_a_deployment_that_is_gone_or_changed_is_noticed(airflow, job, tmp_path):
    _, executor = airflow
    assert "is not there" in executor.check_deploy(job).reason
    dag_id = executor.deploy(job)
    path = tmp_path / "dags" / "prophase_dags" / dag_id / "deployment.json"
    path.write_text("{}")
    assert "not what was registered" in executor.check_deploy(job).reason
    with pytest.raises(ExecutorError, match="Register the scenarios again"):
        executor.deploy(replace(job, code=tmp_path / "gone"))


def test_a_run_that_somebody_deleted_in_airflow_is_triggered_again(airflow, job):
    api, executor = airflow
    job = begun(executor, job)
    del api.there["dags", job.dag_id, "dagRuns", job.run_id]
    assert executor.check_execute(job).progress == "running"
    assert ("dags", job.dag_id, "dagRuns", job.run_id) in api.there


def test_after_a_reset_failed_tasks_are_cleared_once(airflow, job):
    api, executor = airflow
    job = begun(executor, job)
    run = api.there["dags", job.dag_id, "dagRuns", job.run_id]
    run["state"] = "failed"
    job = replace(job, resets=1)
    executor.execute(job)
    executor.execute(job)
    cleared = [body for _, path, body in api.done if path[-1] == "clearTaskInstances"]
    assert len(cleared) == 1
    assert cleared[0]["only_failed"]


def test_a_run_that_failed_without_a_record_says_what_airflow_knows(airflow, job):
    api, executor = airflow
    job = begun(executor, job)
    api.there["dags", job.dag_id, "dagRuns", job.run_id]["state"] = "failed"
    assert "marked the DAG run as failed" in executor.check_execute(job).reason
    path = ("dags", job.dag_id, "dagRuns", job.run_id, "taskInstances")
    api.there[path] = [{"task_id": "first"}]
    assert "task first: failed in Airflow" in executor.check_execute(job).reason


def test_a_stuck_run_is_unpaused_and_its_running_tasks_are_begun_again(airflow, job):
    api, executor = airflow
    job = begun(executor, job)
    api.there["dags", job.dag_id] = {"is_paused": True}
    assert executor.repair(job) == "unpaused its DAG, cleared 1 running task"


def test_allocations_are_reported_once_and_only_if_they_changed(airflow, job):
    api, executor = airflow
    job = begun(executor, job)
    executor.allocate({"first": {"memory_gib": 2.0}})
    executor.check_execute(job)
    executor.check_execute(job)
    told = [entry for entry in api.done if entry[0] == "VARIABLE"]
    assert told == [("VARIABLE", ("prophase_allocations_abc123",), {"first": {"memory_gib": 2.0}})]


def test_the_executor_is_found_by_name_and_says_what_it_needs(tmp_path, monkeypatch, job):
    assert "airflow" in executor_names()
    for name in ("PROPHASE_AIRFLOW_URL", "PROPHASE_AIRFLOW_DAGS", "AIRFLOW_HOME"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ParameterError, match="PROPHASE_AIRFLOW_URL"):
        AirflowExecutor(tmp_path).deploy(job)
    with pytest.raises(ParameterError, match="PROPHASE_AIRFLOW_DAGS"):
        AirflowExecutor(tmp_path, api=FakeApi()).deploy(job)
