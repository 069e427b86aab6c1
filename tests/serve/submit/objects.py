"""Objects as they are submitted, and how the API server would look at them."""

from __future__ import annotations

import base64
import copy
import json
from typing import Any

import jsonpatch
import kubernetes_validate

VERSION = "1.31"
LABELS = {"example.com/team": "nlp", "app": "bert", "user": "ann", "task": "train"}


def pod_spec(**more: Any) -> dict[str, Any]:
    container = {
        "name": "main",
        "image": "bert:1",
        "resources": {
            "requests": {"cpu": "4", "memory": "16Gi"},
            "limits": {"memory": "16Gi", "nvidia.com/gpu": "1"},
        },
    }
    return {"restartPolicy": "Never", "containers": [container], **more}


def pod(**metadata: Any) -> dict[str, Any]:
    held = {"generateName": "bert-", "labels": dict(LABELS), **metadata}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": held, "spec": pod_spec()}


def job(**spec: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": dict(LABELS)}, "spec": pod_spec()}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "bert", "labels": dict(LABELS)},
        "spec": {"backoffLimit": 2, "template": template, **spec},
    }


def cron_job() -> dict[str, Any]:
    inner = job()
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "nightly", "labels": dict(LABELS)},
        "spec": {"schedule": "0 3 * * *", "jobTemplate": {"spec": inner["spec"]}},
    }


def py_torch_job() -> dict[str, Any]:
    part = {
        "replicas": 2,
        "template": {"metadata": {"labels": {"app": "bert"}}, "spec": pod_spec()},
    }
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "bert", "labels": dict(LABELS)},
        "spec": {"pytorchReplicaSpecs": {"Master": copy.deepcopy(part), "Worker": part}},
    }


def volcano_job() -> dict[str, Any]:
    task = {"name": "train", "replicas": 3, "template": {"spec": pod_spec()}}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "bert", "labels": dict(LABELS)},
        "spec": {"minAvailable": 3, "tasks": [task]},
    }


def job_set() -> dict[str, Any]:
    part = {"name": "train", "replicas": 2, "template": {"spec": job()["spec"]}}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "bert", "labels": dict(LABELS)},
        "spec": {"replicatedJobs": [part]},
    }


def ray_job() -> dict[str, Any]:
    group = {"groupName": "train", "replicas": 2, "template": {"spec": pod_spec()}}
    cluster = {"headGroupSpec": {"template": {"spec": pod_spec()}}, "workerGroupSpecs": [group]}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {"name": "bert", "labels": dict(LABELS)},
        "spec": {"rayClusterSpec": cluster},
    }


def owner(kind: str, uid: str) -> dict[str, Any]:
    held = {"kind": kind, "name": "bert", "uid": uid, "controller": True}
    return {"apiVersion": "batch/v1" if kind == "Job" else "apps/v1", **held}


def review(document: Any, **request: Any) -> dict[str, Any]:
    asked = {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "operation": "CREATE",
        "namespace": "ml",
        "userInfo": {"username": "ann"},
        "object": document,
        **request,
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": asked}


def applied(document: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    """Return the object after the patch of an answer, as the API server applies it."""
    response = answer["response"]
    assert response["allowed"] is True
    if "patch" not in response:
        return document
    assert response["patchType"] == "JSONPatch"
    operations = json.loads(base64.b64decode(response["patch"], validate=True))
    after: dict[str, Any] = jsonpatch.JsonPatch(operations).apply(document)
    return after


def check(document: dict[str, Any]) -> None:
    """Refuse what the official schema of Kubernetes does not allow."""
    kubernetes_validate.validate(document, VERSION, strict=True)
