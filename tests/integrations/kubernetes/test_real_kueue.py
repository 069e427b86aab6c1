"""Kueue's objects read from a real API server, and what is said where they cannot be read.

The definitions of Kueue's kinds are the least that the API server needs to keep such objects.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from tests.sim.kueue.kueue_objects import cluster_queue, local_queue, workload
from tools.kubernetes_referee import KubernetesReferee

pytest.importorskip("kubernetes", reason='needs pip install "prophase[kubernetes]"')

GROUP, VERSION = "kueue.x-k8s.io", "v1beta2"
#: kind -> whether it lives in a namespace
KINDS = {
    "Workload": True,
    "ClusterQueue": False,
    "LocalQueue": True,
    "ResourceFlavor": False,
    "Cohort": False,
}


def definition(kind: str) -> dict[str, Any]:
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{plural}.{GROUP}",
            # a group of the project's own name must say that it was not reviewed
            "annotations": {"api-approved.kubernetes.io": "unapproved, for tests"},
        },
        "spec": {
            "group": GROUP,
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "scope": "Namespaced" if KINDS[kind] else "Cluster",
            "versions": [version],
        },
    }


def of(kind: str, document: dict[str, Any], namespace: str) -> dict[str, Any]:
    about = {name: value for name, value in document["metadata"].items() if name == "name"}
    if KINDS[kind]:
        about["namespace"] = namespace
    return {**document, "apiVersion": f"{GROUP}/{VERSION}", "kind": kind, "metadata": about}


def asked(kube: KubernetesReferee, *words: str, user: str = "admin") -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "prophase", "queue", *words],
        capture_output=True, text=True, check=False,
        env={**os.environ, "KUBECONFIG": str(kube.kubeconfig_of(user))},
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def with_kueue(real_kube: KubernetesReferee) -> Iterator[str]:
    """A namespace with a queue of eight GPUs: one Workload runs and two wait."""
    code, _, said = asked(real_kube, "kueue")
    assert code != 0
    assert "Kueue is not installed in this cluster" in said
    definitions = [definition(kind) for kind in KINDS]
    real_kube.apply(*definitions)
    for one in definitions:
        real_kube.kubectl("wait", "--for=condition=Established", f"crd/{one['metadata']['name']}")
    space = real_kube.namespace()
    works = [
        workload("now", "train", 8, created=-90, began=-60, cluster="q"),
        workload("next", "train", 8, created=-50),
        workload("small", "train", 2, created=-50),
    ]
    real_kube.apply(
        of("ClusterQueue", cluster_queue("q", 8), space),
        of("LocalQueue", local_queue("train", "q", space), space),
        *(of("Workload", one, space) for one in works),
    )
    yield space
    for one in definitions:
        real_kube.kubectl("delete", "crd", one["metadata"]["name"], "--wait=false")


def test_a_pending_workload_is_explained_from_the_live_api_server(
    real_kube: KubernetesReferee, with_kueue: str
) -> None:
    code, said, wrong = asked(real_kube, "kueue", "--format", "json")
    assert code == 0, wrong
    found = json.loads(said)
    assert (found["running"], found["waiting"]) == (1, 2)
    code, said, wrong = asked(real_kube, "why", f"{with_kueue}/job-next", "--kueue")
    assert code == 0, wrong
    assert "8 of nvidia.com/gpu in a100 asked, 0 free" in " ".join(said.split())
    code, said, wrong = asked(real_kube, "eta", "job-next", "--kueue", "--format", "json")
    assert code == 0, wrong
    assert "50 are needed" in json.loads(said)["reason"]
    code, _, wrong = asked(real_kube, "kueue", user="ann")
    assert code != 0
    assert "cannot list resource" in wrong
