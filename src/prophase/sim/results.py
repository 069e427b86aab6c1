"""A replay and a comparison as plain values, for the command line and the service."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from prophase.errors import InputError
from prophase.sim.cluster import Cluster
from prophase.sim.schedule import Schedule
from prophase.sim.sweep.resampled_traces import broken_up, rough
from prophase.sim.whatif.comparison import ScenarioComparison
from prophase.sim.whatif.scenarios import Scenario
from prophase.sim.whatif.smallest_cluster import SmallestCluster
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
    schedule: Schedule, cluster: Cluster, metrics: dict[str, Any], data_hash: str
) -> dict[str, Any]:
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


def comparison_values(
    compared: ScenarioComparison,
    scenarios: Sequence[Scenario],
    *,
    measure: str,
    seeds: int,
    block_h: float,
    data_hash: str,
    remarks: Sequence[str] = (),
) -> dict[str, Any]:
    """Return scenarios ranked by a measure, and what to know about the numbers."""
    ranked = compared.ranked(measure).to_dict("records")
    rows = [{str(name): value for name, value in row.items()} for row in ranked]
    chosen = sorted(scenarios[0].policy.items())
    base = ", ".join(f"{name} {value}" for name, value in chosen if name != "estimate")
    told = [
        f"Baseline: {base}. {measure}: mean over {seeds} resampled traces "
        f"({compared.blocks} blocks to draw from); _trace: the trace as recorded.",
        "change: against the baseline on the same jobs, with a paired 95 % interval.",
        *remarks,
        *(f"Left out: {count:,} jobs {why}." for why, count in compared.left_out.items()),
    ]
    warnings = (rough(compared.blocks), broken_up(rows, measure, block_h))
    return {
        "measure": measure,
        "seeds": seeds,
        "blocks": compared.blocks,
        "data_hash": data_hash,
        "left_out": dict(compared.left_out),
        "rows": rows,
        "remarks": [*told, *(warning for warning in warnings if warning)],
    }


def smallest_cluster_values(one: SmallestCluster) -> dict[str, Any]:
    """Return the fewest nodes that keep a promise."""
    interval = one.nodes_interval
    return {
        "scenario": one.scenario,
        "nodes": one.nodes,
        "gpus": one.gpus,
        "value_s": one.value_s,
        "nodes_mean": interval.value if interval else None,
        "nodes_low": interval.ends()[0] if interval else None,
        "nodes_high": interval.ends()[1] if interval else None,
        "nodes_safe": one.nodes_for_all_seeds,
        "gpus_safe": one.gpus_for_all_seeds,
        "why_not": one.why_not,
    }
