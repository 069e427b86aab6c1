"""Kubernetes manifests: Job, Pod, CronJob and the training jobs of Kubeflow.

An instance is a pod: requests are those of all its containers together. A request that is
not set equals the limit, as for the scheduler. Labels and annotations say who asks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from prophase import units
from prophase.errors import InputError
from prophase.json_types import JsonMapping, JsonObject
from prophase.profile.submission.submission import Submission, number_for
from prophase.trace.schema import JOBS

FORM = "Kubernetes manifest"
#: last part of a label or annotation -> column; earlier words win
OWNER_WORDS = {
    "user": ("user", "username", "owner", "submitter", "created-by"),
    "group": ("group", "team", "project", "account", "cost-center"),
    "queue": ("queue-name", "queue", "local-queue"),
    "workload": ("workload", "app", "application", "model"),
    "task": ("task", "role", "component", "replica-type"),
}
_GPU_TYPE = ("gpu.product", "gke-accelerator", "gpu-type", "accelerator", "gpu.model", "gpu-model")
_RESOURCES = ("cpu", "memory")
#: kind that makes its pods by another kind -> that kind, which owns them
_PODS_OF = {"CronJob": "Job", "JobSet": "Job", "RayJob": "RayCluster"}


def is_manifest(document: object) -> bool:
    """Say whether a parsed document is a Kubernetes object."""
    return isinstance(document, Mapping) and "kind" in document and "apiVersion" in document


def from_manifest(document: JsonMapping, where: str) -> list[Submission]:
    """Return the jobs of one manifest; a training job has one per role.

    Examples
    --------
    >>> job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"labels": {"team": "nlp"}}}
    >>> pod = {"containers": [{"resources": {"limits": {"nvidia.com/gpu": 2}}}]}
    >>> job["spec"] = {"parallelism": 4, "template": {"spec": pod}}
    >>> dict(from_manifest(job, "job.yaml")[0].columns)
    {'group': 'nlp', 'instances': 4.0, 'request_gpus': 2.0, 'attr_owner_kind': 'Job'}
    """
    kind = str(document.get("kind"))
    spec = _mapping(document.get("spec"), f"{where}: spec")
    if kind == "List":
        items = _list(document.get("items"), f"{where}: items")
        whole = [_mapping(item, f"{where}: an item of the list") for item in items]
        return [one for item in whole for one in from_manifest(item, where)]
    if kind == "CronJob":
        inner = _mapping(spec.get("jobTemplate"), f"{where}: spec.jobTemplate")
        return from_manifest({**document, "kind": "Job", "spec": inner.get("spec")}, where)
    if kind == "Pod":
        return [_submission(document, {"spec": spec}, {}, where)]
    roles = next((value for key, value in spec.items() if key.endswith("ReplicaSpecs")), None)
    if roles is not None:
        return list(_roles(document, _mapping(roles, f"{where}: replica specs"), spec, where))
    if "template" not in spec:
        raise InputError(
            f"{where}: is a Kubernetes {kind}, which runs no pods of its own. Give a Job, a Pod, a "
            "CronJob or a training job."
        )
    return [_submission(document, _mapping(spec["template"], f"{where}: template"), spec, where)]


def _roles(
    document: JsonMapping, roles: JsonMapping, spec: JsonMapping, where: str
) -> Iterator[Submission]:
    """Yield one submission per role of a training job; the roles start together."""
    parts = {role: _mapping(part, f"{where}: {role}") for role, part in roles.items()}
    counts = {
        role: _number("instances", part.get("replicas"), f"{where}: {role}") or 1.0
        for role, part in parts.items()
    }
    policy = _mapping(spec.get("runPolicy"), f"{where}: runPolicy")
    for role, part in parts.items():
        held = {**policy, "parallelism": counts[role]}
        template = _mapping(part.get("template"), f"{where}: {role}")
        found = _submission(document, template, held, f"{where}: {role}")
        columns = {**found.columns, "gang_size": float(sum(counts.values()))}
        columns.setdefault("task", role.lower())
        yield Submission(columns, FORM, found.notes)


def _submission(
    document: JsonMapping, template: JsonMapping, spec: JsonMapping, where: str
) -> Submission:
    outer = _mapping(document.get("metadata"), f"{where}: metadata")
    inner = _mapping(template.get("metadata"), f"{where}: template.metadata")
    pod = _mapping(template.get("spec"), f"{where}: pod spec")
    labels: JsonObject = {}
    for held in (inner, outer):
        for part in ("annotations", "labels"):
            labels |= _mapping(held.get(part), f"{where}: {part}")
    notes: list[str] = []
    columns: JsonObject = {
        "name": outer.get("name") or str(outer.get("generateName") or "").rstrip("-") or None,
        **_owners(labels, notes),
    }
    if outer.get("namespace"):
        columns.setdefault("queue", str(outer["namespace"]))
        columns["attr_namespace"] = str(outer["namespace"])
    columns["instances"] = _number("instances", spec.get("parallelism"), where) or 1.0
    containers = _list(pod.get("containers"), f"{where}: containers")
    running = [_asked(one, where) for one in containers]
    columns |= _requests(running, pod, where, notes)
    columns["attr_image"] = _image(containers, running)
    columns["attr_owner_kind"] = owner_kind(document)
    columns["gpu_type"] = _gpu_type(pod, where)
    for held in (spec, pod):
        if held.get("activeDeadlineSeconds") is not None:
            limit = held["activeDeadlineSeconds"]
            columns.setdefault("time_limit_s", _number("time_limit_s", limit, where))
    if pod.get("priorityClassName"):
        columns["attr_priority_class"] = str(pod["priorityClassName"])
    known = {name: value for name, value in columns.items() if value is not None}
    return Submission(known, FORM, tuple(notes))


def _owners(labels: Mapping[str, object], notes: list[str]) -> dict[str, object]:
    """Return who and what the labels name; the others are reported."""
    used: dict[str, str] = {}
    found: JsonObject = {}
    for column, words in OWNER_WORDS.items():
        for word in words:
            key = next((k for k in labels if str(k).rsplit("/", 1)[-1].lower() == word), None)
            if key is not None:
                found[column], used[key] = str(labels[key]), column
                break
    spare = [key for key in labels if key not in used]
    if spare:
        notes.append(f"Labels and annotations not used: {', '.join(map(str, spare))}.")
    return found


def _image(containers: list[Any], running: list[dict[str, float]]) -> str | None:
    """Return the image of the main container, of those with what each of them asks for."""
    images: dict[str, str] = {}
    asked: dict[str, dict[str, float]] = {}
    for container, resources in zip(containers, running, strict=True):
        if not container or not container.get("image"):
            continue
        name = str(container.get("name"))
        images[name], asked[name] = str(container["image"]), {}
        for resource, value in resources.items():
            if column := _column(resource):
                asked[name][column] = asked[name].get(column, 0.0) + value
    main = main_container(asked)
    return None if main is None else images[main]


def main_container(asked: Mapping[str, Mapping[str, float]]) -> str | None:
    """Return the container that asks for most GPUs, then memory, then cores, by columns.

    Examples
    --------
    >>> main_container({"proxy": {"request_cpu_cores": 2}, "train": {"request_memory_gib": 8}})
    'train'
    """
    ranks = ("request_gpus", "request_memory_gib", "request_cpu_cores")
    return min(
        asked,
        key=lambda name: (*(-asked[name].get(rank, 0.0) for rank in ranks), name),
        default=None,
    )


def owner_of(document: JsonMapping) -> JsonMapping | None:
    """Return what controls an object, or the first of its owners."""
    metadata = document.get("metadata")
    owners = metadata.get("ownerReferences") if isinstance(metadata, Mapping) else None
    held = [one for one in owners if isinstance(one, Mapping)] if isinstance(owners, list) else []
    return next((one for one in held if one.get("controller")), held[0] if held else None)


def owner_kind(document: JsonMapping) -> str | None:
    """Return which kind of object owns the pods: the one that will, or the one of a pod.

    Examples
    --------
    >>> owner_kind({"kind": "CronJob"}), owner_kind({"kind": "Pod"})
    ('Job', None)
    """
    kind = str(document.get("kind"))
    if kind == "Pod":
        kind = str((owner_of(document) or {}).get("kind") or "")
    return _PODS_OF.get(kind, kind) or None


def _requests(
    running: list[dict[str, float]], pod: JsonMapping, where: str, notes: list[str]
) -> JsonObject:
    """Return what the pod asks for: its containers together, or its largest init container."""
    starting = [
        _asked(one, where) for one in _list(pod.get("initContainers"), f"{where}: initContainers")
    ]
    if not running:
        raise InputError(f"{where}: the pod has no containers, so nothing says what it asks for.")
    names = dict.fromkeys(name for one in (*running, *starting) for name in one)
    totals: JsonObject = {}
    spare = []
    for name in names:
        total = sum(one.get(name, 0.0) for one in running)
        total = max([total, *(one.get(name, 0.0) for one in starting)])
        column = _column(name)
        if column is None:
            spare.append(name)
        else:
            totals[column] = totals.get(column, 0.0) + total
    if spare:
        notes.append(f"Resources not used: {', '.join(spare)}.")
    missing = [name for name in _RESOURCES if name not in names]
    if missing:
        notes.append(f"No request and no limit of {' and '.join(missing)} is set.")
    return totals


def _asked(container: object, where: str) -> dict[str, float]:
    held = _mapping(container, f"{where}: container")
    resources = _mapping(held.get("resources"), f"{where}: resources")
    limits = _mapping(resources.get("limits"), f"{where}: limits")
    requests = _mapping(resources.get("requests"), f"{where}: requests")
    found = {}
    for name, value in {**limits, **requests}.items():
        column = _column(name)
        if column is None:
            found[str(name)] = 0.0
            continue
        number = units.parse_quantity(value, where=f"{where}: {name}", error=InputError)
        if number < 0:
            raise InputError(f"{where}: {name} is {value!r}, but is never below 0.")
        found[str(name)] = number / 2**30 if column == "request_memory_gib" else number
    return found


def _column(resource: str) -> str | None:
    """Return the column of a resource such as ``nvidia.com/gpu``."""
    if resource == "cpu":
        return "request_cpu_cores"
    if resource == "memory":
        return "request_memory_gib"
    return "request_gpus" if str(resource).rsplit("/", 1)[-1] in ("gpu", "gpu.shared") else None


def _gpu_type(pod: JsonMapping, where: str) -> str | None:
    """Return the GPU types that the node selector or a required affinity allows."""
    selector = _mapping(pod.get("nodeSelector"), f"{where}: nodeSelector")
    for key, value in selector.items():
        if key.rsplit("/", 1)[-1] in _GPU_TYPE:
            return str(value)
    where = f"{where}: affinity"
    required = _mapping(pod.get("affinity"), where)
    for part in ("nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"):
        required = _mapping(required.get(part), where)
    for term in _list(required.get("nodeSelectorTerms"), where):
        for one in _list(_mapping(term, where).get("matchExpressions"), where):
            rule = _mapping(one, where)
            named = str(rule.get("key")).rsplit("/", 1)[-1] in _GPU_TYPE
            if named and rule.get("operator") == "In":
                return "|".join(map(str, _list(rule.get("values"), where))) or None
    return None


def _number(column: str, value: Any, where: str) -> float | None:
    known = JOBS.get(column)
    assert known is not None
    return number_for(known, value, f"{where}: {column}")


def _mapping(value: object, where: str) -> JsonMapping:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InputError(f"{where} is {value!r}, but has to be a mapping of names to values.")
    # YAML knows keys that are no text, such as null and numbers
    return {str(key): held for key, held in value.items()}


def _list(value: object, where: str) -> list[Any]:
    if value is not None and not isinstance(value, list):
        raise InputError(f"{where} is {value!r}, but has to be a list.")
    return value or []
