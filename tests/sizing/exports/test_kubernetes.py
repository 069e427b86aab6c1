"""Sizes for Kubernetes: Kustomize applies them to manifests of five kinds."""

from __future__ import annotations

import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from prophase.sizing.exports import write_for
from prophase.sizing.exports.kind_requests import KindRequests
from prophase.units import parse_quantity

sys.path.append(str(Path(__file__).parent))
from engines import ASKED, engine, run

CONTAINERS = [
    {"name": "main", "image": "a:1", "resources": {"requests": {"example.com/nic": 1}}},
    {"name": "side", "image": "b:1"},
]
POD = {"spec": {"restartPolicy": "Never", "containers": CONTAINERS}}
HEAD = {"spec": {"containers": [{"name": "ray-head", "image": "c:1"}]}}
#: kind -> (apiVersion, spec, where the sized pod is)
MANIFESTS: dict[str, tuple[str, dict[str, Any], list[Any]]] = {
    "Job": ("batch/v1", {"template": POD}, ["template"]),
    "CronJob": (
        "batch/v1",
        {"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": POD}}},
        ["jobTemplate", "spec", "template"],
    ),
    "JobSet": (
        "jobset.x-k8s.io/v1alpha2",
        {"replicatedJobs": [{"name": "workers", "template": {"spec": {"template": POD}}}]},
        ["replicatedJobs", 0, "template", "spec", "template"],
    ),
    "PyTorchJob": (
        "kubeflow.org/v1",
        {
            "pytorchReplicaSpecs": {
                "Master": {"replicas": 1, "template": HEAD},
                "Worker": {"replicas": 3, "template": POD},
            }
        },
        ["pytorchReplicaSpecs", "Worker", "template"],
    ),
    "RayJob": (
        "ray.io/v1",
        {
            "entrypoint": "python train.py",
            "rayClusterSpec": {
                "headGroupSpec": {"rayStartParams": {}, "template": HEAD},
                "workerGroupSpecs": [
                    {
                        "groupName": "gpu",
                        "replicas": 2,
                        "minReplicas": 2,
                        "maxReplicas": 2,
                        "rayStartParams": {},
                        "template": POD,
                    }
                ],
            },
        },
        ["rayClusterSpec", "workerGroupSpecs", 0, "template"],
    ),
}


SERVICES = ("Deployment", "StatefulSet")
MANIFESTS |= {
    kind: ("apps/v1", {"selector": {"matchLabels": {"app": "a"}}, "template": POD}, ["template"])
    for kind in SERVICES
}


def built(folder: Path, asked: list[KindRequests], manifests: list[dict[str, Any]]) -> list[Any]:
    """Return the manifests as Kustomize makes them with the sizes."""
    kustomize = engine("kustomize")
    (folder / "sizes").mkdir()
    (folder / "sizes" / "kustomization.yaml").write_text(write_for("kubernetes", asked).text)
    (folder / "jobs.yaml").write_text(yaml.safe_dump_all(manifests))
    (folder / "kustomization.yaml").write_text("resources: [jobs.yaml]\ncomponents: [sizes]\n")
    done = run(kustomize, "build", ".", folder=folder)
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


def manifest(kind: str, name: str, namespace: str = "team") -> dict[str, Any]:
    version, spec, _ = MANIFESTS[kind]
    return {
        "apiVersion": version, "kind": kind, "spec": deepcopy(spec),
        "metadata": {"name": name, "namespace": namespace},
    }  # fmt: skip


def pod_of(document: dict[str, Any]) -> dict[str, Any]:
    found = document["spec"]
    for step in MANIFESTS[document["kind"]][2]:
        found = found[step]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("kind", MANIFESTS)
def test_kustomize_sizes_the_first_container_and_nothing_else(kind: str, tmp_path: Path) -> None:
    before = manifest(kind, "align")
    (after,) = built(tmp_path, ASKED, [before])
    pod = pod_of(after)
    assert pod["spec"]["containers"][0].pop("resources") == {
        "requests": {"cpu": 1, "memory": "103Mi", "example.com/nic": 1},
        "limits": {"cpu": "1500m", "memory": "103Mi"},
    }
    assert pod["spec"].pop("activeDeadlineSeconds", None) == (None if kind in SERVICES else 90)
    pod_of(before)["spec"]["containers"][0].pop("resources")
    assert after == before


@pytest.mark.parametrize("kind", MANIFESTS)
def test_the_sized_manifest_is_valid_and_its_limits_are_not_below_its_requests(
    kind: str, tmp_path: Path
) -> None:
    (after,) = built(tmp_path, ASKED, [manifest(kind, "train")])
    pod = pod_of(after)
    version = kubernetes_validate.latest_version()
    metadata = {"metadata": {"name": "pod"}}
    kubernetes_validate.validate(
        {"apiVersion": "v1", "kind": "Pod", **metadata, "spec": pod["spec"]}, version, strict=True
    )
    if kind in ("Job", "CronJob", *SERVICES):
        kubernetes_validate.validate(after, version, strict=True)
    held = pod["spec"]["containers"][0]["resources"]
    assert held["limits"]["nvidia.com/gpu"] == held["requests"]["nvidia.com/gpu"] == 1
    for name, limit in held["limits"].items():
        assert parse_quantity(str(limit)) >= parse_quantity(str(held["requests"][name]))


def test_another_name_and_another_namespace_stay_as_they_are(tmp_path: Path) -> None:
    asked = [KindRequests("Train_Me", {"memory_gib": (2.0, 4.0)}, tenant="a", workload_kind="Job")]
    names = [("train-me", "a"), ("train-me", "b"), ("serve", "a")]
    after = built(tmp_path, asked, [manifest("Job", *names) for names in names])
    sized = {
        (one["metadata"]["name"], one["metadata"]["namespace"])
        for one in after
        if "limits" in pod_of(one)["spec"]["containers"][0]["resources"]
    }
    assert sized == {("train-me", "a")}


def test_roles_of_a_gang_are_sized_apart(tmp_path: Path) -> None:
    asked = [
        KindRequests("fit", {"memory_gib": (2.0,)}, workload_kind="PyTorchJob"),
        KindRequests("serve head", {"memory_gib": (3.0,)}, workload_kind="RayJob"),
    ]
    fit, serve = built(
        tmp_path, asked, [manifest("PyTorchJob", "fit"), manifest("RayJob", "serve-head")]
    )
    assert "resources" not in str(fit["spec"]["pytorchReplicaSpecs"]["Master"])
    assert "2048Mi" in str(fit["spec"]["pytorchReplicaSpecs"]["Worker"])
    assert "3072Mi" in str(serve["spec"]["rayClusterSpec"]["headGroupSpec"])
    assert "3072Mi" not in str(serve["spec"]["rayClusterSpec"]["workerGroupSpecs"])
