"""Nodes as kube-state-metrics tells of them."""

from __future__ import annotations

import math
from typing import Any

from prophase.integrations.prometheus.labels import Labels
from prophase.integrations.prometheus.server import Prometheus

_GPU_PRODUCT = ("gpu_product", "gke_accelerator", "gpu_type", "accelerator")


def gather_nodes(
    server: Prometheus, start_s: float, end_s: float, labels: Labels
) -> list[dict[str, Any]]:
    """Return one row of the node table per node that was seen in the span."""
    span = f"{max(1, math.ceil(end_s - start_s))}s"
    rows: dict[str, dict[str, Any]] = {}
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
            product = next((v for k, v in held.items() if k.endswith(_GPU_PRODUCT)), None)
            found["gpu_type"] = product
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
