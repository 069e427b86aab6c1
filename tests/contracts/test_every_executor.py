"""What every executor must do, whatever it runs on."""

from __future__ import annotations

import sys
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parents[1] / "integrations"))
from airflow_server import running_airflow

from prophase.errors import ExecutorError
from prophase.integrations.airflow.executor import AirflowExecutor
from prophase.runs._yaml_file import YamlFile
from prophase.runs.executor import Assignment, Executor, ExecutorCheck, make_executor
from prophase.runs.pipeline import pipeline_of

PIPELINE = """
name: contract
scenario: [word]
sample_every: 1s
tasks:
  say: {command: "echo {word} {date}", memory: 256MiB, image: busybox}
  then: {command: "sh -c 'sleep 0.2'", memory: 256MiB, after: say, image: busybox}
"""
#: fails until the file exists that the scenario names
BROKEN = PIPELINE.replace("sleep 0.2", "test -e {word} || exit 3")
ENDLESS = PIPELINE.replace("echo {word} {date}", "sleep 600")
HUNGRY = """
name: hungry
scenario: [word]
sample_every: 1s
tasks:
  need:
    command: ["{python}", -S, -c, "x = bytearray(180 * 2**20)"]
    memory: 1GiB
"""


EXECUTORS = ["local", "noop", "kubernetes", "airflow"]


@pytest.fixture(scope="module")
def airflow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Any]]:
    with running_airflow(tmp_path_factory.mktemp("airflow")) as running:
        yield running


@pytest.fixture(params=EXECUTORS)
def executor(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Executor]:
    if request.param == "airflow":
        home, api = request.getfixturevalue("airflow")
        yield AirflowExecutor(tmp_path, api=api, dags=home.dags)
    elif request.param == "kubernetes":
        pytest.importorskip("kubernetes", reason='needs pip install "prophase[kubernetes]"')
        from kube_api import running_kube_api

        from prophase.integrations.kubernetes.executor import KubernetesExecutor

        with running_kube_api() as (_, client):
            made = KubernetesExecutor(tmp_path, api_client=client)
            yield made
            made.close()
    else:
        yield make_executor(request.param, tmp_path)


@pytest.fixture
def campaign() -> str:
    """A name of its own for each test: all share one Airflow."""
    return uuid.uuid4().hex[:6]


@pytest.fixture
def assignment(campaign: str) -> Callable[..., Assignment]:
    def make(text: str = PIPELINE, **attributes: object) -> Assignment:
        pipeline = pipeline_of(YamlFile(text, "pipeline.yaml"))
        values = {"word": "hello", **attributes}
        day, version = date(2024, 1, 31), "0123456789abcdef"
        return Assignment(7, "hello", values, day, version, pipeline, None, campaign=campaign)

    return make


def until_end(check, job: Assignment):
    end = time.monotonic() + 600
    while True:
        found = check(job)
        if found.progress != "running":
            return found
        assert time.monotonic() < end
        time.sleep(0.05)


def executed(executor: Executor, job: Assignment) -> tuple[Assignment, ExecutorCheck]:
    job = replace(job, run_id=executor.execute(job))
    return job, until_end(executor.check_execute, job)


def deployed(executor: Executor, job: Assignment) -> Assignment:
    job = replace(job, dag_id=executor.deploy(job))
    assert until_end(executor.check_deploy, job).progress == "succeeded"
    return job


def test_a_run_goes_through_all_three_steps_and_yields_a_row_per_task(executor, assignment):
    job, found = executed(executor, deployed(executor, assignment()))
    assert found.progress == "succeeded"
    job = replace(job, profiling_id=executor.profile(job))
    rows = until_end(executor.check_profile, job).task_rows
    assert sorted(row["task"] for row in rows if row["status"] == "completed") == ["say", "then"]
    assert all(row["attempt"] >= 1 for row in rows)
    # set back to where it had been executed
    job = replace(job, resets=1)
    job = replace(job, profiling_id=executor.profile(job))
    assert until_end(executor.check_profile, job).task_rows == rows


def test_triggers_and_checks_may_be_repeated_and_name_the_same_thing(executor, assignment):
    job = assignment()
    assert executor.deploy(job) == executor.deploy(job)
    job = deployed(executor, job)
    assert executor.check_deploy(job) == executor.check_deploy(job)
    assert executor.execute(job) == executor.execute(job)
    job, _ = executed(executor, job)
    assert executor.execute(job) == job.run_id
    assert executor.check_execute(job).progress == "succeeded"
    assert executor.profile(job) == executor.profile(job)


def test_a_failed_task_fails_the_run_by_name_and_after_a_reset_only_it_runs_again(
    executor, assignment, tmp_path
):
    if executor.name == "noop":
        return
    mended = tmp_path / "mended"
    job, found = executed(executor, deployed(executor, assignment(BROKEN, word=str(mended))))
    assert found.progress == "failed"
    assert "task then" in found.reason
    with pytest.raises(ExecutorError, match="not finished successfully"):
        executor.profile(job)
    kept = sorted((row["task"], row["status"]) for row in executor.ended_attempts(job))
    assert kept == [("say", "completed"), ("then", "failed")]
    mended.touch()
    job, found = executed(executor, replace(job, resets=1))
    assert found.progress == "succeeded"
    rows = executor.check_profile(replace(job, profiling_id=executor.profile(job))).task_rows
    told = sorted((row["task"], row["attempt"], row["status"]) for row in rows)
    assert told == [("say", 1, "completed"), ("then", 1, "failed"), ("then", 2, "completed")]


def test_what_runs_out_of_memory_is_lifted_from_what_is_set_and_recorded(executor, assignment):
    if executor.name == "noop":
        return
    executor.allocate({"need": {"memory_gib": 0.125}})
    job, found = executed(executor, deployed(executor, assignment(HUNGRY)))
    assert found.progress == "succeeded", found.reason
    rows = executor.check_profile(replace(job, profiling_id=executor.profile(job))).task_rows
    told = [(r["status"], r["request_memory_gib"], r.get("at_least_gib")) for r in rows]
    assert told == [("oom", 0.125, 0.125), ("completed", 0.25, None)]


def test_what_nobody_waits_for_is_ended_and_other_campaigns_are_left_alone(
    executor, assignment, campaign
):
    if executor.name == "noop":
        return
    job = deployed(executor, assignment(ENDLESS))
    job = replace(job, run_id=executor.execute(job))
    assert executor.check_execute(job).progress == "running"
    if executor.name != "local":
        # its folder is the campaign's own
        assert executor.tidy([], "another") == []
    assert executor.tidy([job], campaign) == []
    end = time.monotonic() + 60
    while not (done := executor.tidy([], campaign)):
        assert time.monotonic() < end
        time.sleep(0.1)
    assert "nobody waits for" in done[0]


def test_allocations_repairs_and_tidying_are_always_allowed(executor, assignment, campaign):
    executor.allocate({"say": {"memory_gib": 0.25}})
    executor.allocate({})
    assert executor.tidy([assignment()], campaign) == []
    assert executor.repair(assignment()) is None
