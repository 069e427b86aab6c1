"""Kueue's queues at one instant, as the API server has them.

A saved queue is a folder with what ``kubectl get KIND -A -o json`` prints: ``workloads.json``,
``clusterqueues.json``, ``localqueues.json``, ``resourceflavors.json``, ``cohorts.json``, and
``now.txt``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from prophase import units
from prophase.errors import FormatError, MissingFileError, storage_error
from prophase.json_types import JsonMapping, JsonObject
from prophase.sim.forecast.live_twin import LiveQueue
from prophase.sim.kueue.admission import PodGroup, QueuedWork, assigned
from prophase.sim.kueue.quotas import Cell, ClusterQueue, QuotaTree

#: kinds that are asked for, by their names in the API
KINDS = ("workloads", "clusterqueues", "localqueues", "resourceflavors", "cohorts")
#: without these there is no queue
_NEEDED = ("workloads", "clusterqueues", "localqueues")
#: why some Workloads are never admitted
TOO_MUCH = "asks for more than its queue could ever hold"
_GIB = 2.0**30
_COLUMNS = (
    "job_id", "name", "user", "group", "queue", "submit_s", "start_s", "end_s", "duration_s",
    "status", "instances", "request_cpu_cores", "request_memory_gib", "request_gpus",
    "time_limit_s", "attr_priority", "attr_local_queue", "attr_reason",
)  # fmt: skip


@dataclass(frozen=True)
class KueueSnapshot(LiveQueue):
    """What holds quota, what waits for it, and the quotas.

    Attributes
    ----------
    jobs : DataFrame
        Workloads that run or wait, in columns of the job table; ``queue`` is the ClusterQueue.
    works : dict
        What each of them asks for or holds, by ``job_id``.
    finished : DataFrame
        Workloads that have ended and are still there: run times are learnt from them.
    left_out : dict
        Workloads that are not admitted by themselves, counted by reason.
    """

    works: dict[str, QueuedWork]
    finished: pd.DataFrame
    queues: dict[str, ClusterQueue]
    cohorts: tuple[JsonObject, ...]
    left_out: dict[str, int]
    notes: tuple[str, ...] = ()

    def tree(self) -> QuotaTree:
        """Return the quotas with nothing used."""
        return QuotaTree(self.queues.values(), self.cohorts)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read a saved queue."""
        held: dict[str, list[JsonObject]] = {}
        for kind in KINDS:
            path = folder / f"{kind}.json"
            if not path.is_file():
                if kind in _NEEDED:
                    raise MissingFileError(
                        f"{path}: there is no such file. A saved queue is written by prophase "
                        "queue kueue --out FOLDER, or by kubectl get KIND -A -o json."
                    )
                continue
            try:
                document = json.loads(path.read_text("utf-8"))
                held[kind] = list(document["items"])
            except OSError as cause:
                raise storage_error(cause, path) from cause
            except (ValueError, KeyError, TypeError) as cause:
                raise FormatError(f"{path}: is not what kubectl get -o json prints.") from cause
        when = folder / "now.txt"
        now_s = float(when.read_text("utf-8")) if when.is_file() else None
        try:
            return cls.of(held, now_s)
        except (KeyError, TypeError, AttributeError) as cause:
            raise FormatError(
                f"{folder}: an object lacks what Kueue's API has ({cause!r})."
            ) from cause

    @classmethod
    def of(cls, held: Mapping[str, list[JsonObject]], now_s: float | None = None) -> Self:
        """Take lists of objects by kind.

        Parameters
        ----------
        now_s : float, optional
            The instant; without it the latest that an object tells.
        """
        flavors = {str(one["metadata"]["name"]): one for one in held.get("resourceflavors", ())}
        found = [ClusterQueue.of(one) for one in held["clusterqueues"]]
        queues = {one.name: one for one in found}
        local = {
            (str(one["metadata"]["namespace"]), str(one["metadata"]["name"])): one
            for one in held["localqueues"]
        }
        now_s = _latest(held["workloads"]) if now_s is None else now_s
        tree = QuotaTree(queues.values(), held.get("cohorts", ()))
        rows, ended = [], []
        works: dict[str, QueuedWork] = {}
        left_out: dict[str, int] = {}
        blocking = 0
        for one in held["workloads"]:
            told = _Told(one)
            if told.ended_s is not None:
                ended.append(told.row(_queue_of(one, local)))
                continue
            queue = _queue_of(one, local)
            why = _why_not(one, local, queues, queue)
            if not why:
                work = _work(told, queues[queue], flavors, now_s)
                never = work.holds is None and not assigned(tree, queues[queue], work, empty=True)
                # in a strict queue it stays, and holds up those behind it
                blocking += never and queues[queue].strict
                why = TOO_MUCH if never and not queues[queue].strict else ""
            if why:
                left_out[why] = left_out.get(why, 0) + 1
                continue
            works[told.key] = work
            rows.append(told.row(queue))
        checks = [
            one for one in held["clusterqueues"] if (one["spec"].get("admissionChecks") or ())
        ]
        notes = [
            f"{len(checks):,} ClusterQueues have admission checks, which are not followed."
        ] * bool(checks)
        if blocking:
            notes.append(
                f"{blocking:,} Workloads of StrictFIFO queues hold up others: each {TOO_MUCH}."
            )
        return cls(
            now_s,
            pd.DataFrame(rows, columns=list(_COLUMNS)),
            works,
            pd.DataFrame(ended, columns=list(_COLUMNS)),
            queues,
            tuple(held.get("cohorts", ())),
            left_out,
            tuple(notes),
        )

    def summary(self) -> pd.DataFrame:
        """Return one row per ClusterQueue, flavor and resource: quota, use, what waits."""
        tree = self.tree()
        asked: dict[tuple[str, str], float] = {}
        for work in self.works.values():
            if work.holds is not None:
                tree.use(work.queue, work.holds)
                continue
            for pods in work.groups:
                for resource, amount in pods.asked.items():
                    key = work.queue, resource
                    asked[key] = asked.get(key, 0.0) + amount
        rows = []
        for queue in self.queues.values():
            of = self.jobs[self.jobs["queue"] == queue.name]
            runs, waits = (of[of["status"] == word] for word in ("running", "pending"))
            longest = (self.now_s - waits["submit_s"]).max() if len(waits) else 0.0
            for (flavor, resource), quota in queue.quotas.items():
                scale = _GIB if resource == "memory" else 1.0
                rows.append(
                    {
                        "cluster_queue": queue.name,
                        "cohort": queue.cohort,
                        "flavor": flavor,
                        "resource": "memory_gib" if resource == "memory" else resource,
                        "quota": quota.nominal / scale,
                        "used": tree.used(queue.name, (flavor, resource)) / scale,
                        "free": tree.free(queue.name, (flavor, resource)) / scale,
                        "asked": asked.get((queue.name, resource), 0.0) / scale,
                        "running": len(runs),
                        "waiting": len(waits),
                        "longest_wait_s": float(longest),
                    }
                )
        return pd.DataFrame(rows)


class _Told:
    """A Workload as the API server has it."""

    def __init__(self, document: JsonMapping) -> None:
        self.document = document
        self.spec, self.status = document["spec"], document.get("status") or {}
        self.conditions = {str(one["type"]): one for one in self.status.get("conditions") or ()}
        about = document["metadata"]
        self.namespace, name = str(about.get("namespace", "default")), str(about["name"])
        self.key = f"{self.namespace}/{name}"
        owners = about.get("ownerReferences") or ()
        self.name = str(owners[0]["name"]) if owners else name
        self.submit_s = _instant(about["creationTimestamp"])
        holds = self._true("QuotaReserved") or self._true("Admitted")
        self.admission = (self.status.get("admission") or {}) if holds is not None else {}
        self.start_s = holds if self.admission else None
        self.ended_s = self._true("Finished")
        self.priority = float(self.spec.get("priority") or 0)

    def _true(self, kind: str) -> float | None:
        """Return since when a condition is so; None: it is not."""
        found = self.conditions.get(kind)
        if found is None or found.get("status") != "True":
            return None
        return _instant(found["lastTransitionTime"])

    def asked(self) -> list[tuple[JsonMapping, dict[str, float], float]]:
        """Return the pod sets: template, what all of its pods ask for, and how many there are."""
        found = []
        for one in self.spec.get("podSets") or ():
            count = float(one.get("count", 1))
            pod = (one.get("template") or {}).get("spec") or {}
            total = {key: count * amount for key, amount in requests_of(pod).items()}
            found.append((pod, total, count))
        return found

    @property
    def reason(self) -> str:
        """What Kueue says why it waits."""
        found = self.conditions.get("QuotaReserved") or {}
        return "" if self.start_s is not None else str(found.get("message") or "")

    def row(self, queue: str) -> dict[str, Any]:
        sets = self.asked()
        count = max(sum(number for _, _, number in sets), 1.0)
        total: dict[str, float] = {}
        for _, asked, _ in sets:
            for key, amount in asked.items():
                total[key] = total.get(key, 0.0) + amount
        gpus = sum(amount for key, amount in total.items() if key.endswith("/gpu"))
        start, end = self._span()
        limit = self.spec.get("maximumExecutionTimeSeconds")
        return {
            "job_id": self.key,
            "name": self.name,
            "user": self.namespace,
            "group": self.namespace,
            "queue": queue,
            "submit_s": self.submit_s,
            "start_s": start,
            "end_s": end,
            "duration_s": end - start,
            "status": "pending" if np.isnan(start) else "running" if np.isnan(end) else "completed",
            "instances": count,
            "request_cpu_cores": total.get("cpu", np.nan) / count,
            "request_memory_gib": total.get("memory", np.nan) / count / _GIB,
            "request_gpus": gpus / count,
            "time_limit_s": np.nan if limit is None else float(limit),
            "attr_priority": self.priority,
            "attr_local_queue": str(self.spec.get("queueName") or ""),
            "attr_reason": self.reason,
        }

    def _span(self) -> tuple[float, float]:
        if self.ended_s is None:
            return np.nan if self.start_s is None else self.start_s, np.nan
        # Kueue may take the admission of a finished Workload away; the condition keeps its time
        since = self.conditions.get("Admitted") or self.conditions.get("QuotaReserved")
        began = self.submit_s if since is None else _instant(since["lastTransitionTime"])
        return min(began, self.ended_s), self.ended_s


def requests_of(pod: JsonMapping) -> dict[str, float]:
    """Return what a pod asks for: all containers together, or the largest of those before them.

    Examples
    --------
    >>> ask = lambda cpu: {"resources": {"requests": {"cpu": cpu}}}
    >>> requests_of({"containers": [ask("500m"), ask("1")], "initContainers": [ask("2")]})
    {'cpu': 2.0}
    """
    total: dict[str, float] = {}
    for one in pod.get("containers") or ():
        for key, amount in _asked(one).items():
            total[key] = total.get(key, 0.0) + amount
    for one in pod.get("initContainers") or ():
        beside = one.get("restartPolicy") == "Always"
        for key, amount in _asked(one).items():
            now = total.get(key, 0.0)
            total[key] = now + amount if beside else max(now, amount)
    for key, text in (pod.get("overhead") or {}).items():
        total[key] = total.get(key, 0.0) + units.parse_quantity(text, where=key, error=FormatError)
    return total


def _asked(container: JsonMapping) -> dict[str, float]:
    given = container.get("resources") or {}
    # what has a limit alone asks for its limit
    both = {**(given.get("limits") or {}), **(given.get("requests") or {})}
    return {
        key: units.parse_quantity(text, where=key, error=FormatError) for key, text in both.items()
    }


def _work(
    told: _Told, queue: ClusterQueue, flavors: Mapping[str, JsonMapping], now_s: float
) -> QueuedWork:
    covered = {name for group in queue.groups for name in group.resources}
    groups = []
    for pod, asked, count in told.asked():
        if "pods" in covered:
            asked["pods"] = count
        barred = frozenset(name for name, one in flavors.items() if _bars(one, pod))
        groups.append(PodGroup(asked, barred))
    holds: dict[Cell, float] | None = None
    if told.start_s is not None:
        holds = {}
        for one in told.admission.get("podSetAssignments") or ():
            for resource, flavor in (one.get("flavors") or {}).items():
                amount = (one.get("resourceUsage") or {}).get(resource, "0")
                cell = str(flavor), str(resource)
                more = units.parse_quantity(amount, where=cell[1], error=FormatError)
                holds[cell] = holds.get(cell, 0.0) + more
    elapsed = 0.0 if told.start_s is None else max(now_s - told.start_s, 0.0)
    return QueuedWork(queue.name, tuple(groups), told.priority, told.submit_s, holds, elapsed)


def _bars(flavor: JsonMapping, pod: JsonMapping) -> bool:
    """Say whether pods cannot use the nodes of a flavor: other labels, or taints."""
    spec = flavor.get("spec") or {}
    labels = spec.get("nodeLabels") or {}
    wanted = pod.get("nodeSelector") or {}
    if any(key in labels and labels[key] != value for key, value in wanted.items()):
        return True
    borne = [*(pod.get("tolerations") or ()), *(spec.get("tolerations") or ())]
    return any(
        taint.get("effect") in ("NoSchedule", "NoExecute")
        and not any(_tolerates(one, taint) for one in borne)
        for taint in spec.get("nodeTaints") or ()
    )


def _tolerates(one: JsonMapping, taint: JsonMapping) -> bool:
    if one.get("effect") not in (None, "", taint.get("effect")):
        return False
    if one.get("key") not in (None, "", taint.get("key")):
        return False
    return one.get("operator") == "Exists" or one.get("value", "") == taint.get("value", "")


def _queue_of(one: JsonMapping, local: Mapping[tuple[str, str], JsonMapping]) -> str:
    """Return the ClusterQueue of a Workload; empty if its LocalQueue is not there."""
    given = (one.get("status") or {}).get("admission") or {}
    if given.get("clusterQueue"):
        return str(given["clusterQueue"])
    about = one["metadata"]
    place = str(about.get("namespace", "default")), str(one["spec"].get("queueName") or "")
    return str(((local.get(place) or {}).get("spec") or {}).get("clusterQueue") or "")


def _why_not(
    one: JsonMapping,
    local: Mapping[tuple[str, str], JsonMapping],
    queues: Mapping[str, ClusterQueue],
    queue: str,
) -> str:
    """Say why a Workload is not admitted by itself; empty: it is, in its turn."""
    spec, about = one["spec"], one["metadata"]
    if spec.get("active") is False:
        return "not active"
    if not queue:
        return "no such LocalQueue"
    if queue not in queues:
        return "no such ClusterQueue"
    if (one.get("status") or {}).get("admission"):
        return ""
    mine = local.get((str(about.get("namespace", "default")), str(spec.get("queueName") or "")))
    stop = str(((mine or {}).get("spec") or {}).get("stopPolicy") or "None")
    return "its LocalQueue is stopped" if stop != "None" else queues[queue].stopped


def _instant(text: object) -> float:
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except ValueError as cause:
        raise FormatError(f"{text!r} is not a time as Kubernetes writes it.") from cause


def _latest(workloads: list[JsonObject]) -> float:
    times = [
        _instant(text)
        for one in workloads
        for text in (
            one["metadata"]["creationTimestamp"],
            *(c["lastTransitionTime"] for c in (one.get("status") or {}).get("conditions") or ()),
        )
    ]
    if not times:
        raise FormatError("workloads.json: tells no time. Write seconds since 1970 into now.txt.")
    return max(times)
