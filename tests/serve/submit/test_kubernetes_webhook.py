from __future__ import annotations

import copy
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from tests.serve.submit import objects
from tests.serve.submit.conftest import set_policy

from prophase import units
from prophase.serve.submit.kubernetes_limit_ranges import RequestBounds
from prophase.serve.submit.policy import SubmitPolicy
from prophase.serve.submit.submission_service import open_submission_service
from prophase.serve.tokens import TokenStore
from prophase.trace.workspace_paths import PREDICTIONS

Client = TestClient


def _admit(client: Client, document: Any, **request: Any) -> dict[str, Any]:
    reply = client.post("/v1/submit/kubernetes", json=objects.review(document, **request))
    assert reply.status_code == 200, reply.text
    answer: dict[str, Any] = reply.json()
    assert answer["kind"] == "AdmissionReview"
    assert answer["response"]["uid"] == objects.review(None)["request"]["uid"]
    return answer


def _outcome(answer: dict[str, Any]) -> str:
    return str(answer["response"]["auditAnnotations"]["outcome"])


def _memory(pod: dict[str, Any], part: str = "requests") -> float:
    return units.parse_quantity(pod["spec"]["containers"][0]["resources"][part]["memory"]) / 2**30


def _desk(client: Client) -> Any:
    app = client.app
    assert isinstance(app, FastAPI)
    return open_submission_service(app)


@pytest.fixture
def patient(workspace: Path) -> Path:
    """A workspace that sets requests and takes its time, for a machine that is busy."""
    set_policy(workspace, '[submit]\nmode = "set"\nbudget_ms = 10000\n')
    return workspace


def test_by_default_nothing_is_changed_and_what_would_be_is_told(
    workspace: Path, client: Client
) -> None:
    assert (SubmitPolicy.of({}).rules.mode, SubmitPolicy.of({}).budget_ms) == ("dry-run", 100)
    set_policy(workspace, "[submit]\nbudget_ms = 10000\n")
    answer = _admit(client, objects.job())
    assert _outcome(answer) == "dry-run"
    assert "patch" not in answer["response"]
    assert "would set requests" in answer["response"]["auditAnnotations"]["reason"]
    told = client.get("/v1/submit/decisions").json()["decisions"][0]
    assert (told["kind"], told["name"], told["outcome"]) == ("Job", "bert", "dry-run")
    assert told["patch"] == []


@pytest.mark.parametrize("make", [objects.pod, objects.job, objects.cron_job])
def test_the_patch_is_valid_and_so_is_what_it_makes(
    patient: Path, client: Client, make: Any
) -> None:
    document = make()
    objects.check(document)
    before = copy.deepcopy(document)
    answer = _admit(client, document)
    assert _outcome(answer) == "set"
    after = objects.applied(document, answer)
    objects.check(after)
    assert document == before
    assert after["metadata"]["annotations"]["prophase.dev/decided"] == "set"
    assert after["metadata"]["labels"]["prophase.dev/duration-class"] in ("under-10m", "under-1h")


@pytest.mark.parametrize(
    ("make", "path"),
    [
        (objects.py_torch_job, "pytorchReplicaSpecs.Worker.template"),
        (objects.py_torch_job, "pytorchReplicaSpecs.Master.template"),
        (objects.volcano_job, "tasks.0.template"),
        (objects.job_set, "replicatedJobs.0.template.spec.template"),
        (objects.ray_job, "rayClusterSpec.workerGroupSpecs.0.template"),
    ],
)
def test_training_jobs_are_patched_in_every_part(
    patient: Path, client: Client, make: Any, path: str
) -> None:
    document = make()
    template = objects.applied(document, _admit(client, document))["spec"]
    for key in path.split("."):
        template = template[int(key) if key.isdigit() else key]
    objects.check({"apiVersion": "v1", "kind": "Pod", **template})
    assert _memory(template) < 16
    assert template["metadata"]["annotations"]["prophase.dev/reason"]


def test_requests_shrink_limits_stay_and_the_ladder_ends_at_what_was_asked(
    patient: Path, client: Client
) -> None:
    after = objects.applied(objects.pod(), _admit(client, objects.pod()))
    notes = after["metadata"]["annotations"]
    assert 2.4 <= _memory(after) < 4
    assert _memory(after, "limits") == 16
    assert after["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "4"
    assert notes["prophase.dev/asked-memory"] == "16384Mi"
    assert notes["prophase.dev/memory-ladder"].endswith(",16384Mi")
    assert 500 <= float(notes["prophase.dev/predicted-duration-seconds"]) <= 1300
    assert "runs used at most" in notes["prophase.dev/reason"]


def test_limits_follow_and_cpu_is_set_if_the_policy_says_so(
    workspace: Path, client: Client
) -> None:
    set_policy(
        workspace,
        '[submit]\nmode = "set"\nbudget_ms = 10000\nlimits = "set"\n'
        'resources = ["memory", "cpu"]\n',
    )
    after = objects.applied(objects.pod(), _admit(client, objects.pod()))
    objects.check(after)
    assert _memory(after, "limits") == _memory(after) < 4
    assert after["spec"]["containers"][0]["resources"]["requests"]["cpu"].endswith("m")
    assert "cpu" not in after["spec"]["containers"][0]["resources"]["limits"]


def test_namespaces_and_labels_decide(workspace: Path, client: Client) -> None:
    set_policy(
        workspace,
        '[submit]\nmode = "off"\nbudget_ms = 10000\n[submit.namespaces."ml*"]\nmode = "annotate"\n'
        '[submit.namespaces.shy]\nmode = "set"\nonly_labelled = true\n',
    )
    assert _outcome(_admit(client, objects.pod(), namespace="web")) == "off"
    answer = _admit(client, objects.pod(), namespace="ml-2")
    assert _outcome(answer) == "annotated"
    after = objects.applied(objects.pod(), answer)
    assert _memory(after) == 16
    assert after["metadata"]["annotations"]["prophase.dev/advised-memory"]
    assert _outcome(_admit(client, objects.pod(), namespace="shy")) == "off"
    named = objects.pod(labels={**objects.LABELS, "prophase.dev/mode": "set"})
    assert _outcome(_admit(client, named, namespace="shy")) == "set"
    # a label asks for less than the namespace allows, never for more
    assert _outcome(_admit(client, named, namespace="ml-2")) == "annotated"


def test_pods_of_a_decided_job_are_left_alone_until_they_are_retried(
    patient: Path, client: Client
) -> None:
    after = objects.applied(objects.job(), _admit(client, objects.job()))
    template = after["spec"]["template"]
    owner = objects.owner("Job", "j-1")
    made = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**template["metadata"], "generateName": "bert-", "ownerReferences": [owner]},
        "spec": template["spec"],
    }
    first = _admit(client, made, uid=objects.review(None)["request"]["uid"])
    assert _outcome(first) == "skipped"
    reply = client.post("/v1/submit/kubernetes", json=objects.review(made, uid="second")).json()
    assert _outcome(reply) == "retried"
    again = objects.applied(made, reply)
    objects.check(again)
    assert _memory(made) < _memory(again) <= 16


def test_a_test_run_of_the_api_server_counts_no_attempt(patient: Path, client: Client) -> None:
    owner = objects.owner("Job", "j-2")
    made = objects.pod(ownerReferences=[owner], annotations={"prophase.dev/decided": "set"})
    for uid in ("a", "b", "c"):
        asked = objects.review(made, uid=uid, dryRun=True)
        assert _outcome(client.post("/v1/submit/kubernetes", json=asked).json()) == "skipped"


def test_services_and_updates_pass_untouched(patient: Path, client: Client) -> None:
    owner = objects.owner("ReplicaSet", "r")
    assert _outcome(_admit(client, objects.pod(ownerReferences=[owner]))) == "skipped"
    assert _outcome(_admit(client, objects.job(), operation="UPDATE")) == "skipped"
    assert _outcome(_admit(client, objects.pod(), subResource="status")) == "skipped"
    assert _outcome(_admit(client, None)) == "skipped"
    assert _outcome(_admit(client, {"kind": "ConfigMap", "apiVersion": "v1"})) == "skipped"


def test_several_containers_are_told_apart_by_a_label(patient: Path, client: Client) -> None:
    document = objects.pod()
    beside = {"name": "logs", "resources": {"requests": {"memory": "512Mi"}}}
    document["spec"]["containers"].append(beside)
    answer = _admit(client, document)
    assert _outcome(answer) == "annotated"
    assert "several containers" in answer["response"]["auditAnnotations"]["reason"]
    document["metadata"]["labels"]["prophase.dev/container"] = "main"
    after = objects.applied(document, _admit(client, document))
    assert 1.5 < _memory(after) < 4
    assert after["spec"]["containers"][1] == beside


@pytest.mark.parametrize(
    "broken",
    [
        {"spec": {"containers": "none"}},
        {"spec": {"containers": []}},
        {"spec": {"containers": [{"resources": {"requests": {"memory": "much"}}}]}},
        {"spec": {"containers": [3]}},
        {"metadata": {"labels": ["a"]}},
        {"metadata": []},
        {"spec": None},
    ],
)
def test_an_object_that_makes_no_sense_passes_for_the_api_server_to_refuse(
    patient: Path, client: Client, broken: dict[str, Any]
) -> None:
    answer = _admit(client, {**objects.pod(), **broken})
    assert "patch" not in answer["response"]
    assert _outcome(answer) in ("failed", "skipped")


@pytest.mark.parametrize("body", ["{", "[]", '{"request": {}}', '{"request": {"uid": ""}}'])
def test_what_is_no_review_is_refused_in_words(client: Client, body: str) -> None:
    reply = client.post(
        "/v1/submit/kubernetes", content=body, headers={"content-type": "application/json"}
    )
    assert reply.status_code in (400, 422)
    assert reply.headers["content-type"] == "application/problem+json"
    assert reply.json()["detail"]


def test_without_a_model_objects_are_annotated_with_what_is_missing(
    patient: Path, client: Client
) -> None:
    for file in (patient / "models").iterdir():
        file.unlink()
    _desk(client).library.reload(force=True)
    answer = _admit(client, objects.pod())
    assert _outcome(answer) == "annotated"
    assert "prophase learn" in answer["response"]["auditAnnotations"]["reason"]


def test_a_corrupt_model_keeps_the_one_before_it(patient: Path, client: Client) -> None:
    (patient / PREDICTIONS).write_bytes(b"PK not a model")
    _desk(client).library.reload(force=False)
    assert _outcome(_admit(client, objects.pod())) == "set"


def test_an_error_inside_passes_the_object_unchanged(
    patient: Path, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("a mistake")

    monkeypatch.setattr("prophase.serve.submit.kubernetes_webhook.decide", broken)
    answer = _admit(client, objects.pod())
    assert _outcome(answer) == "failed"
    assert "a mistake" not in str(answer)


def test_an_answer_that_would_be_late_is_given_without_a_patch(
    workspace: Path, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_policy(workspace, '[submit]\nmode = "set"\nbudget_ms = 20\n')
    asleep = threading.Event()

    def slow(*_: Any, **__: Any) -> None:
        asleep.wait(60)

    monkeypatch.setattr("prophase.serve.submit.kubernetes_webhook.decide", slow)
    began = time.monotonic()
    answer = _admit(client, objects.pod())
    took = time.monotonic() - began
    asleep.set()
    assert _outcome(answer) == "late"
    assert took < 30


def test_answers_come_while_the_model_is_loaded_anew(
    patient: Path, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    loading, go_on = threading.Event(), threading.Event()
    from prophase.serve import loaded_workspace as library

    load = library.load_model_of

    def slowly(name: str, path: Path) -> Any:
        loading.set()
        assert go_on.wait(60)
        return load(name, path)

    monkeypatch.setattr(library, "load_model_of", slowly)
    held = _desk(client).library
    reloading = threading.Thread(target=held.reload, kwargs={"force": True})
    reloading.start()
    assert loading.wait(60)
    # the load cannot end before the answer
    assert _outcome(_admit(client, objects.pod())) == "set"
    assert reloading.is_alive()
    go_on.set()
    reloading.join(60)
    assert _outcome(_admit(client, objects.pod())) == "set"


def test_a_broken_policy_changes_nothing(workspace: Path, client: Client) -> None:
    set_policy(workspace, '[submit]\nmode = "sett"\n')
    assert _outcome(_admit(client, objects.pod())) == "off"


def test_a_token_is_needed_unless_the_policy_lets_the_api_server_in(
    workspace: Path, client: Client
) -> None:
    TokenStore(workspace).add("ann", "read")
    asked = objects.review(objects.pod())
    assert client.post("/v1/submit/kubernetes", json=asked).status_code == 401
    set_policy(workspace, "[submit]\ntoken = false\n")
    _desk(client)._policy._looked_s = -10.0
    assert client.post("/v1/submit/kubernetes", json=asked).status_code == 200
    assert client.get("/v1/submit/decisions").status_code == 401


def test_outcomes_are_counted(patient: Path, client: Client) -> None:
    _admit(client, objects.pod())
    told = client.get("/metrics").text
    assert 'prophase_submissions_total{outcome="set",system="kubernetes"} 1.0' in told
    assert 'prophase_submission_seconds_count{system="kubernetes"} 1.0' in told
    assert 'prophase_submitted_memory_gib_total{outcome="set",what="asked"} 16.0' in told


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ({"min": {"memory": "8Gi"}}, 8.0),
        ({"maxLimitRequestRatio": {"memory": "2"}}, 8.0),
        ({"min": {"memory": "16Gi"}}, 16.0),
        ({"min": {"memory": "1Gi"}, "maxLimitRequestRatio": {"cpu": "2"}}, None),
    ],
)
def test_no_request_is_set_below_what_a_limit_range_allows(
    patient: Path,
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
    item: dict[str, Any],
    expected: float | None,
) -> None:
    ranges = [{"spec": {"limits": [{"type": "Container", **item}]}}]
    monkeypatch.setattr(_desk(client), "bounds_of", lambda space: RequestBounds.of(ranges))
    document = objects.pod()
    after = objects.applied(document, _admit(client, document))
    if expected is None:
        assert 2.4 <= _memory(after) < 4
    else:
        assert _memory(after) == expected
