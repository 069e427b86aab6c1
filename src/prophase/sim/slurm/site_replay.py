"""``simulate`` by a Slurm site's rules: what it follows, what it refuses, what it leaves out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from prophase.errors import ParameterError
from prophase.plural import counted, listed
from prophase.sim.cluster import Cluster
from prophase.sim.feasibility import ignores_types, keep_fitting, with_types
from prophase.sim.kernels.slurm.array_layout import LEAST_LOADED, NEIGHBOURS, SWITCHES
from prophase.sim.rules.node_availability import calendar_events, find_absences, in_order
from prophase.sim.rules.rule_set import SchedulingRules
from prophase.sim.schedule import Schedule
from prophase.sim.signatures import (
    ASK_CPU,
    ASK_GPUS,
    ASK_INSTANCES,
    ASK_MEMORY,
    ASK_MILLI,
    CPU,
    GPUS,
    MEMORY,
    Floats,
)
from prophase.sim.slurm.job_demands import beyond_limits, demands_of
from prophase.sim.slurm.replay import (
    SlurmPolicy,
    never_admitted,
    prepare_slurm,
    slurm_asks,
)
from prophase.sim.slurm.site_rules import SiteRules, check_names
from prophase.sim.workload import Workload

_PLACES = {SWITCHES: "slurm_tree", LEAST_LOADED: "worst_fit", NEIGHBOURS: "best_fit"}
_QUEUES = ("conservative", "strict")
#: rules that the loop of Slurm does not know
_OTHERS = ("preempt", "share", "speeds", "scaling", "failures", "ladder", "quotas", "hours")


def follows_site(
    site: SiteRules, workload: Workload, *, place: str, queue: str, rules: SchedulingRules
) -> bool:
    """Tell whether a replay goes by the site's rules; refuse it where it would have to break them.

    A site of one partition without limits can also be replayed with rules of ours beside it.
    """
    check_names(site)
    own = [f"{name}=" for name in _OTHERS if getattr(rules, name) is not None]
    if place != _PLACES[site.choice]:
        own.append(f"place={place}")
    if queue not in _QUEUES:
        own.append(f"queue={queue}")
    if ((workload.asks[:, ASK_MILLI] > 0) & (workload.asks[:, ASK_MILLI] < 1000)).any():
        own.append("jobs that ask for a part of a GPU")
    if not own:
        return True
    if _decides(site):
        raise ParameterError(
            f"{listed(own)} cannot be combined with this site's rules "
            f"({listed(_decides(site))}). Leave them out, or replay without --slurm."
        )
    return False


def _decides(site: SiteRules) -> list[str]:
    """Name what a site has beyond an order, a queue and backfilling."""
    found = []
    nodes = {frozenset(one.nodes) for one in site.partitions.values()}
    if len(nodes) > 1:
        found.append("partitions")
    limited = [
        one
        for one in site.partitions.values()
        if min(one.max_time_s, one.max_nodes, one.max_cores_per_node) < np.inf or one.whole_nodes
    ]
    if limited:
        found.append(f"limits of partition {limited[0].name}")
    if any(
        limit.limits
        for one in site.qualities.values()
        for limit in (one.per_job, one.all_jobs, one.per_user, one.per_account)
    ):
        found.append("limits of QOS")
    if any(one.all_jobs.limits or one.jobs < np.inf for one in site.associations):
        found.append("limits of accounts")
    if site.preempt_by:
        found.append("preemption")
    if site.reservations:
        found.append("reservations")
    return found


def simulate_site(
    workload: Workload,
    cluster: Cluster,
    site: SiteRules,
    rules: SchedulingRules,
    *,
    order: Callable[..., Any],
    order_name: Any,
    order_options: dict[str, Any],
    queue: str,
    estimates: Callable[[Workload], Floats],
    leave_out_unfit: bool,
    seed: int,
) -> Schedule:
    """Replay a workload by the site's rules."""
    workload, widened = workload.spread_over(int(cluster.matrix[:, GPUS].max()))
    workload, packed = _on_nodes(workload, cluster)
    workload, notes = _admitted(workload, cluster, site, leave_out_unfit)
    demands = demands_of(workload, site)
    moving, key = order(order_name, workload, dict(order_options))
    policy = SlurmPolicy(
        site,
        rules.backfill if queue == "conservative" else None,
        moving,
        order_options,
        key if moving is None else None,
        rules.half_life_s,
        rules.shares,
    )
    outages = None
    if rules.calendar is not None:
        outages = in_order(calendar_events(rules.calendar, cluster))
    believed = _with_default_times(estimates(workload), workload, demands.partition, site)
    attempts = prepare_slurm(workload, cluster, demands, believed, policy, outages=outages).run()
    absences = None
    if outages is not None:
        changes = [
            (float(time), int(node), -1 if what == 2 else 1)
            for time, (node, what) in zip(*outages, strict=True)
        ]
        absences = find_absences(
            len(cluster), float(attempts.end_s.max(initial=0.0)), elastic_from=len(cluster),
            changes=changes,
        )  # fmt: skip
    if widened:
        notes.append(f"{widened:,} jobs wider than a node run as gangs over several nodes")
    if packed:
        notes.append(
            f"{packed:,} jobs of several instances are packed on as few nodes as hold them"
        )
    notes += [f"not followed: {what}" for what in site.left_out]
    name = order_name if isinstance(order_name, str) else getattr(order_name, "__name__", "own")
    return Schedule(
        workload, cluster, attempts, name, _PLACES[site.choice], queue, tuple(notes), absences
    )


def _on_nodes(workload: Workload, cluster: Cluster) -> tuple[Workload, int]:
    """Pack instances that are processes, not nodes, on as few nodes as hold them.

    Slurm's own accounting counts nodes; other logs count processors.
    """
    asks, instances = workload.asks, workload.asks[:, ASK_INSTANCES]
    source = workload.jobs.get("source")
    of_slurm = source is not None and source.astype(str).eq("sacct").any()
    several = instances > 1
    if of_slurm or not several.any():
        return workload, 0
    matrix = cluster.matrix
    largest = matrix[:, [CPU, MEMORY, GPUS]].max(axis=0)
    each = asks[:, [ASK_CPU, ASK_MEMORY, ASK_GPUS]]
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(each > 0, largest[None, :] // np.maximum(each, 1), 1 << 40).min(axis=1)
    per_node = np.maximum(np.minimum(room, instances), 1)
    nodes = -(-instances // per_node)
    per_node = -(-instances // nodes)
    changed = several & (per_node > 1)
    if not changed.any():
        return workload, 0
    asks = asks.copy(order="K")
    asks[changed, ASK_INSTANCES] = nodes[changed]
    for column in (ASK_CPU, ASK_MEMORY, ASK_GPUS):
        asks[changed, column] *= per_node[changed]
    return replace(workload, asks=asks), int(changed.sum())


def _admitted(
    workload: Workload, cluster: Cluster, site: SiteRules, leave_out: bool
) -> tuple[Workload, list[str]]:
    """Keep the jobs that the site would start one day; refuse or leave out the others."""
    limit = workload.jobs.get("time_limit_s")
    limit_s = (
        np.zeros(len(workload))
        if limit is None
        else np.nan_to_num(limit.to_numpy(np.float64, na_value=np.nan), nan=0.0)
    )
    for why, rows in beyond_limits(workload, demands_of(workload, site), site, limit_s).items():
        rows = rows[: len(workload)]
        workload, _ = keep_fitting(workload, workload.asks, rows, why, cluster, leave_out=leave_out)
        if rows.any():
            return _admitted(workload, cluster, site, leave_out)
    workload = replace(workload, asks=with_types(workload, cluster))
    asks, allowed = slurm_asks(workload, cluster, demands_of(workload, site), site)
    stuck = never_admitted(asks, allowed, cluster.matrix)
    workload, _ = keep_fitting(
        workload,
        workload.asks,
        stuck,
        "fit on no nodes of their partition even when it is empty",
        cluster,
        leave_out=leave_out,
    )
    notes = [f"{counted(count, 'job')} left out: {why}" for why, count in workload.left_out.items()]
    if ignores_types(workload, cluster):
        notes.append("GPU types that jobs ask for are ignored: the cluster names none")
    return workload, [*notes, *workload.unstated()]


def _with_default_times(
    believed: Floats, workload: Workload, partition: Any, site: SiteRules
) -> Floats:
    """Let jobs without a time limit have their partition's."""
    if "time_limit_s" not in workload.jobs or not site.partitions:
        return believed
    missing = workload.jobs["time_limit_s"].isna().to_numpy()
    if not missing.any():
        return believed
    usual = np.array([min(one.default_time_s, one.max_time_s) for one in site.partitions.values()])[
        np.maximum(partition, 0)
    ]
    longer = missing & np.isfinite(usual)
    return np.where(longer, np.maximum(believed, usual), believed)
