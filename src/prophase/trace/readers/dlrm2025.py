"""Alibaba disaggregated DLRM inference, 2025: requests and lifetimes of service instances.

Source: Yang et al., "GPU-Disaggregated Serving for Deep Learning Recommendation Models
at Scale", NSDI 2025; the node list belongs to Alibaba's spot GPU trace of 2026, another
cluster: the nodes of the DLRM instances are unknown.
"""

from __future__ import annotations

import ibis

from prophase.trace.reader import Reader, SourceTable, constant, number, text
from prophase.trace.text_table import Sheet


def _status(sheet: Sheet) -> ibis.Value:
    return sheet.number("deletion_time").isnull().ifelse("running", ibis.null("string"))


def _most_per_node(sheet: Sheet) -> ibis.Value:
    most = sheet.number("max_instance_per_node")
    return (most >= 0).ifelse(most, ibis.null("float64"))


READER = Reader.of_tables(
    "dlrm2025",
    "Alibaba DLRM inference instances (2025) and a 4,278-node GPU inventory (2026)",
    SourceTable(
        "jobs",
        ("instance_sn", "role", "app_name", "creation_time", "deletion_time"),
        {
            "job_id": text("instance_sn"),
            "group": text("app_name"),
            "task": text("role"),
            "submit_s": number("creation_time"),
            "start_s": number("scheduled_time"),
            "end_s": number("deletion_time"),
            "status": _status,
            "instances": constant(1.0),
            "request_cpu_cores": number("cpu_request"),
            "request_memory_gib": number("memory_request"),
            "request_gpus": number("gpu_request"),
            "attr_rdma_pct": number("rdma_request"),
            "attr_disk_gib": number("disk_request"),
            "attr_disk_limit_gib": number("disk_limit"),
            "attr_max_per_node": _most_per_node,
        },
        "A missing submit_s or end_s lies before the trace starts or after it ends.",
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
        "The nodes are those of another Alibaba cluster: the DLRM nodes are unknown.",
    ),
    cannot="usage, users, how an instance ended; memory of the nodes",
    patterns=("instances*.csv", "*DLRM*.csv", "*node_info*.csv"),
    signature=("instance_sn", "role", "app_name", "rdma_request"),
)
