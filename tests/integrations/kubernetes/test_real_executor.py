"""Runs as Jobs of a real API server, with real controllers and scheduler; kwok plays the pods."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from tools.kubernetes_referee import KubernetesReferee

pytest.importorskip("kubernetes", reason='needs pip install "prophase[kubernetes]"')

from prophase.integrations.kubernetes.executor import KubernetesExecutor
from prophase.runs._yaml_file import YamlFile
from prophase.runs.executor import Assignment, ExecutorCheck
from prophase.runs.pipeline import pipeline_of

PIPELINE = """
name: Two
scenario: [mib]
node_memory: 1GiB
tasks:
  first_task: {command: "true", memory: 256MiB, cpu_cores: 0.5}
  second: {command: [oom-at, 64Mi], memory: 64MiB, after: first_task}
"""


@pytest.fixture
def executor(real_kube: KubernetesReferee, tmp_path: Path) -> Iterator[KubernetesExecutor]:
    from kubernetes import config

    client = config.new_client_from_config(str(real_kube.kubeconfig))
    made = KubernetesExecutor(tmp_path, api_client=client, namespace=real_kube.namespace())
    yield made
    made.close()
    client.close()


def _started(executor: KubernetesExecutor) -> Assignment:
    pipeline = pipeline_of(YamlFile(PIPELINE, "p.yaml"))
    job = Assignment(1, "EU, north", {"mib": 9}, date(2024, 1, 1), "f" * 40, pipeline, None)
    job = replace(job, dag_id=executor.deploy(job))
    assert executor.check_deploy(job).progress == "succeeded"
    return replace(job, run_id=executor.execute(job))


def _until_end(executor: KubernetesExecutor, job: Assignment) -> ExecutorCheck:
    end = time.monotonic() + 120
    while (found := executor.check_execute(job)).progress == "running":
        assert time.monotonic() < end
        time.sleep(0.1)
    return found


def test_jobs_run_in_order_and_a_killed_task_is_tried_with_more(
    executor: KubernetesExecutor, real_kube: KubernetesReferee
) -> None:
    job = _started(executor)
    assert _until_end(executor, job).progress == "succeeded"
    executor.profile(job)
    rows = executor.check_profile(job).task_rows
    assert [(row["task"], row["attempt"], row["end_cause"]) for row in rows] == [
        ("first_task", 1, None), ("second", 1, "host_memory"), ("second", 2, None),
    ] or [(row["task"], row["attempt"]) for row in rows] == [
        ("first_task", 1), ("second", 1), ("second", 2),
    ]  # fmt: skip
    assert rows[1]["status"] != "completed"
    assert rows[2]["request_memory_gib"] > rows[1]["request_memory_gib"]

    def counted() -> bool:
        states = [
            one["status"] for one in real_kube.get("jobs", namespace=executor.namespace)["items"]
        ]
        return all(one.get("succeeded") or one.get("failed") for one in states)

    # the Job controller counts an ended pod about a second later
    real_kube.wait_until(counted, "the Jobs' own end")
    assert executor.tidy([]) == []


def test_the_watch_survives_restarts_of_the_api_server(
    executor: KubernetesExecutor, real_kube: KubernetesReferee
) -> None:
    job = _started(executor)
    executor.check_execute(job)
    for _ in range(2):
        real_kube.restart("kube-apiserver")
    ended = None
    until = time.monotonic() + 120
    while ended is None:
        assert time.monotonic() < until
        try:
            found = executor.check_execute(job)
        except Exception:
            # the API server is not back yet
            time.sleep(0.2)
            continue
        if found.progress != "running":
            ended = found
        time.sleep(0.1)
    assert ended.progress == "succeeded"
    jobs = real_kube.get("jobs", namespace=executor.namespace)["items"]
    # every attempt was started once
    assert len(jobs) == 3


def test_a_service_account_without_rights_is_told_so(
    real_kube: KubernetesReferee, tmp_path: Path
) -> None:
    from kubernetes import config

    from prophase.errors import ExecutorError

    client = config.new_client_from_config(str(real_kube.kubeconfig_of("bob")))
    made = KubernetesExecutor(tmp_path, api_client=client, namespace=real_kube.namespace())
    with pytest.raises(ExecutorError, match=r'403: .*User "bob" cannot create'):
        _started(made)
    made.close()
    client.close()
