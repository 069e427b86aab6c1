"""Nodes and pods as kube-state-metrics reports them: times, requests, endings."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from prophase.integrations.prometheus.client import Prometheus
from prophase.integrations.prometheus.label_names import LabelNames, Pod
from prophase.json_types import JsonObject
from prophase.profile.submission.kubernetes_manifest import main_container
from prophase.runs.end_cause import REASONS, status_of

_GPU_PRODUCT = ("gpu_product", "gke_accelerator", "gpu_type", "accelerator")


def gather_nodes(
    server: Prometheus, start_s: float, end_s: float, labels: LabelNames
) -> list[JsonObject]:
    """Return one row of the node table per node that was seen in the span."""
    span = f"{max(1, math.ceil(end_s - start_s))}s"
    rows: dict[str, JsonObject] = {}
    for held, value in server.instant(f"max_over_time(kube_node_status_capacity[{span}])", end_s):
        name, resource = held.get(labels.node), held.get("resource", "")
        if not name:
            continue
        row = rows.setdefault(name, {"node_id": name})
        if resource == "cpu":
            row["cpu_cores"] = value
        elif resource == "memory":
            row["memory_gib"] = value / 2**30
        elif resource.endswith("_gpu"):
            row["gpus"] = row.get("gpus", 0.0) + value
    for held, _ in server.instant(f"max_over_time(kube_node_labels[{span}])", end_s):
        found = rows.get(held.get(labels.node, ""))
        if found is not None:
            found["gpu_type"] = _gpu_type(held) or None
            names = (
                f"{k.removeprefix('label_')}={v}" for k, v in held.items() if k.startswith("label_")
            )
            found["features"] = "|".join(sorted(names)) or None
    model = f"count by (Hostname,modelName) (max_over_time(DCGM_FI_DEV_GPU_UTIL[{span}]))"
    for held, _ in server.instant(model, end_s):
        # the exporter's host is the node, if its labels do not say the type themselves
        found = rows.get(held.get("Hostname", ""))
        if found is not None and held.get("modelName"):
            found["gpu_type"] = found.get("gpu_type") or held["modelName"]
    return [rows[name] for name in sorted(rows)]


#: pods are asked for a day at a time
_SPAN_S = 86_400.0
#: a pod that was not seen for so long before the end is gone
GONE_S = 600.0
_PHASES = {"Succeeded": "completed", "Failed": "failed", "Running": "running", "Pending": "pending"}
_REASONS = {reason: status_of(cause) for reason, cause in REASONS.items()}
_RESOURCES = ("cpu", "memory")
_COLUMNS = {"cpu": "request_cpu_cores", "memory": "request_memory_gib", "gpu": "request_gpus"}
#: metric -> when a pod was that
_CLOCKS = {
    "kube_pod_created": "created_s",
    "kube_pod_start_time": "started_s",
    "kube_pod_completion_time": "ended_s",
}
PodRecords = dict[tuple[str, str], Pod]


def gather_pods(
    server: Prometheus,
    start_s: float,
    end_s: float,
    labels: LabelNames,
    progress: Callable[[float], object] = lambda share: None,
) -> PodRecords:
    """Return all pods that were seen in the span, by namespace and name."""
    book: PodRecords = {}
    for begin, end in spans(start_s, end_s, _SPAN_S):
        ask = _Ask(server, begin, end, labels)
        for held, _ in ask("kube_pod_info"):
            if key := labels.key(held):
                pod = book.setdefault(key, Pod(*key))
                pod.node = held.get(labels.node) or pod.node
                pod.owner_kind = held.get("created_by_kind") or pod.owner_kind
                pod.owner = held.get("created_by_name") or pod.owner
                pod.priority_class = held.get("priority_class") or pod.priority_class
        _read_clocks(ask, book)
        _read_ends(ask, book)
        _read_requests(ask, book, labels)
        for pod, held, _ in ask.of_pods(book, ask("kube_pod_labels")):
            pod.labels |= {k: v for k, v in held.items() if k.startswith("label_")}
        for pod, held, _ in ask.of_pods(book, ask("kube_pod_nodeselectors")):
            pod.gpu_type = _gpu_type(held, "gpu_model") or pod.gpu_type
        progress((end - start_s) / max(end_s - start_s, 1.0))
    return book


def job_row(
    pod: Pod, labels: LabelNames, cron_jobs: Mapping[tuple[str, str], str], end_s: float
) -> Any:
    """Return the row of the job table, without its usage."""
    status = _REASONS.get(pod.reason) or _PHASES.get(pod.phase, "unknown")
    ended = pod.ended_s
    if ended is None and status in ("running", "pending") and pod.seen_s < end_s - GONE_S:
        # deleted while it ran, or before the last look at it
        ended = max(pod.seen_s, pod.started_s) if pod.started_s else None
        status = "unknown"
    named = labels.columns(pod.labels)
    owner = pod.owner if pod.owner_kind not in ("", "<none>") else ""
    row: JsonObject = {
        "job_id": f"{pod.namespace}/{pod.name}",
        "parent_id": f"{pod.namespace}/{owner}" if owner else None,
        "name": owner or pod.name,
        "queue": pod.namespace or None,
        **named,
        "submit_s": pod.created_s,
        "start_s": pod.started_s,
        "end_s": ended,
        "status": status,
        "instances": 1.0,
        "request_cpu_cores": pod.requests.get("cpu"),
        "request_memory_gib": _scaled(pod.requests.get("memory"), 2.0**-30),
        "request_gpus": pod.requests.get("gpu"),
        "gpu_type": pod.gpu_type or None,
        "attr_namespace": pod.namespace or None,
        "attr_priority_class": pod.priority_class or None,
        "attr_image": pod.image or None,
        "attr_owner_kind": pod.owner_kind if owner else None,
        "after_node": pod.node or None,
    }
    cron = cron_jobs.get((pod.namespace, owner))
    if cron:
        # every run of a CronJob has a name of its own; what recurs is the CronJob
        row.setdefault("group", cron)
    return row


def cron_jobs_of(
    server: Prometheus, start_s: float, end_s: float, labels: LabelNames
) -> dict[tuple[str, str], str]:
    """Return which CronJob made which Job."""
    found = {}
    for begin, end in spans(start_s, end_s, _SPAN_S):
        ask = _Ask(server, begin, end, labels)
        for held, _ in ask("kube_job_owner", 'owner_kind="CronJob"'):
            name = held.get("job_name")
            if name:
                found[held.get(labels.namespace, ""), name] = held.get("owner_name", "")
    return found


def spans(start_s: float, end_s: float, length_s: float) -> Iterator[tuple[float, float]]:
    """Yield begin and end of parts that follow each other."""
    begin = start_s
    while begin < end_s:
        yield begin, min(begin + length_s, end_s)
        begin += length_s


class _Ask:
    """Asks for what a metric was over one part of the span."""

    def __init__(self, server: Prometheus, begin: float, end: float, labels: LabelNames) -> None:
        self.server, self.end, self.labels = server, end, labels
        self.span = f"{max(1, math.ceil(end - begin))}s"

    def __call__(
        self, metric: str, *rules: str, by: str = "max_over_time"
    ) -> list[tuple[dict[str, str], float]]:
        """Return one value per series: the highest, or the last, of the part."""
        chosen = f"{metric}{self.labels.selector(*rules)}"
        return self.server.instant(f"{by}({chosen}[{self.span}])", self.end)

    def of_pods(
        self, book: PodRecords, found: list[tuple[dict[str, str], float]]
    ) -> Iterator[tuple[Pod, dict[str, str], float]]:
        """Yield those values that are about a pod we know."""
        for held, value in found:
            key = self.labels.key(held)
            if key in book:
                yield book[key], held, value

    def last_seen(self, metric: str) -> list[tuple[dict[str, str], float]]:
        """Return when each series was last seen, to the minute."""
        chosen = f"{metric}{self.labels.selector()}"
        past = f"max_over_time(timestamp({chosen})[{self.span}:1m])"
        now = f"timestamp({chosen})"
        return [*self.server.instant(past, self.end), *self.server.instant(now, self.end)]


def _read_clocks(ask: _Ask, book: PodRecords) -> None:
    for metric, field in _CLOCKS.items():
        for pod, _, value in ask.of_pods(book, ask(metric)):
            setattr(pod, field, value)
    for pod, _, value in ask.of_pods(book, ask.last_seen("kube_pod_info")):
        pod.seen_s = max(pod.seen_s, value)


def _read_ends(ask: _Ask, book: PodRecords) -> None:
    for pod, held, value in ask.of_pods(book, ask("kube_pod_status_phase", by="last_over_time")):
        if value == 1:
            pod.phase = held.get("phase", "")
    for metric in ("kube_pod_status_reason", "kube_pod_container_status_terminated_reason"):
        for pod, held, value in ask.of_pods(book, ask(metric)):
            # what a container died of says more than that it completed
            if value == 1 and held.get("reason") in _REASONS:
                pod.reason = held["reason"]


def _read_requests(ask: _Ask, book: PodRecords, labels: LabelNames) -> None:
    """Add up what the containers ask for; one that runs before them counts if it asks for more."""
    totals: dict[tuple[str, str], dict[str, float]] = {}
    asked: dict[tuple[str, str], dict[str, dict[str, float]]] = {}
    for metric, starts in (
        ("kube_pod_container_resource_limits", False),
        ("kube_pod_container_resource_requests", False),
        ("kube_pod_init_container_resource_requests", True),
    ):
        found: dict[tuple[tuple[str, str], str, str], float] = {}
        for held, value in ask(metric):
            key, resource = labels.key(held), _resource(held.get("resource", ""))
            if key in book and resource:
                found[key, resource, held.get(labels.container, "")] = value
        summed: dict[tuple[tuple[str, str], str], list[float]] = {}
        for (key, resource, container), value in found.items():
            summed.setdefault((key, resource), []).append(value)
            if not starts:
                of_pod = asked.setdefault(key, {})
                of_pod.setdefault(container, {})[_COLUMNS[resource]] = value
        for (key, resource), values in summed.items():
            held_now = totals.setdefault(key, {})
            # a request that is not set equals the limit, as for the scheduler
            held_now[resource] = (
                max(held_now.get(resource, 0.0), *values) if starts else sum(values)
            )
    for key, requests in totals.items():
        book[key].requests |= requests
    images: dict[tuple[str, str], dict[str, str]] = {}
    for held, _ in ask("kube_pod_container_info"):
        key, image = labels.key(held), held.get("image_spec") or held.get("image")
        if key in book and image:
            images.setdefault(key, {})[held.get(labels.container, "")] = image
    for key, of_container in images.items():
        known = asked.get(key, {})
        main = main_container({name: known.get(name, {}) for name in of_container})
        book[key].image = of_container[str(main)]


def _resource(name: str) -> str | None:
    if name in _RESOURCES:
        return name
    return "gpu" if name.endswith(("_gpu", "_gpu_shared")) else None


def _gpu_type(held: Mapping[str, str], *more: str) -> str:
    return next((v for k, v in held.items() if k.endswith((*_GPU_PRODUCT, *more))), "")


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor
