"""Alibaba spot GPU jobs, 2026: high-priority and spot jobs, and the nodes of six GPU types.

Source: cluster-trace-v2026-spot-gpu; Duan et al., "GFS: A Preemptive Scheduling Framework for GPU
Clusters with Predictive Spot Management", ASPLOS 2026. Times count from the first submission.
"""

from __future__ import annotations

import ibis

from prophase.trace.reader import Reader, SourceTable, number, text
from prophase.trace.text_table import Sheet


def _priority(sheet: Sheet) -> ibis.Value:
    """High-priority jobs come before spot jobs, which may be preempted."""
    kind = sheet.text("job_type")
    return (kind == "HP").ifelse(1.0, (kind == "Spot").ifelse(0.0, ibis.null("float64")))


READER = Reader.of_tables(
    "spot-gpu2026",
    "Alibaba spot and high-priority GPU jobs with their 4,278 nodes, 2026 (GFS)",
    SourceTable(
        "jobs",
        (
            "job_name", "organization", "gpu_model", "cpu_request", "gpu_request", "worker_num",
            "submit_time", "duration", "job_type",
        ),
        {
            "job_id": text("job_name"),
            "group": text("organization"),
            "queue": text("job_type"),
            "submit_s": number("submit_time"),
            "duration_s": number("duration"),
            "instances": number("worker_num"),
            "gang_size": number("worker_num"),
            "request_cpu_cores": number("cpu_request"),
            "request_gpus": number("gpu_request"),
            "gpu_type": text("gpu_model"),
            "priority": _priority,
        },
        "Cores and GPUs are taken as those of one worker. Starts were not published: no waits.",
    ),
    SourceTable(
        "nodes",
        ("node_name", "gpu_model", "gpu_capacity_num", "cpu_num"),
        {
            "node_id": text("node_name"),
            "cpu_cores": number("cpu_num"),
            "gpus": number("gpu_capacity_num"),
            "gpu_type": text("gpu_model"),
        },
    ),
    cannot="starts and waits, users, memory, usage, how a job ended, which jobs were preempted",
    patterns=("job_info*.csv", "node_info*.csv"),
    signature=("job_name", "organization", "gpu_model", "worker_num", "job_type"),
    # the list of nodes alone is known as that of dlrm2025, which came first
    also=(),
)  # fmt: skip
