"""The same jobs where a cause cannot keep anybody waiting, and what its removal does to waits.

Each function returns the changed workload, cluster and settings, or a sentence that says why
there is nothing to remove.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from prophase.json_types import JsonObject
from prophase.plain import finite
from prophase.sim.cluster import Cluster
from prophase.sim.measures.backlog_blocks import backlog_blocks, why_too_few
from prophase.sim.measures.cost import cost_per_hour
from prophase.sim.schedule import Schedule
from prophase.sim.signatures import (
    ASK_CPU,
    ASK_FEATURES,
    ASK_GPUS,
    ASK_INSTANCES,
    ASK_MEMORY,
    ASK_TYPES,
    Floats,
    Ints,
)
from prophase.sim.simulation import simulate
from prophase.sim.workload import Workload
from prophase.stats import Estimate, ratio
from prophase.stats.blocks import Blocks
from prophase.trace.prices import Prices

#: a node's GPUs are the bits of one number
_MOST_GPUS = 63
#: settings that name nodes or count them
_ABOUT_NODES = ("calendar", "failures", "scaling")


_SHORTEST = {"order": "shortest", "order_options": None}


@dataclass(frozen=True)
class Counterfactual:
    """What to replay; ``job_of`` leads from its rows to the jobs asked about."""

    workload: Workload
    cluster: Cluster
    settings: dict[str, Any]
    job_of: Ints | None = None


def twice_the_nodes(world: Counterfactual) -> Counterfactual | str:
    """Every node twice."""
    nodes = world.cluster.nodes
    again = nodes.assign(node_id=nodes["node_id"].astype(str) + " (again)")
    doubled = Cluster.from_nodes(pd.concat([nodes, again], ignore_index=True))
    scaling = world.settings.get("scaling")
    if scaling is None or scaling.ceiling is None:
        return replace(world, cluster=doubled)
    wider = replace(scaling, ceiling=2 * scaling.ceiling)
    return replace(world, cluster=doubled, settings={**world.settings, "scaling": wider})


def any_type(world: Counterfactual) -> Counterfactual | str:
    """GPU types and node features do not matter."""
    named = [c for c in ("gpu_type", "attr_features") if c in world.workload.jobs]
    if not named or not world.workload.jobs[named].notna().any(axis=None):
        return "no job names a GPU type or a node feature"
    asks = world.workload.asks.copy()
    asks[:, ASK_TYPES] = asks[:, ASK_FEATURES] = 0
    jobs = world.workload.jobs.drop(columns=named)
    return replace(world, workload=replace(world.workload, jobs=jobs, asks=asks))


def one_by_one(world: Counterfactual) -> Counterfactual | str:
    """Instances start one by one; a job has waited when its last one starts."""
    workload = world.workload
    instances = workload.asks[:, ASK_INSTANCES]
    if (instances == 1).all():
        return "no job has several instances"
    rows = np.repeat(np.arange(len(workload)), instances)
    number = np.arange(len(rows)) - np.repeat(np.cumsum(instances) - instances, instances)
    jobs = workload.jobs.iloc[rows].reset_index(drop=True)
    jobs["job_id"] = jobs["job_id"].astype(str) + "#" + pd.Series(number.astype(str))
    asks = workload.asks[rows]
    asks[:, ASK_INSTANCES] = 1
    alone = Workload(jobs, workload.submit_s[rows], workload.duration_s[rows], asks, {})
    return replace(world, workload=alone, job_of=rows)


def plenty_of_cpu(world: Counterfactual) -> Counterfactual | str:
    """GPU jobs need no CPU and no memory."""
    asks = world.workload.asks.copy()
    with_gpu = asks[:, ASK_GPUS] > 0
    if not (asks[with_gpu, ASK_CPU].any() or asks[with_gpu, ASK_MEMORY].any()):
        return "no GPU job asks for CPU or memory"
    if not {"cpu_cores", "memory_gib"} & set(world.cluster.nodes):
        return "the nodes state neither CPU nor memory, so these never limit"
    asks[with_gpu, ASK_CPU] = asks[with_gpu, ASK_MEMORY] = 0
    return replace(world, workload=replace(world.workload, asks=asks))


def no_pieces(world: Counterfactual) -> Counterfactual | str:
    """A job's GPUs may lie on any nodes, and nodes of a kind are merged (up to 63 GPUs)."""
    asks = world.workload.asks.copy()
    gpus = np.maximum(asks[:, ASK_GPUS], 1)
    asks[:, ASK_INSTANCES] *= gpus
    asks[:, ASK_GPUS] = np.minimum(asks[:, ASK_GPUS], 1)
    # rounded down, so that what filled a node to the brim still fits
    asks[:, ASK_CPU] //= gpus
    asks[:, ASK_MEMORY] //= gpus
    workload = replace(world.workload, asks=asks)
    # rules about single nodes need them
    alone = any(world.settings.get(name) is not None for name in _ABOUT_NODES)
    cluster = world.cluster if alone else _merged(world.cluster)
    return replace(world, workload=workload, cluster=cluster)


def let_others_pass(world: Counterfactual) -> Counterfactual | str:
    """Whoever fits may start."""
    if world.settings.get("queue", "skip") == "skip":
        return "whoever fits may start already"
    return replace(world, settings={**world.settings, "queue": "skip", "backfill": None})


def shortest_first(world: Counterfactual) -> Counterfactual | str:
    """The shortest job goes first (true run times)."""
    if world.settings.get("order") == "shortest":
        return "the shortest job goes first already"
    return replace(world, settings={**world.settings, **_SHORTEST})


def no_quotas(world: Counterfactual) -> Counterfactual | str:
    """No limits per user or queue."""
    if world.settings.get("quotas") is None:
        return "there are no quotas"
    return replace(world, settings={**world.settings, "quotas": None})


class Removal(NamedTuple):
    """One way to remove a cause; ``kind`` says what it would take.

    A ``setting`` of the scheduler, a ``purchase``, or nothing that can be had: an ``ideal`` world
    is the most that any cure of the cause could save.
    """

    cause: str
    words: str
    kind: str
    world: Callable[[Counterfactual], Counterfactual | str]


REMOVALS = (
    Removal("quota", "no quotas", "setting", no_quotas),
    Removal("capacity", "every node twice", "purchase", twice_the_nodes),
    Removal("gpu_type", "any GPU type and node", "ideal", any_type),
    Removal("gang", "instances start one by one", "ideal", one_by_one),
    Removal("cpu_memory", "GPU jobs need only GPUs", "ideal", plenty_of_cpu),
    Removal("fragmentation", "GPUs of all nodes pooled", "ideal", no_pieces),
    Removal("order", "whoever fits may start", "setting", let_others_pass),
    Removal("order", "shortest job first", "setting", shortest_first),
)


def _merged(cluster: Cluster) -> Cluster:
    """Return nodes of the same type and features as one, or as few as their GPUs allow."""
    nodes = cluster.nodes
    kind = [c for c in ("gpu_type", "features") if c in nodes]
    amounts = [c for c in ("gpus", "cpu_cores", "memory_gib") if c in nodes]
    keys = nodes[kind].fillna("").astype(str).agg("|".join, axis=1) if kind else ""
    table = nodes[kind + amounts].assign(kind=keys)
    if "gpus" in table:
        table["gpus"] = table["gpus"].fillna(0.0)
        bare = np.where(table["gpus"] == 0, "without", "with")
        table["kind"] = table["kind"] + bare
        before = table.groupby("kind")["gpus"].cumsum() - table["gpus"]
        # every part but the last is filled as far as whole nodes of the largest size allow
        whole = max(1.0, _MOST_GPUS + 1.0 - float(table["gpus"].max()))
        table["part"] = (before // whole).astype(int)
    else:
        table["part"] = 0
    rows = []
    for number, (_, part) in enumerate(table.groupby(["kind", "part"], sort=False)):
        # what one node does not state never limits the whole
        sums = part[amounts].sum(skipna=False)
        rows.append({"node_id": f"pool-{number}", **part[kind].iloc[0], **sums})
    return Cluster.from_nodes(pd.DataFrame(rows))


@dataclass(frozen=True)
class Effect:
    """All waiting in a world without a cause, against the world as it is.

    ``change_pct`` is the change of total waiting in percent of it, with its interval over days,
    or over blocks of days that hold the backlog.
    ``skipped`` says why there was nothing to remove. ``cost_per_day`` is what it takes in money:
    nothing for a setting, unknown without prices and for an ideal that nobody sells.
    """

    cause: str
    change: str
    skipped: str = ""
    wait_s: float | None = None
    change_pct: Estimate | None = None
    kind: str = "setting"
    cost_per_day: float | None = None

    @property
    def saved_pct(self) -> float:
        """Waiting saved in percent of all; negative if it makes waiting longer."""
        return -self.change_pct.value if self.change_pct is not None else 0.0

    def to_dict(self) -> JsonObject:
        """Return the fields as JSON knows them."""
        found = self.change_pct or Estimate(math.nan)
        low, high = found.ends()
        ends = {"change_pct": finite(found.value), "low_pct": low, "high_pct": high}
        return {**self.__dict__, **ends}


def effects_of_removal(
    schedule: Schedule,
    cluster: Cluster,
    settings: dict[str, Any],
    progress: Callable[[str, float | None], None] | None = None,
    prices: Prices | None = None,
) -> list[Effect]:
    """Replay the jobs of a schedule once for each way to remove a cause.

    Parameters
    ----------
    settings : dict
        What the schedule was made with, as for :func:`prophase.sim.simulate`.
    prices : Prices, optional
        What an hour costs, so that a purchase has a price.
    """
    share = settings.get("share")
    if share is not None:
        # the schedule's requests are what sharing left of them already
        settings = {**settings, "share": replace(share, per_gpu=0)}
    found, blocks = [], backlog_blocks(schedule)
    for number, removal in enumerate(REMOVALS):
        if progress:
            progress(f"without {removal.cause}: {removal.words}", 100 * number / len(REMOVALS))
        world = removal.world(Counterfactual(schedule.workload, cluster, settings))
        if isinstance(world, str):
            found.append(Effect(removal.cause, removal.words, world, kind=removal.kind))
            continue
        waits = _waits(world, len(schedule.workload))
        cost = 0.0 if removal.kind == "setting" else None
        if removal.kind == "purchase" and prices is not None:
            bought = cost_per_hour(world.cluster, prices) - cost_per_hour(cluster, prices)
            cost = 24 * bought
        found.append(replace(_compare(removal, schedule, waits, blocks), cost_per_day=cost))
    return found


def _waits(world: Counterfactual, jobs: int) -> Floats:
    """Return the wait of each job in another world."""
    again = simulate(world.workload, world.cluster, **world.settings)
    if world.job_of is None:
        return again.wait_s
    last = np.zeros(jobs)
    np.maximum.at(last, world.job_of, again.wait_s)
    return last


def _compare(removal: Removal, schedule: Schedule, waits: Floats, blocks: Blocks) -> Effect:
    before = schedule.wait_s
    # a job that never starts in one of the worlds has no wait to compare
    known = np.isfinite(before) & np.isfinite(waits)
    total = float(before[known].sum())
    difference = waits[known] - before[known]
    held = blocks.some(known)
    found = ratio(100 * difference, before[known], held).within(-100.0)
    if reason := why_too_few(held):
        found = Estimate(found.value, reason=reason)
    change = replace(found, value=float(difference.sum()) * 100 / total)
    wait_s = float(waits[known].sum())
    return Effect(removal.cause, removal.words, "", wait_s, change, removal.kind)
