"""Alibaba disaggregated DLRM inference, 2025: requests and lifetimes of service instances.

Source: Yang et al., "GPU-Disaggregated Serving for Deep Learning Recommendation Models
at Scale", NSDI 2025; the node list belongs to Alibaba's spot GPU trace of 2026.
"""

from __future__ import annotations

import ibis

from prophase.trace.dump import Dump, having
from prophase.trace.reader import Reader, Tables
from prophase.trace.text_table import Sheet

_INSTANCES = ("instance_sn", "role", "app_name", "creation_time", "deletion_time")
_NODES = ("node_name", "gpu_model", "gpu_capacity_num", "cpu_num")


def _read(dump: Dump) -> Tables:
    found = dump.find("instances*.csv", "*DLRM*.csv", "*node_info*.csv")
    instances, nodes = having(found, *_INSTANCES), having(found, *_NODES)
    if not instances and not nodes:
        dump.sheet(found[0]).need(*_INSTANCES)
    tables: Tables = {}
    if instances:
        tables["jobs"] = _jobs(dump.sheet(instances[0]))
        dump.note("A missing submit_s or end_s lies before the trace starts or after it ends.")
    if nodes:
        tables["nodes"] = _nodes(dump.sheet(nodes[0]))
        if instances:
            dump.note("The nodes are those of another Alibaba cluster: the DLRM nodes are unknown.")
    return tables


def _jobs(sheet: Sheet) -> ibis.Table:
    per_node = sheet.number("max_instance_per_node")
    running = sheet.number("deletion_time").isnull()
    return sheet.select(
        job_id=sheet.text("instance_sn"),
        group=sheet.text("app_name"),
        task=sheet.text("role"),
        submit_s=sheet.number("creation_time"),
        start_s=sheet.number("scheduled_time"),
        end_s=sheet.number("deletion_time"),
        status=running.ifelse("running", ibis.null("string")),
        instances=ibis.literal(1.0),
        request_cpu_cores=sheet.number("cpu_request"),
        request_memory_gib=sheet.number("memory_request"),
        request_gpus=sheet.number("gpu_request"),
        attr_rdma_pct=sheet.number("rdma_request"),
        attr_disk_gib=sheet.number("disk_request"),
        attr_disk_limit_gib=sheet.number("disk_limit"),
        attr_max_per_node=(per_node >= 0).ifelse(per_node, ibis.null("float64")),
    )


def _nodes(sheet: Sheet) -> ibis.Table:
    return sheet.select(
        node_id=sheet.text("node_name"),
        cpu_cores=sheet.number("cpu_num"),
        gpus=sheet.number("gpu_capacity_num"),
        gpu_type=sheet.text("gpu_model"),
    )


READER = Reader(
    name="dlrm2025",
    title="Alibaba DLRM inference instances (2025) and a 4,278-node GPU inventory (2026)",
    fills={
        "jobs": (
            "job_id group task submit_s start_s end_s duration_s wait_s status instances "
            "request_cpu_cores request_memory_gib request_gpus attr_rdma_pct attr_disk_gib "
            "attr_disk_limit_gib attr_max_per_node"
        ).split(),
        "nodes": "node_id cpu_cores gpus gpu_type".split(),
    },
    cannot="usage, users, how an instance ended; memory of the nodes",
    read=_read,
    patterns=("instances*.csv", "*DLRM*.csv", "*node_info*.csv"),
    signature=("instance_sn", "role", "app_name", "rdma_request"),
    also=(_NODES,),
)
