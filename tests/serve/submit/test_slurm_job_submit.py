from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.serve.submit.conftest import history, set_policy

_NO_VAL = 0xFFFFFFFE
JOB = {
    "name": "bert", "user_name": "ann", "account": "nlp", "partition": "ml", "min_nodes": 1,
    "cpus_per_task": 4, "pn_min_memory": 16 * 1024, "time_limit": 240,
    "tres_per_node": "gres:gpu:1", "num_tasks": _NO_VAL, "priority": _NO_VAL,
}  # fmt: skip


@pytest.fixture
def patient(workspace: Path) -> Path:
    """A workspace that sets requests; its jobs have a name and no task."""
    from prophase.sizing.recommender import learn_recommender
    from prophase.trace.workspace_paths import REQUESTS

    learn_recommender(history().drop(columns=["task"])).save(workspace / REQUESTS)
    policy = '[submit]\nmode = "set"\nbudget_ms = 10000\nresources = ["memory", "time"]\n'
    set_policy(workspace, policy + '[submit.namespaces.quiet]\nmode = "dry-run"\n')
    return workspace


def _ask(client: TestClient, job: dict[str, Any], **more: Any) -> dict[str, Any]:
    reply = client.post("/v1/submit/slurm", json={"job": job, **more})
    assert reply.status_code == 200, reply.text
    answer: dict[str, Any] = reply.json()
    return answer


def test_a_known_job_is_told_its_fields(patient: Path, client: TestClient) -> None:
    found = _ask(client, JOB)
    assert found["apply"] is True
    assert 2458 <= found["job"]["pn_min_memory"] < 4096
    assert 10 <= found["job"]["time_limit"] < 240
    assert found["counsel"]["duration_s"]["value"] > 0
    assert "runs used at most" in found["reason"]


def test_after_a_kill_the_next_rung_is_advised(patient: Path, client: TestClient) -> None:
    asked = [_ask(client, JOB, attempt=n)["job"]["pn_min_memory"] for n in (1, 2, 3)]
    assert asked == sorted(set(asked))
    assert asked[-1] >= 16 * 1024


def test_dry_run_advises_and_applies_nothing(patient: Path, client: TestClient) -> None:
    found = _ask(client, {**JOB, "partition": "quiet"})
    assert found["apply"] is False
    assert found["outcome"] == "dry-run"
    assert found["job"]["pn_min_memory"] < 16 * 1024


def test_memory_per_cpu_is_understood(patient: Path, client: TestClient) -> None:
    found = _ask(client, {**JOB, "pn_min_memory": 4096 | (1 << 63)})
    held = {one["resource"]: one for one in found["counsel"]["requests"]}
    assert held["memory"]["asked"] == 16


@pytest.mark.parametrize(
    "job",
    [
        {"min_nodes": -1},
        {"pn_min_memory": "much"},
        {"time_limit": True},
        {"tres_per_node": "gpu:a:b:c"},
    ],
)
def test_fields_that_make_no_sense_leave_the_job_as_it_is(
    patient: Path, client: TestClient, job: dict[str, Any]
) -> None:
    found = _ask(client, {**JOB, **job})
    assert (found["apply"], found["job"], found["outcome"]) == (False, {}, "failed")
    assert found["reason"]


def test_a_job_that_says_nothing_is_left_alone(patient: Path, client: TestClient) -> None:
    assert _ask(client, {})["apply"] is False
    assert client.post("/v1/submit/slurm", json={"jobs": []}).status_code == 422
