"""A replay as plain values, for the command line and the service."""

from __future__ import annotations

from prophase.errors import InputError
from prophase.json_types import JsonObject
from prophase.sim.cluster import Cluster
from prophase.sim.schedule import Schedule
from prophase.trace.trace_tables import Trace


def cluster_of(trace: Trace, text: str | None, *, where: str) -> Cluster:
    """Return the cluster that a text describes, or that the trace has."""
    if text is not None:
        return Cluster.parse(text)
    if "nodes" in trace.tables:
        return Cluster.from_nodes(trace.nodes)
    raise InputError(
        f"{where}: has no node table. Name the cluster with --cluster 100x8 or --nodes FILE."
    )


def schedule_values(
    schedule: Schedule, cluster: Cluster, metrics: JsonObject, data_hash: str
) -> JsonObject:
    """Return what a replay found: its policy, its cluster and its measures."""
    return {
        "order": schedule.order,
        "place": schedule.place,
        "queue": schedule.queue,
        "nodes": len(cluster),
        "gpus": cluster.gpus,
        **metrics,
        "data_hash": data_hash,
        "notes": list(schedule.notes),
    }
