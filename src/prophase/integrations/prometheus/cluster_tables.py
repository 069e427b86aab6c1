"""Jobs, usage and nodes of a cluster, from cAdvisor's, kube-state-metrics' and DCGM's series.

What is found is written to a folder first, a part of the span at a time, and imported from
there like any other trace: it can be kept, looked at and imported again.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TextIO

from prophase.errors import InputError, ParameterError, storage_error
from prophase.integrations.prometheus.client import Prometheus
from prophase.integrations.prometheus.kube_state_metrics import (
    cron_jobs_of,
    gather_nodes,
    gather_pods,
    job_row,
    spans,
)
from prophase.integrations.prometheus.label_names import LabelNames, Pod
from prophase.json_types import JsonObject
from prophase.plural import counted
from prophase.trace.readers.prometheus import (
    JOBS,
    JOBS_FILE,
    METRICS,
    NODES,
    NODES_FILE,
    USAGE_FILE,
)

#: usage is asked for so many seconds at a time
_SPAN_S = 6 * 3600.0
#: called with what is being done and how far it is, 0..100
Progress = Callable[[str, float | None], object]


@dataclass
class _Use:
    """Sums over the samples of one pod."""

    count: dict[str, int] = field(default_factory=dict)
    total: dict[str, float] = field(default_factory=dict)
    peak: dict[str, float] = field(default_factory=dict)
    #: what the counter of CPU time came to
    cpu_s: float = 0.0

    def add(self, metric: str, value: float) -> None:
        self.count[metric] = self.count.get(metric, 0) + 1
        self.total[metric] = self.total.get(metric, 0.0) + value
        self.peak[metric] = max(self.peak.get(metric, value), value)

    def row(self, job: JsonObject, step_s: float) -> dict[str, float]:
        """Return the columns of the job table that are made of samples."""
        found = {}
        for metric, (mean, peak) in _COLUMNS.items():
            if metric in self.count:
                if mean:
                    found[mean] = self.total[metric] / self.count[metric]
                if peak:
                    found[peak] = self.peak[metric]
        for metric, column in _TOTALS.items():
            if metric in self.count:
                found[column] = self.total[metric] * step_s
        if self.cpu_s and job["start_s"] and job["end_s"] and job["end_s"] > job["start_s"]:
            # rates fall short at both ends of a run; a counter that was reset falls short, too
            whole = self.cpu_s / (job["end_s"] - job["start_s"])
            found["cpu_mean_cores"] = max(found.get("cpu_mean_cores", 0.0), whole)
        return found


#: metric -> columns of its mean and its peak
_COLUMNS = {
    "cpu_cores": ("cpu_mean_cores", "cpu_peak_cores"),
    "memory_gib": ("memory_mean_gib", "memory_peak_gib"),
    "gpu_util_pct": ("gpu_util_mean_pct", ""),
    "gpu_memory_gib": ("gpu_memory_mean_gib", "gpu_memory_peak_gib"),
}
_TOTALS = {"read_bytes_per_s": "read_bytes", "write_bytes_per_s": "write_bytes"}


@dataclass(frozen=True)
class Gathered:
    """What was written, in numbers and words."""

    jobs: int
    samples: int
    nodes: int
    notes: tuple[str, ...] = ()


def gather(
    server: Prometheus,
    folder: Path,
    *,
    start_s: float,
    end_s: float,
    step_s: float = 60.0,
    labels: LabelNames | None = None,
    progress: Progress = lambda step, percent: None,
) -> Gathered:
    """Write the jobs, usage and nodes of a span to a folder that ``import prometheus`` reads.

    Parameters
    ----------
    step_s : float, default=60
        Seconds between samples. Memory is the highest inside each step, so that no peak that was
        scraped is lost.
    """
    if not step_s > 0 or not end_s > start_s:
        raise ParameterError("Prometheus: the step is above 0 and the end after the start.")
    named = _with_gpu_labels(server, labels or LabelNames(), end_s, end_s - start_s)
    pods = gather_pods(
        server, start_s, end_s, named, lambda share: progress("asking for pods", 100 * share)
    )
    if not pods:
        raise InputError(
            f"Prometheus at {server.url} knows no pod of that time (kube_pod_info is empty). Check "
            "that it scrapes kube-state-metrics, and the span."
        )
    wanted = {k: pod for k, pod in pods.items() if named.services == "yes" or not pod.is_service}
    cron_jobs = cron_jobs_of(server, start_s, end_s, named)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        uses, samples = _write_usage(
            server, folder, wanted, named, start_s, end_s, step_s, progress
        )
        jobs = {key: job_row(pod, named, cron_jobs, end_s) for key, pod in wanted.items()}
        rows = [{**job, **uses.get(key, _Use()).row(job, step_s)} for key, job in jobs.items()]
        nodes = gather_nodes(server, start_s, end_s, named)
        _write(folder / JOBS_FILE, JOBS, rows)
        if nodes:
            _write(folder / NODES_FILE, NODES, nodes)
    except OSError as cause:
        raise storage_error(cause, cause.filename or folder) from cause
    notes = tuple(_notes(pods, wanted, uses, nodes))
    return Gathered(len(rows), samples, len(nodes), notes)


def queries(labels: LabelNames, step_s: float) -> dict[str, str]:
    """Return the expression of every metric, one series per pod.

    Examples
    --------
    >>> queries(LabelNames(gpu_pod="pod"), 60.0)["gpu_util_pct"]
    'sum by (namespace,pod) (avg_over_time(DCGM_FI_DEV_GPU_UTIL{pod!=""}[60s]))'
    """
    by = f"sum by ({labels.namespace},{labels.pod})"
    gpu_by = f"sum by ({labels.gpu_namespace or 'namespace'},{labels.gpu_pod or 'pod'})"
    # the sum over a pod's containers, without the cgroup around them and the pause container
    these = labels.selector(f'{labels.container}!=""', f'{labels.container}!="POD"')
    gpu = f'{{{labels.gpu_pod or "pod"}!=""}}'
    # a rate needs two samples: two steps, and two minutes at least
    span, rate = f"{math.ceil(step_s)}s", f"{max(120, math.ceil(2 * step_s))}s"
    return {
        "cpu_cores": f"{by} (rate(container_cpu_usage_seconds_total{these}[{rate}]))",
        "memory_gib": f"{by} (max_over_time(container_memory_working_set_bytes{these}[{span}]))"
        " / 1073741824",
        "read_bytes_per_s": f"{by} (rate(container_fs_reads_bytes_total{these}[{rate}]))",
        "write_bytes_per_s": f"{by} (rate(container_fs_writes_bytes_total{these}[{rate}]))",
        "gpu_util_pct": f"{gpu_by} (avg_over_time(DCGM_FI_DEV_GPU_UTIL{gpu}[{span}]))",
        "gpu_memory_gib": f"{gpu_by} (max_over_time(DCGM_FI_DEV_FB_USED{gpu}[{span}])) / 1024",
    }


def _with_gpu_labels(
    server: Prometheus, labels: LabelNames, at_s: float, span_s: float
) -> LabelNames:
    """Find out which labels of DCGM's series name the pod that uses a GPU."""
    if labels.gpu_pod:
        return replace(labels, gpu_namespace=labels.gpu_namespace or labels.namespace)
    # scraped without honorLabels, "pod" is the exporter's own and the user of the GPU is "exported"
    span = f"{max(1, math.ceil(span_s))}s"
    seen = f'count(count_over_time(DCGM_FI_DEV_GPU_UTIL{{exported_pod!=""}}[{span}]))'
    prefix = "exported_" if server.instant(seen, at_s) else ""
    return replace(
        labels, gpu_pod=f"{prefix}{labels.pod}", gpu_namespace=f"{prefix}{labels.namespace}"
    )


def _write_usage(
    server: Prometheus,
    folder: Path,
    wanted: Mapping[tuple[str, str], Pod],
    labels: LabelNames,
    start_s: float,
    end_s: float,
    step_s: float,
    progress: Progress,
) -> tuple[dict[tuple[str, str], _Use], int]:
    """Write the samples of all pods, one part of the span after the other."""
    asked = queries(labels, step_s)
    uses: dict[tuple[str, str], _Use] = {}
    written = 0
    # whole steps, so that samples of all parts lie on one grid
    begin_s = math.ceil(start_s / step_s) * step_s
    with (folder / USAGE_FILE).open("w", newline="", encoding="utf-8") as out:
        table = _table(out, ["series_id", "time_s", *METRICS])
        for begin, end in spans(begin_s, end_s, max(_SPAN_S, step_s)):
            samples: dict[tuple[tuple[str, str], float], JsonObject] = {}
            for metric, query in asked.items():
                key_of = labels if not metric.startswith("gpu") else _gpu_labels(labels)
                # the end of a part is the beginning of the next
                for series in server.range(query, begin, min(end, end_s) - step_s / 2, step_s):
                    key = key_of.key(series.labels)
                    if key is None or key not in wanted:
                        continue
                    use = uses.setdefault(key, _Use())
                    for at, value in zip(series.times_s, series.values, strict=True):
                        if math.isfinite(value) and value >= 0:
                            samples.setdefault((key, at), {})[metric] = value
                            use.add(metric, value)
            _add_cpu_time(server, uses, labels, begin, end)
            for (key, at), values in sorted(samples.items()):
                table.writerow({"series_id": "/".join(key), "time_s": f"{at:.3f}", **values})
            written += len(samples)
            progress("asking for usage", 100 * (end - start_s) / (end_s - start_s))
    return uses, written


def _add_cpu_time(
    server: Prometheus,
    uses: Mapping[tuple[str, str], _Use],
    labels: LabelNames,
    begin_s: float,
    end_s: float,
) -> None:
    these = labels.selector(f'{labels.container}!=""', f'{labels.container}!="POD"')
    counter = f"container_cpu_usage_seconds_total{these}[{max(1, math.ceil(end_s - begin_s))}s]"
    asked = f"sum by ({labels.namespace},{labels.pod}) (max_over_time({counter}))"
    for held, value in server.instant(asked, end_s):
        key = labels.key(held)
        if key is not None and key in uses and math.isfinite(value):
            uses[key].cpu_s = max(uses[key].cpu_s, value)


def _gpu_labels(labels: LabelNames) -> LabelNames:
    return replace(labels, pod=labels.gpu_pod, namespace=labels.gpu_namespace)


def _write(path: Path, columns: tuple[str, ...], rows: list[JsonObject]) -> None:
    with path.open("w", newline="", encoding="utf-8") as out:
        _table(out, columns).writerows(rows)


def _table(out: TextIO, columns: Any) -> csv.DictWriter[str]:
    table = csv.DictWriter(out, list(columns), lineterminator="\n", extrasaction="raise")
    table.writeheader()
    return table


def _notes(
    pods: Mapping[tuple[str, str], Pod],
    wanted: Mapping[tuple[str, str], Pod],
    uses: Mapping[tuple[str, str], _Use],
    nodes: list[JsonObject],
) -> list[str]:
    said = []
    services = len(pods) - len(wanted)
    if services:
        said.append(
            f"{counted(services, 'pod')} of services (Deployments, DaemonSets and the like) left "
            "out; --option services=yes takes them as jobs."
        )
    if wanted and not any(pod.labels for pod in wanted.values()):
        said.append(
            "No pod has labels, so users and groups are unknown: start kube-state-metrics with "
            "--metric-labels-allowlist=pods=[*]."
        )
    silent = sum(key not in uses for key in wanted)
    if silent:
        said.append(
            f"{counted(silent, 'job')} without a sample of usage: too short, or not scraped."
        )
    if not nodes:
        said.append("No nodes: kube_node_status_capacity is empty.")
    return said
