"""Objects of Kueue as its API server has them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

NOW_S = 1_760_000_000.0
GPU = "nvidia.com/gpu"


def when(seconds: float) -> str:
    """Return an instant before or after now as Kubernetes writes it."""
    return datetime.fromtimestamp(NOW_S + seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def cluster_queue(
    name: str,
    gpus: float,
    *,
    cohort: str = "",
    limits: Mapping[str, str] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """Return a ClusterQueue with GPUs of one flavor, ``a100``."""
    quota = {"name": GPU, "nominalQuota": str(gpus), **(limits or {})}
    groups = [{"coveredResources": [GPU], "flavors": [{"name": "a100", "resources": [quota]}]}]
    return {
        "metadata": {"name": name},
        "spec": {"cohortName": cohort, "resourceGroups": groups, **spec},
    }


def local_queue(name: str, of: str, namespace: str = "ml", **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"clusterQueue": of, **spec},
    }


def workload(
    name: str,
    queue: str,
    gpus: float,
    *,
    created: float,
    began: float | None = None,
    ended: float | None = None,
    cluster: str = "",
    priority: int = 0,
    **spec: Any,
) -> dict[str, Any]:
    """Return a Workload; times in seconds from now, ``cluster`` is what admitted it."""
    asked = {"resources": {"requests": {GPU: str(gpus)}}}
    pods = [{"name": "main", "count": 1, "template": {"spec": {"containers": [asked]}}}]
    conditions, status = [], {}
    if began is not None:
        given = {"name": "main", "flavors": {GPU: "a100"}, "resourceUsage": {GPU: str(gpus)}}
        status["admission"] = {"clusterQueue": cluster, "podSetAssignments": [given]}
        for kind in ("QuotaReserved", "Admitted"):
            conditions.append({"type": kind, "status": "True", "lastTransitionTime": when(began)})
    if ended is not None:
        conditions.append({"type": "Finished", "status": "True", "lastTransitionTime": when(ended)})
    return {
        "metadata": {
            "name": f"job-{name}",
            "namespace": "ml",
            "creationTimestamp": when(created),
            "ownerReferences": [{"kind": "Job", "name": name}],
        },
        "spec": {"queueName": queue, "podSets": pods, "priority": priority, **spec},
        "status": {**status, "conditions": conditions},
    }


def saved(folder: Path, **kinds: Sequence[Mapping[str, Any]]) -> Path:
    """Write objects as ``prophase queue kueue --out`` does."""
    folder.mkdir(exist_ok=True)
    for kind in ("workloads", "clusterqueues", "localqueues", "resourceflavors", "cohorts"):
        (folder / f"{kind}.json").write_text(json.dumps({"items": list(kinds.get(kind, ()))}))
    (folder / "now.txt").write_text(f"{NOW_S:.0f}\n")
    return folder
