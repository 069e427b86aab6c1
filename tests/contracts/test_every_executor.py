"""What every executor must do, whatever it runs on."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from prophase.errors import ExecutorError
from prophase.runs.executor import Assignment, Executor, make_executor
from prophase.runs.pipeline import pipeline_of
from prophase.runs.yamlfile import YamlFile

PIPELINE = """
name: contract
scenario: [word]
sample_every: 1s
tasks:
  say: {command: "echo {word} {date}", memory: 256MiB, image: busybox}
  then: {command: "sh -c 'sleep 0.2'", memory: 256MiB, after: say, image: busybox}
"""
BROKEN = PIPELINE.replace("sleep 0.2", "exit 3")


@pytest.fixture(params=["local", "noop", "kubernetes"])
def executor(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Executor]:
    if request.param != "kubernetes":
        yield make_executor(request.param, tmp_path)
        return
    pytest.importorskip("kubernetes", reason='needs pip install "prophase[kubernetes]"')
    sys.path.append(str(Path(__file__).parents[1] / "integrations"))
    from kube_api import running_kube_api

    from prophase.integrations.kubernetes.executor import KubernetesExecutor

    with running_kube_api() as (_, client):
        yield KubernetesExecutor(tmp_path, api_client=client)


def assignment(text: str = PIPELINE) -> Assignment:
    pipeline = pipeline_of(YamlFile(text, "pipeline.yaml"))
    day = date(2024, 1, 31)
    return Assignment(7, "hello", {"word": "hello"}, day, "0123456789abcdef", pipeline, None)


def until_end(check, job: Assignment):
    end = time.monotonic() + 120
    while True:
        found = check(job)
        if found.progress != "running":
            return found
        assert time.monotonic() < end
        time.sleep(0.05)


def deployed(executor: Executor, job: Assignment) -> Assignment:
    job = replace(job, dag_id=executor.deploy(job))
    assert until_end(executor.check_deploy, job).progress == "succeeded"
    return job


def test_a_run_goes_through_all_three_steps_and_yields_a_row_per_task(executor):
    job = deployed(executor, assignment())
    job = replace(job, run_id=executor.execute(job))
    assert until_end(executor.check_execute, job).progress == "succeeded"
    job = replace(job, profiling_id=executor.profile(job))
    rows = until_end(executor.check_profile, job).task_rows
    assert sorted(row["task"] for row in rows if row["status"] == "completed") == ["say", "then"]
    assert all(row["attempt"] >= 1 for row in rows)


def test_triggers_may_be_repeated_and_name_the_same_thing(executor):
    job = assignment()
    assert executor.deploy(job) == executor.deploy(job)
    job = deployed(executor, job)
    assert executor.execute(job) == executor.execute(job)
    job = replace(job, run_id=executor.execute(job))
    until_end(executor.check_execute, job)
    assert executor.execute(job) == job.run_id
    assert executor.check_execute(job).progress == "succeeded"
    assert executor.profile(job) == executor.profile(job)


def test_checks_may_be_repeated(executor):
    job = deployed(executor, assignment())
    assert executor.check_deploy(job) == executor.check_deploy(job)


def test_a_task_that_fails_fails_the_run_with_a_reason_that_names_it(executor):
    if executor.name == "noop":
        return
    job = deployed(executor, assignment(BROKEN))
    job = replace(job, run_id=executor.execute(job))
    found = until_end(executor.check_execute, job)
    assert found.progress == "failed"
    assert "task then" in found.reason
    with pytest.raises(ExecutorError, match="not finished successfully"):
        executor.profile(job)


def test_allocations_repairs_and_tidying_are_always_allowed(executor):
    executor.allocate({"say": {"memory_gib": 0.25}})
    executor.allocate({})
    assert executor.tidy([assignment()]) == []
    assert executor.repair(assignment()) is None
