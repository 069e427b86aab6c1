"""A cluster with several GPU types and gangs, taken apart: one pool of GPUs per type.

Each pool serves its jobs first come, first served, with all GPUs of a job at once; waits are exact
for that (Kiefer and Wolfowitz, as in ``exact_waits``). Where the queue is strict, a job that waits
for one type holds up those behind it that ask for another, so all pools share one queue. Left out
are nodes (a gang may straddle them), cores and memory, and jobs that overtake a waiting gang.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from heapq import heappop, heappush
from typing import Any

import numpy as np

from prophase.errors import InputError
from prophase.plural import counted, listed
from prophase.sim.cluster import PLENTY, Cluster
from prophase.sim.feasibility import with_types
from prophase.sim.queueing.assumptions import Assumption
from prophase.sim.queueing.exact_waits import exact_starts
from prophase.sim.queueing.mgc import mgc
from prophase.sim.queueing.parameter_checks import Floats, Ints
from prophase.sim.queueing.trace_theory import LEAST_JOBS, trace_theory
from prophase.sim.signatures import (
    ASK_CPU,
    ASK_GPUS,
    ASK_INSTANCES,
    ASK_MEMORY,
    ASK_TYPES,
    CPU,
    GPU_TYPE,
    GPUS,
    MEMORY,
)
from prophase.sim.workload import Workload, name_some

#: shares of all work beyond which an assumption counts as broken
_MOST_CHOICE, _MOST_STRADDLING = 0.2, 0.1
#: what M/G/c needs of a pool's arrivals
_STEADY = ("Poisson arrivals", "steady rate", "load below the servers")


@dataclass(frozen=True)
class TypePool:
    """The jobs of one GPU type, on all GPUs of it.

    Attributes
    ----------
    load : float
        GPUs that would be busy if nobody waited, over those there are.
    strict_limit : float
        The load beyond which serving strictly in turn no longer keeps up: in front of a waiting
        gang GPUs idle.
    wait_mean_s, wait_p95_s : float
        Exact for the pool.
    formula_wait_s : float, optional
        M/G/c (Whitt), where arrivals of the pool are steady and Poisson.
    """

    gpu_type: str
    gpus: int
    jobs: int
    load: float
    strict_limit: float
    wait_mean_s: float
    wait_p95_s: float
    formula_wait_s: float | None


@dataclass(frozen=True)
class TypedPools:
    """Waits of a cluster taken apart into pools; ``wait_s`` is that of the jobs in ``rows``."""

    pools: tuple[TypePool, ...]
    rows: Ints
    wait_s: Floats
    assumptions: tuple[Assumption, ...]

    @property
    def valid(self) -> bool:
        """Whether all that was assumed holds."""
        return all(one.holds for one in self.assumptions)

    def verdict(self) -> str:
        """Say whether the pools stand for the cluster, and what breaks that."""
        broken = [one.words for one in self.assumptions if not one.holds]
        if not broken:
            return "Pools by GPU type stand for this cluster: every assumption holds."
        return f"Pools by GPU type do not stand for this cluster: {'; '.join(broken)}."

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the waits of single jobs, as JSON knows it."""
        return {
            "pools": [asdict(one) for one in self.pools],
            "wait_mean_s": float(self.wait_s.mean()),
            "wait_p95_s": float(np.percentile(self.wait_s, 95)),
            "assumptions": [asdict(one) for one in self.assumptions],
            "valid": self.valid,
            "verdict": self.verdict(),
        }


def typed_pools(
    workload: Workload, cluster: Cluster, *, order: str = "fifo", queue: str = "skip"
) -> TypedPools:
    """Return the waits of each GPU type as a pool of its own, and whether that stands for it.

    Parameters
    ----------
    order, queue : str
        Of the scheduler that is to be judged. Pools are served in order of submission; with
        ``strict`` all share one queue, with others each has its own.

    Examples
    --------
    >>> import pandas as pd
    >>> jobs = pd.DataFrame({"job_id": list("abc"), "submit_s": 0.0, "duration_s": 60.0})
    >>> jobs["request_gpus"], jobs["gpu_type"] = [1.0, 1.0, 2.0], ["A", "B", "A"]
    >>> found = typed_pools(Workload.from_jobs(jobs), Cluster.parse("1x2 A, 1x1 B"))
    >>> [(pool.gpu_type, pool.wait_mean_s) for pool in found.pools]
    [('A', 30.0), ('B', 0.0)]
    """
    rows = np.flatnonzero(workload.gpus > 0)
    owned = np.bincount(
        cluster.matrix[:, GPU_TYPE], cluster.matrix[:, GPUS], len(cluster.gpu_types)
    ).astype(np.float64)
    if not len(rows) or not owned.any():
        raise InputError("no job asks for GPUs that this cluster has, so there are no pools.")
    asks = with_types(workload, cluster)[rows]
    submit, duration = workload.submit_s[rows], workload.duration_s[rows]
    need = workload.gpus[rows]
    kind, choice = _kinds(asks[:, ASK_TYPES], duration * need, need, owned)
    wide = kind < 0
    unlike = _without_pool(
        workload, rows[wide], float((duration * need)[wide].sum()), float((duration * need).sum())
    )
    if wide.all():
        raise InputError(f"{unlike.words}, so there are no pools. Give more nodes of one type.")
    held = ~wide
    rows, asks, kind = rows[held], asks[held], kind[held]
    submit, duration, need = submit[held], duration[held], need[held]
    if queue == "strict":
        wait = _one_queue(submit, duration, need, kind, owned) - submit
    else:
        wait = np.zeros(len(rows))
        for one in np.unique(kind):
            mine = kind == one
            wait[mine] = _starts(submit[mine], duration[mine], need[mine], owned[one])
            wait[mine] -= submit[mine]
    found = [
        _pool(cluster.gpu_types[one] or "GPU", int(owned[one]), submit[mine], duration[mine],
              need[mine], wait[mine])
        for one in np.unique(kind)
        for mine in (kind == one,)
    ]  # fmt: skip
    checked = _checked(cluster, asks, duration, need, kind, choice, order, queue)
    return TypedPools(tuple(found), rows, wait, (unlike, *checked))


def _without_pool(workload: Workload, rows: Ints, work: float, whole: float) -> Assumption:
    """Return whether every job finds enough GPUs in one pool; those that do not are left out."""
    share, names = work / (whole or 1.0), name_some(workload.jobs["job_id"].iloc[rows])
    return Assumption(
        "one type is enough", not len(rows), "share of work that no type has enough GPUs for",
        share, "none",
        f"{counted(len(rows), 'job')}, {100 * share:.0f} % of the work, left out: no GPU type that "
        f"they accept has as many GPUs as they ask for at once ({names})",
    )  # fmt: skip


def _kinds(accepted: Ints, work: Floats, need: Floats, owned: Floats) -> tuple[Ints, float]:
    """Return the pool of each job, and the share of work that could choose another.

    Who accepts several types goes where least work per GPU has gone so far.
    """
    kind = np.full(len(need), -1, np.int64)
    given, free = np.zeros(len(owned)), 0.0
    allowed = {
        int(mask): [one for one in np.flatnonzero(owned) if mask == 0 or int(mask) >> int(one) & 1]
        for mask in np.unique(accepted)
    }
    for job, (mask, amount, gpus) in enumerate(zip(accepted.tolist(), work, need, strict=True)):
        room = [one for one in allowed[mask] if owned[one] >= gpus]
        if not room:
            continue
        kind[job] = min(room, key=lambda one: given[one] / owned[one])
        given[kind[job]] += amount
        free += amount * (len(room) > 1)
    return kind, free / max(float(work.sum()), 1e-9)


def _starts(submit: Floats, duration: Floats, need: Floats, gpus: float) -> Floats:
    return exact_starts(submit, duration, int(gpus), need=None if (need == 1).all() else need)


def _one_queue(submit: Floats, duration: Floats, need: Floats, kind: Ints, owned: Floats) -> Floats:
    """Return starts where nobody starts before those in front, whatever type they ask for."""
    running: list[list[tuple[float, float]]] = [[] for _ in owned]
    free, now = owned.copy(), 0.0
    starts = np.empty(len(submit))
    jobs = zip(submit.tolist(), duration.tolist(), need.tolist(), kind.tolist(), strict=True)
    for job, (came, lasts, gpus, pool) in enumerate(jobs):
        now = max(now, came) if job else came
        while free[pool] < gpus - 1e-9:
            end, held = heappop(running[pool])
            now = max(now, end)
            free[pool] += held
        free[pool] -= gpus
        heappush(running[pool], (now + lasts, gpus))
        starts[job] = now
    return starts


def _pool(
    name: str, gpus: int, submit: Floats, duration: Floats, need: Floats, wait: Floats
) -> TypePool:
    span, work = float(np.ptp(submit)), float((duration * need).sum())
    # all at once: how much of the pool is busy while the queue is never empty
    start = _starts(np.zeros(len(submit)), duration, need, gpus)
    full_s = float(start.max())
    busy = float((np.maximum(np.minimum(start + duration, full_s) - start, 0.0) * need).sum())
    return TypePool(
        name,
        gpus,
        len(submit),
        work / span / gpus if span > 0 else float("nan"),
        busy / (full_s * gpus) if full_s > 0 else 1.0,
        float(wait.mean()),
        float(np.percentile(wait, 95)),
        _formula(submit, duration, need, gpus),
    )


def _formula(submit: Floats, duration: Floats, need: Floats, gpus: int) -> float | None:
    """Return what M/G/c says of a pool, in slots of its jobs' size; None where it does not hold."""
    if len(submit) < LEAST_JOBS or not np.ptp(submit) > 0 or not duration.any():
        return None
    theory = trace_theory(submit, duration, gpus, need=need)
    steady = all(one.holds for one in theory.assumptions if one.name in _STEADY)
    if not steady or theory.utilisation >= 1:
        return None
    slots = gpus / theory.servers_per_job
    answer = mgc(theory.arrivals_per_s, theory.service_mean_s, slots, theory.service_scv)
    return float(answer.wait_mean_s)


def _checked(
    cluster: Cluster,
    asks: Ints,
    duration: Floats,
    need: Floats,
    kind: Ints,
    choice: float,
    order: str,
    queue: str,
) -> tuple[Assumption, ...]:
    work = duration * need
    largest = np.zeros(len(cluster.gpu_types))
    np.maximum.at(largest, cluster.matrix[:, GPU_TYPE], cluster.matrix[:, GPUS])
    node = largest[kind]
    each = asks[:, ASK_GPUS]
    whole = float(work.sum()) or 1.0
    straddling = float(work[(each > 1) & (each > node / 2)].sum() / whole)
    gangs = float(work[need > 1].sum() / whole)
    blocked = queue == "strict" and gangs > _MOST_STRADDLING
    short = _short_of(cluster, asks, duration, need, kind)
    return (
        Assumption("first come, first served", order == "fifo", "order", float(order == "fifo"),
                   "fifo", f"jobs are ordered by {order}, not by submission"),
        Assumption("one GPU type each", choice <= _MOST_CHOICE, "share of work that may choose",
                   choice, f"at most {_MOST_CHOICE}",
                   f"{100 * choice:.0f} % of the work may run on several GPU types"),
        Assumption("gangs find a node", straddling <= _MOST_STRADDLING,
                   "share of work of gangs that take more than half a node", straddling,
                   f"at most {_MOST_STRADDLING}",
                   f"{100 * straddling:.0f} % of the work takes more than half a node and waits "
                   "until one is empty, which pools do not have"),
        Assumption("no node is waited for", not blocked, "share of work of gangs in a strict queue",
                   gangs if queue == "strict" else 0.0, f"at most {_MOST_STRADDLING}",
                   f"{100 * gangs:.0f} % of the work are gangs, which wait for one node with room "
                   "while all behind them wait: the pools' waits are a lower bound"),
        Assumption("GPUs limit", not short, "types with fewer cores or memory than GPUs",
                   float(len(short)), "none", f"{listed(list(short))} run short before GPUs do"),
    )  # fmt: skip


def _short_of(
    cluster: Cluster, asks: Ints, duration: Floats, need: Floats, kind: Ints
) -> Sequence[str]:
    """Return the types whose cores or memory are asked for more than their GPUs, by share."""
    found = []
    for one in np.unique(kind):
        mine, nodes = kind == one, cluster.matrix[cluster.matrix[:, GPU_TYPE] == one]
        gpus = float((duration * need)[mine].sum()) / float(nodes[:, GPUS].sum())
        for ask, has, words in ((ASK_CPU, CPU, "cores"), (ASK_MEMORY, MEMORY, "memory")):
            if (nodes[:, has] >= PLENTY).any():
                continue
            amount = asks[mine, ask] * asks[mine, ASK_INSTANCES] * duration[mine]
            if float(amount.sum()) > gpus * float(nodes[:, has].sum()):
                found.append(f"{words} of {cluster.gpu_types[one] or 'GPU'} nodes")
    return found
