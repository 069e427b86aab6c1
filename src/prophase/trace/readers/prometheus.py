"""Jobs, usage and nodes of a Kubernetes cluster, as ``import prometheus --url`` gathers them.

The folder holds what a Prometheus server knew of pods (kube-state-metrics), of their use
(cAdvisor, DCGM) and of the nodes, so that it can be imported again without the server.
"""

from __future__ import annotations

import ibis

from prophase.trace.dump import Dump
from prophase.trace.reader import Reader, Tables
from prophase.trace.schema import SCHEMAS
from prophase.trace.text_table import Sheet

JOBS_FILE, USAGE_FILE, NODES_FILE = "kube-pods.csv", "kube-usage.csv", "kube-nodes.csv"
JOBS = (
    "job_id", "parent_id", "name", "user", "group", "queue", "workload", "task", "submit_s",
    "start_s", "end_s", "status", "instances", "request_cpu_cores", "request_memory_gib",
    "request_gpus", "gpu_type", "cpu_mean_cores", "cpu_peak_cores", "memory_mean_gib",
    "memory_peak_gib", "gpu_util_mean_pct", "gpu_memory_mean_gib", "gpu_memory_peak_gib",
    "read_bytes", "write_bytes", "attr_namespace", "attr_priority_class", "after_node",
    "attr_image", "attr_owner_kind",
)  # fmt: skip
#: columns that folders of before do not have
_LATER = ("attr_namespace", "attr_image", "attr_owner_kind")
METRICS = (
    "cpu_cores", "memory_gib", "gpu_util_pct", "gpu_memory_gib", "read_bytes_per_s",
    "write_bytes_per_s",
)  # fmt: skip
NODES = ("node_id", "cpu_cores", "memory_gib", "gpus", "gpu_type", "features")


def _read(dump: Dump) -> Tables:
    tables = {"jobs": _table(dump.sheet(dump.find(JOBS_FILE)[0]), "jobs", JOBS)}
    if dump.root.is_file():
        return tables
    for name, file, columns in (
        ("usage", USAGE_FILE, ("series_id", "time_s", *METRICS)),
        ("nodes", NODES_FILE, NODES),
    ):
        for found in dump.find(file, required=False)[:1]:
            tables[name] = _table(dump.sheet(found), name, columns)
    return tables


def _table(sheet: Sheet, name: str, columns: tuple[str, ...]) -> ibis.Table:
    # folders of before do not say the namespace apart: it begins the name of a pod
    sheet.need(*(column for column in columns if column not in _LATER))
    schema = SCHEMAS[name]
    made = {}
    for column in columns:
        if column in _LATER and not sheet.has(column):
            if column == "attr_namespace":
                made[column] = sheet.text("job_id").re_extract(r"^([^/]+)/", 1).nullif("")
            continue
        known = schema.get(column)
        number = known is not None and known.kind == "number"
        made[column] = sheet.number(column) if number else sheet.text(column)
    return sheet.select(**made)


READER = Reader(
    name="prometheus",
    title="Pods of a Kubernetes cluster with their use, from a Prometheus server (--url)",
    fills={
        "jobs": [*JOBS, "duration_s", "wait_s"],
        "usage": ["series_id", "time_s", *METRICS],
        "nodes": list(NODES),
    },
    cannot="time limits and priorities as numbers; users and groups unless pod labels name them",
    read=_read,
    patterns=(JOBS_FILE, USAGE_FILE, NODES_FILE),
    signature=("job_id", "parent_id", "request_cpu_cores", "attr_priority_class", "after_node"),
    clock="unix",
)
