"""Sizes as a Kustomize component, for manifests of jobs (five kinds) and of services.

Only requests and limits of the first container change: a strategic merge patch would replace the
container lists of custom resources, and a JSON patch fails where a manifest has no limits yet.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from prophase.sizing.exports.kind_requests import (
    KindRequests,
    LeftOut,
    dns_name,
    mebibytes,
    millicores,
    whole,
    yaml_text,
)

HEAD = """\
# Requests for Kubernetes, as a Kustomize component. Save as sizes/kustomization.yaml and add to
# your own kustomization.yaml:
#   components: [sizes]
# It changes the first container of each pod, and nothing where no manifest has the name.
"""
_CONFIG_MAP = "prophase-sizes"


class _PodSpecs(NamedTuple):
    group: str
    #: where a role's pods are specified; "" for any role
    paths: dict[str, str]


_POD = "template.spec"
#: kind of workload -> where its pods are specified
_WORKLOADS = {
    "Job": _PodSpecs("batch", {"": f"spec.{_POD}"}),
    "CronJob": _PodSpecs("batch", {"": f"spec.jobTemplate.spec.{_POD}"}),
    "JobSet": _PodSpecs("jobset.x-k8s.io", {"": f"spec.replicatedJobs.*.template.spec.{_POD}"}),
    "PyTorchJob": _PodSpecs(
        "kubeflow.org",
        {
            "": f"spec.pytorchReplicaSpecs.Worker.{_POD}",
            "master": f"spec.pytorchReplicaSpecs.Master.{_POD}",
        },
    ),
    "RayJob": _PodSpecs(
        "ray.io",
        {
            "": f"spec.rayClusterSpec.workerGroupSpecs.*.{_POD}",
            "head": f"spec.rayClusterSpec.headGroupSpec.{_POD}",
        },
    ),
    "Deployment": _PodSpecs("apps", {"": f"spec.{_POD}"}),
    "StatefulSet": _PodSpecs("apps", {"": f"spec.{_POD}"}),
}
#: what pods of services may not have, since they never end
_DEADLINE = "activeDeadlineSeconds"
#: resource -> (key in a manifest, how it is written)
_QUANTITIES = {
    "memory_gib": ("memory", mebibytes),
    "cpu_cores": ("cpu", millicores),
    "gpus": (r"nvidia\.com/gpu", whole),
}


def write(asked: Sequence[KindRequests], left_out: LeftOut) -> str:
    """Return the component; a restarted pod asks for the same, so there is one rung per kind."""
    literals: list[str] = []
    replacements: list[dict[str, object]] = []
    names: dict[str, int] = {}
    lines = []
    # a number at the end is what a CronJob gives its jobs, and whoever generates names: a manifest
    # has none
    named = [replace(one, kind=one.kind.removesuffix("-#")) for one in asked]
    for one in left_out.expressible(
        named, (*_QUANTITIES, "time_limit_s"), attempts=False, patterns=False
    ):
        lines.append(one.comment)
        key = dns_name(f"{one.tenant} {one.kind}")
        names[key] = names.get(key, 0) + 1
        key += f".{names[key]}" if names[key] > 1 else ""
        for name, fields in _values(one).items():
            for value, ends in fields.items():
                held = f"{key}.{name}" + ("" if len(fields) == 1 else f".{ends[0].split('.')[-2]}")
                literals.append(f"{held}={value}")
                replacements.append(_replacement(one, held, ends))
    component = {
        "apiVersion": "kustomize.config.k8s.io/v1alpha1",
        "kind": "Component",
        "configMapGenerator": [
            {
                "name": _CONFIG_MAP,
                "literals": literals,
                "options": {
                    "disableNameSuffixHash": True,
                    # holds the values while Kustomize runs, and is not applied
                    "annotations": {"config.kubernetes.io/local-config": "true"},
                },
            }
        ],
        "replacements": replacements,
    }
    told = "".join(f"# {said}\n" for said in [*left_out.sentences(), *lines])
    # a line for each target
    return HEAD + told + yaml_text(component, flow=None)


def _values(one: KindRequests) -> dict[str, dict[str, list[str]]]:
    """Return what is set: name -> value -> the ends of the paths that get it."""
    found: dict[str, dict[str, list[str]]] = {}
    for resource, (key, write_one) in _QUANTITIES.items():
        if resource not in one.ladders:
            continue
        request, limit = (f"containers.0.resources.{part}.{key}" for part in ("requests", "limits"))
        first = one.at(resource, 1)
        # whoever has too few cores is slowed down, not killed: room up to the last rung
        most = max(one.ladders[resource]) if resource == "cpu_cores" else first
        values: dict[str, list[str]] = {}
        values.setdefault(write_one(first), []).append(request)
        values.setdefault(write_one(most), []).append(limit)
        found[resource.split("_")[0]] = values
    if "time_limit_s" in one.ladders:
        found["time"] = {whole(one.at("time_limit_s", 1)): [_DEADLINE]}
    return found


def _replacement(one: KindRequests, held: str, ends: list[str]) -> dict[str, object]:
    kinds = [one.workload_kind] if one.workload_kind in _WORKLOADS else list(_WORKLOADS)
    targets = []
    for kind in kinds:
        group, paths = _WORKLOADS[kind]
        if group == "apps" and _DEADLINE in ends:
            continue
        role = next((role for role in paths if role and _role(one.kind) == role), "")
        select = {"group": group, "kind": kind, "name": dns_name(one.kind)}
        if one.tenant:
            select["namespace"] = one.tenant
        fields = [f"{paths[role]}.{end}" for end in ends]
        targets.append({"select": select, "fieldPaths": fields, "options": {"create": True}})
    path = "data." + held.replace(".", r"\.")
    return {
        "source": {"kind": "ConfigMap", "name": _CONFIG_MAP, "fieldPath": path},
        "targets": targets,
    }


def _role(kind: str) -> str:
    return re.split(r"[^a-z]+", kind.lower())[-1]
