"""Where a Kubernetes object describes its pods, which job each is, and which attempt."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from prophase.errors import InputError, ProphaseError
from prophase.json_types import JsonMapping
from prophase.profile.submission.kubernetes_manifest import from_manifest, owner_kind, owner_of
from prophase.profile.submission.submission import Submission
from prophase.serve.submit.annotations import ATTEMPT, PODS
from prophase.trace.service_database import ServiceDatabase

log = logging.getLogger("prophase.serve")

Path = tuple[str | int, ...]
#: owners whose pods are services, not jobs
_SERVICES = ("ReplicaSet", "StatefulSet", "DaemonSet", "Deployment", "Node")


@dataclass(frozen=True)
class PodPlace:
    """One pod description inside an object."""

    #: where it is; its metadata and spec are below
    path: Path
    template: JsonMapping
    #: pods that are made of it
    pods: int
    #: role in a job of several
    role: str = ""
    #: what holds for the whole job: deadline
    spec: JsonMapping | None = None


def pod_places(document: JsonMapping) -> list[PodPlace]:
    """Return every pod description of a job; none of what is no job.

    Examples
    --------
    >>> pod = {"spec": {"containers": []}}
    >>> job = {"kind": "Job", "apiVersion": "batch/v1", "spec": {"parallelism": 2, "template": pod}}
    >>> [(one.path, one.pods) for one in pod_places(job)]
    [(('spec', 'template'), 2)]
    """
    return [one for one in _found(document) if isinstance(one.template.get("spec"), Mapping)]


def why_no_job(document: JsonMapping) -> str | None:
    """Say why an object is left alone, if it is no job."""
    kind = str(document.get("kind"))
    owner = owner_of(document)
    if kind == "Pod" and owner is not None and owner.get("kind") in _SERVICES:
        return f"the pod belongs to a {owner['kind']}: a service, not a job"
    if not pod_places(document):
        return f"a {kind} is no job of a known kind"
    return None


def submission_of(document: JsonMapping, place: PodPlace, namespace: str) -> Submission:
    """Return the job that a pod description stands for, in the columns of the job table."""
    outer = {**mapping(document.get("metadata"))}
    outer.setdefault("namespace", namespace)
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": outer,
        "spec": {
            **{
                name: mapping(place.spec)[name]
                for name in ("activeDeadlineSeconds",)
                if name in mapping(place.spec)
            },
            "parallelism": place.pods,
            "template": place.template,
        },
    }
    found = from_manifest(job, "the object")[0]
    columns = dict(found.columns)
    columns.pop("attr_owner_kind", None)
    if kind := owner_kind(document):
        columns["attr_owner_kind"] = kind
    if place.role:
        columns.setdefault("task", place.role.lower())
    cron = _cron_job(document)
    if cron:
        # every run of a CronJob has a name of its own; what recurs is the CronJob
        columns.setdefault("group", cron)
    return Submission(columns, found.form, found.notes)


def mapping(value: Any) -> JsonMapping:
    """Return a mapping, or an empty one in place of anything else."""
    return value if isinstance(value, Mapping) else {}


def _cron_job(document: JsonMapping) -> str | None:
    if document.get("kind") == "CronJob":
        name = mapping(document.get("metadata")).get("name")
        return str(name) if name else None
    owner = owner_of(document)
    return str(owner["name"]) if owner and owner.get("kind") == "CronJob" else None


def _found(document: JsonMapping) -> Iterator[PodPlace]:
    kind, spec = document.get("kind"), mapping(document.get("spec"))
    if kind == "Pod":
        yield PodPlace((), document, 1)
    elif kind == "CronJob":
        inner = mapping(mapping(spec.get("jobTemplate")).get("spec"))
        yield _job(("spec", "jobTemplate", "spec"), inner)
    elif kind == "JobSet":
        for place, part in _listed(spec, "replicatedJobs", ("spec",)):
            inner = mapping(mapping(part.get("template")).get("spec"))
            one = _job((*place, "template", "spec"), inner)
            yield PodPlace(one.path, one.template, one.pods * _count(part.get("replicas")),
                           str(part.get("name") or ""), inner)  # fmt: skip
    elif kind in ("RayJob", "RayCluster"):
        path: Path = ("spec", "rayClusterSpec") if kind == "RayJob" else ("spec",)
        cluster = mapping(spec.get("rayClusterSpec")) if kind == "RayJob" else spec
        head = mapping(cluster.get("headGroupSpec"))
        yield PodPlace(
            (*path, "headGroupSpec", "template"), mapping(head.get("template")), 1, "head"
        )
        for place, part in _listed(cluster, "workerGroupSpecs", path):
            yield _part(place, part, str(part.get("groupName") or "worker"))
    elif kind == "Job" and isinstance(spec.get("tasks"), list):
        # Volcano's Job has tasks in place of one template
        for place, part in _listed(spec, "tasks", ("spec",)):
            yield _part(place, part, str(part.get("name") or ""))
    elif kind == "Job":
        yield _job(("spec",), spec)
    else:
        for key, roles in spec.items():
            if key.endswith("ReplicaSpecs"):
                for role, part in mapping(roles).items():
                    one = _part(("spec", key, role), mapping(part), str(role))
                    policy = mapping(spec.get("runPolicy"))
                    yield PodPlace(one.path, one.template, one.pods, one.role, policy)


def _job(path: Path, spec: JsonMapping) -> PodPlace:
    return PodPlace(
        (*path, "template"),
        mapping(spec.get("template")),
        _count(spec.get("parallelism")),
        "",
        spec,
    )


def _part(path: Path, part: JsonMapping, role: str) -> PodPlace:
    return PodPlace(
        (*path, "template"), mapping(part.get("template")), _count(part.get("replicas")), role
    )


def _listed(held: JsonMapping, name: str, path: Path) -> Iterator[tuple[Path, JsonMapping]]:
    parts = held.get(name)
    for place, part in enumerate(parts if isinstance(parts, list) else []):
        yield (*path, name, place), mapping(part)


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 1


def containers_of(template: JsonMapping) -> tuple[list[JsonMapping], bool]:
    """Return the containers of a pod, and whether others run beside them all the time."""
    spec = mapping(template.get("spec"))
    held = spec.get("containers")
    if not isinstance(held, list) or not all(isinstance(one, Mapping) for one in held):
        raise InputError("the pod's containers are no list of objects")
    before = spec.get("initContainers")
    beside = isinstance(before, list) and any(
        mapping(one).get("restartPolicy") == "Always" for one in before
    )
    return list(held), beside


#: set by Kubernetes on the pods of indexed Jobs
_INDEX = "batch.kubernetes.io/job-completion-index"
_INDEX_FAILURES = "batch.kubernetes.io/job-index-failure-count"
#: owners that are remembered; the one not seen for longest is forgotten first
_MOST = 50_000
#: seconds after which an owner is forgotten
_KEPT_S = 30 * 86_400.0


class PodAttempts:
    """Counts the pods of every owner.

    A pod that says its attempt itself is believed. Otherwise every pod beyond those a Job needs
    replaces one that ended badly.

    Parameters
    ----------
    base : ServiceDatabase, optional
        Where owners are kept, so that a retry is known as one after a restart and by every replica.
        Without it, and while it does not answer, this process remembers them alone.

    Examples
    --------
    >>> pod = {"metadata": {"ownerReferences": [{"uid": "j1", "controller": True}]}}
    >>> attempts = PodAttempts()
    >>> [attempts.of(pod, uid) for uid in ("a", "b", "b", "c")]
    [1, 2, 2, 3]
    """

    def __init__(self, base: ServiceDatabase | None = None) -> None:
        self._base = base
        self._seen: OrderedDict[tuple[str, str], list[str]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, pod: JsonMapping, request: str, *, count: bool = True) -> int:
        """Return the attempt of a pod that a request brings; the same request counts once."""
        metadata = mapping(pod.get("metadata"))
        notes, marks = mapping(metadata.get("annotations")), mapping(metadata.get("labels"))
        for told, first in ((marks.get(ATTEMPT), 0), (notes.get(_INDEX_FAILURES), 1)):
            number = _number(told)
            if number is not None:
                return max(1, number + first)
        owner = owner_of(pod)
        if owner is None:
            return 1
        index = str(notes.get(_INDEX, ""))
        needed = 1 if index else _number(notes.get(PODS)) or 1
        key = (str(owner.get("uid"))[:200], index[:40])
        seen = self._requests_of(key, request, 8 * needed + 8, count=count)
        place = seen.index(request) + 1
        return 1 + max(0, -(-(place - needed) // needed))

    def forget_old(self) -> None:
        """Forget owners that nothing was seen of for long."""
        from sqlalchemy import delete

        from prophase.trace.service_tables import ATTEMPTS

        if self._base is not None:
            old = delete(ATTEMPTS).where(ATTEMPTS.c.seen_at_s < time.time() - _KEPT_S)
            self._base.write(lambda connection: connection.execute(old), patience_s=0)

    def _requests_of(
        self, key: tuple[str, str], request: str, most: int, *, count: bool
    ) -> list[str]:
        """Return the requests of an owner, this one among them."""
        with self._lock:
            before = self._seen.get(key, [])
        seen = before if request in before else [*before, request][-most:]
        if self._base is not None and (count or not before):
            try:
                seen = _kept(self._base, key, request, most, count=count)
            except ProphaseError as error:
                log.warning("attempts of pods are counted by this process alone: %s", error)
        if count:
            with self._lock:
                self._seen[key] = seen
                self._seen.move_to_end(key)
                if len(self._seen) > _MOST:
                    self._seen.popitem(last=False)
        return seen


def _kept(
    base: ServiceDatabase, key: tuple[str, str], request: str, most: int, *, count: bool
) -> list[str]:
    """Return the requests of an owner as the database has them; add this one if it counts."""
    from sqlalchemy import Connection, select, update

    from prophase.trace.service_tables import ATTEMPTS, put_listed

    mine = (ATTEMPTS.c.owner == key[0], ATTEMPTS.c.place == key[1])

    def add(connection: Connection) -> list[str]:
        row = {"owner": key[0], "place": key[1], "seen_at_s": time.time()}
        # one statement: the API server waits
        text = put_listed(connection, ATTEMPTS, row, "seen", request)
        seen: list[str] = json.loads(text)
        if len(seen) > 2 * most:
            shorter = update(ATTEMPTS).where(*mine, ATTEMPTS.c.seen == text)
            connection.execute(shorter.values(seen=json.dumps(seen[-most:])))
        return seen

    def look(connection: Connection) -> list[str]:
        held = connection.execute(select(ATTEMPTS.c.seen).where(*mine)).scalar()
        return list(json.loads(held or "[]"))

    seen = base.write(add, patience_s=0, alone=True) if count else base.read(look, patience_s=0)
    seen = seen[-most:]
    return seen if request in seen else [*seen, request][-most:]


def _number(value: Any) -> int | None:
    return int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 6 else None
