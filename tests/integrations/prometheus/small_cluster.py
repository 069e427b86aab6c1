"""A small cluster as its exporters would tell of it, with the truth beside it.

Past samples are written as OpenMetrics text, from which promtool makes blocks; one pod is
still running and is scraped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

STEP_S = 60
#: working set and CPU of the cgroup around the containers, which must not be counted again
_AROUND = {"container": ""}


@dataclass(frozen=True)
class Truth:
    """One pod and what it really used."""

    name: str
    namespace: str
    owner: str
    owner_kind: str
    hours_ago: float
    minutes: int
    cores: float
    memory_gib: float
    peak_gib: float
    phase: str = "Succeeded"
    reason: str = "Completed"
    gpus: int = 0
    labels: dict[str, str] = field(default_factory=dict)

    @property
    def job_id(self) -> str:
        return f"{self.namespace}/{self.name}"


def past_pods() -> list[Truth]:
    nlp = {"label_example_com_team": "nlp", "label_user": "ann", "label_app": "bert"}
    trains = [
        Truth(
            f"bert-{n}-x{n}", "ml", f"bert-{n}", "Job", 40.0 - 3 * n, 30 + n, 1.5, 3.0,
            4.0 + n / 10, gpus=1, labels=nlp,
        )
        for n in range(5)
    ]  # fmt: skip
    return [
        *trains,
        Truth(
            "killed-0-a", "ml", "killed-0", "Job", 24.0, 20, 0.5, 7.0, 8.0, "Failed", "OOMKilled"
        ),
        Truth("nightly-1-b", "etl", "nightly-1", "Job", 22.0, 10, 0.25, 1.0, 1.5),
        Truth("web-7f-c", "web", "web-7f", "ReplicaSet", 30.0, 60, 0.1, 0.5, 0.5, "Running", ""),
        Truth("gone-d", "ml", "gone", "Job", 20.0, 15, 1.0, 2.0, 2.0, "Running", ""),
    ]


def open_metrics(now_s: float) -> str:
    """Return all past samples as text that promtool reads."""
    whole = int(now_s) // STEP_S * STEP_S
    lines = [line for pod in past_pods() for line in _pod_lines(pod, whole)]
    lines += list(_node_lines(whole - 40 * 3600, whole - 20 * 3600))
    lines.append(
        f'kube_job_owner{{namespace="etl",job_name="nightly-1",owner_kind="CronJob",'
        f'owner_name="nightly"}} 1 {whole - 22 * 3600}'
    )
    return "\n".join([*lines, "# EOF"]) + "\n"


def live_metrics(now_s: float) -> str:
    """Return what an exporter says now of the one pod that runs."""
    pod = Truth("live-e", "ml", "live", "Job", 0.1, 5, 2.0, 1.0, 1.0, "Running", "")
    start = int(now_s) - 300
    lines = [line.rsplit(" ", 1)[0] for line in _told(pod, start, start, 300, done=False)]
    return "\n".join([*lines, f"container_cpu_usage_seconds_total{_of(pod)} {2.0 * now_s}"]) + "\n"


def _pod_lines(pod: Truth, now_s: int) -> Iterator[str]:
    start = now_s - int(pod.hours_ago * 3600)
    for minute in range(pod.minutes + 1):
        yield from _told(pod, start, start + minute * STEP_S, minute * STEP_S, done=False)
        yield (
            f"container_cpu_usage_seconds_total{_of(pod)} {pod.cores * minute * STEP_S} "
            f"{start + minute * STEP_S}"
        )
    if pod.phase != "Running":
        end = start + pod.minutes * STEP_S
        yield from _told(pod, start, end + STEP_S, pod.minutes * STEP_S, done=True)


def _told(pod: Truth, start: int, at: int, ran_s: int, *, done: bool) -> Iterator[str]:
    labels = f'namespace="{pod.namespace}",pod="{pod.name}"'
    yield (
        f'kube_pod_info{{{labels},node="n1",created_by_kind="{pod.owner_kind}",'
        f'created_by_name="{pod.owner}"}} 1 {at}'
    )
    yield f"kube_pod_created{{{labels}}} {start - 90} {at}"
    yield f"kube_pod_start_time{{{labels}}} {start} {at}"
    phase = pod.phase if done else "Running"
    for word in ("Running", "Succeeded", "Failed"):
        yield f'kube_pod_status_phase{{{labels},phase="{word}"}} {int(word == phase)} {at}'
    for resource, amount in {"cpu": 4, "memory": 16 * 2**30, "nvidia_com_gpu": pod.gpus}.items():
        yield (
            f'kube_pod_container_resource_requests{{{labels},container="main",'
            f'resource="{resource}"}} {amount} {at}'
        )
    for container, image in (("init-proxy", "mesh/proxy:2"), ("main", "reg/train:1.4")):
        yield (
            f'kube_pod_container_info{{{labels},container="{container}",'
            f'image_spec="{image}"}} 1 {at}'
        )
    if pod.labels:
        named = ",".join(f'{key}="{value}"' for key, value in pod.labels.items())
        yield f"kube_pod_labels{{{labels},{named}}} 1 {at}"
    if done:
        yield f"kube_pod_completion_time{{{labels}}} {start + ran_s} {at}"
        yield (
            f'kube_pod_container_status_terminated_reason{{{labels},container="main",'
            f'reason="{pod.reason}"}} 1 {at}'
        )
        return
    # the peak is there for one sample only, as peaks are
    used = pod.peak_gib if ran_s == 10 * STEP_S else pod.memory_gib
    yield f"container_memory_working_set_bytes{_of(pod)} {used * 2**30} {at}"
    yield f"container_memory_working_set_bytes{_of(pod, **_AROUND)} {used * 2**30} {at}"
    if pod.gpus:
        gpu = f'gpu="0",Hostname="n1",modelName="Tesla T4",exported_namespace="{pod.namespace}"'
        gpu += f',exported_pod="{pod.name}",namespace="gpu",pod="exporter"'
        yield f"DCGM_FI_DEV_GPU_UTIL{{{gpu}}} 80 {at}"
        yield f"DCGM_FI_DEV_FB_USED{{{gpu}}} 2048 {at}"


def _node_lines(start: int, end: int) -> Iterator[str]:
    for at in range(start, end, 3600):
        for resource, amount in {"cpu": 32, "memory": 128 * 2**30, "nvidia_com_gpu": 2}.items():
            yield f'kube_node_status_capacity{{node="n1",resource="{resource}"}} {amount} {at}'


def _of(pod: Truth, container: str = "main") -> str:
    return f'{{namespace="{pod.namespace}",pod="{pod.name}",container="{container}"}}'
