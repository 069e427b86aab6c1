"""A live queue run forward: when will a job start, what would start it sooner, what if?

The order is Slurm's own: its priorities as they stand, or another one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from prophase.errors import ParameterError, not_among
from prophase.sim.cluster import Cluster
from prophase.sim.feasibility import with_types
from prophase.sim.forecast.live_twin import LiveTwin
from prophase.sim.kernels.dynamic.array_layout import DRAIN
from prophase.sim.rules.backfill import Backfill
from prophase.sim.signatures import ASK_INSTANCES, Floats, Ints
from prophase.sim.slurm.job_demands import beyond_limits, demands_of
from prophase.sim.slurm.replay import (
    PreparedReplay,
    Present,
    SlurmPolicy,
    never_admitted,
    prepare_slurm,
    slurm_asks,
)
from prophase.sim.slurm.snapshot import ENDLESS_S, QueueSnapshot, held_rows
from prophase.sim.workload import Workload

#: what runs has begun this long before now
_BEFORE_S = 1.0
#: who goes first: column of the job table, and whether the largest does
ORDERS = {
    "slurm": ("attr_priority", True),
    "fifo": ("submit_s", False),
    "shortest": ("time_limit_s", False),
    "smallest": ("_cores", False),
    "largest": ("_cores", True),
}
#: a run of the queue makes about so many backfill passes, and looks so deep into a queue that is
#: longer than the second number, so that a long queue is answered at once
_PASSES, _LONG, _DEPTH = 60, 2000, 300


@dataclass(frozen=True)
class QueueTwin(LiveTwin):
    """A snapshot, and how long its jobs run.

    Parameters
    ----------
    snapshot : QueueSnapshot
    finished : DataFrame, optional
        Finished jobs, to learn run times from; without them time limits count.
    """

    snapshot: QueueSnapshot
    #: nodes that are thought away beside those of the snapshot
    down: tuple[str, ...] = ()
    _ready: dict[Any, tuple[PreparedReplay, Floats]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "_ready", {})

    def starts(
        self,
        left_s: Floats,
        *,
        order: str = "slurm",
        job: str | None = None,
        changes: Mapping[str, Any] | None = None,
        down: Sequence[str] = (),
    ) -> pd.Series:
        """Return when each waiting job starts, in seconds from now, for one draw of run times.

        Parameters
        ----------
        left_s : array
            How much longer each job runs.
        order : str
            ``slurm`` or another key of ``ORDERS``.
        job, changes : optional
            Columns of one waiting job that are thought otherwise.
        down : sequence of str
            Nodes that take no more jobs.
        """
        if order not in ORDERS:
            raise ParameterError(not_among(f"order {order!r} is unknown.", order, ORDERS))
        prepared, believed = self._prepared(job, tuple((changes or {}).items()), tuple(down))
        column, largest = ORDERS[order]
        key = prepared.workload.jobs[column].fillna(np.inf).to_numpy(np.float64)
        duration = left_s + np.where(np.arange(len(left_s)) < self.running, _BEFORE_S, 0.0)
        found = prepared.run(duration, np.maximum(believed, duration), -key if largest else key)
        start = np.full(len(self.jobs), np.nan)
        # attempts are in the order of their starts: the first of a job counts
        start[found.job[::-1]] = found.start_s[::-1]
        return pd.Series(np.maximum(start[self.running :], 0.0), self._waiting_ids)

    def _prepared(
        self, job: str | None, changes: tuple[tuple[str, Any], ...], down: tuple[str, ...]
    ) -> tuple[PreparedReplay, Floats]:
        """Return the replay of the queue, ready to run, and believed run times."""
        known = (job, changes, down)
        if known in self._ready:
            return self._ready[known]
        jobs, runs, cluster = self.jobs, self.running, self.cluster
        if job is not None and changes:
            row = jobs.index[jobs["job_id"].astype(str) == job]
            if not len(row):
                raise ParameterError(f"job {job} is not in the queue.")
            jobs = jobs.copy()
            for name, value in changes:
                jobs.loc[row[0], name] = value
        shaped = Workload.from_jobs(
            jobs.assign(submit_s=np.arange(len(jobs), dtype=float), duration_s=1.0)
        )
        submit = np.where(np.arange(len(jobs)) < runs, -_BEFORE_S, 0.0)
        workload = replace(shaped, jobs=jobs, submit_s=submit)
        workload = replace(workload, asks=with_types(workload, cluster))
        demands = demands_of(workload, self.snapshot.rules)
        limit = jobs["time_limit_s"].fillna(ENDLESS_S).to_numpy(np.float64)
        believed = np.maximum(limit - jobs["elapsed_s"].to_numpy(np.float64), 1.0)
        believed[:runs] += _BEFORE_S
        backfill = self.snapshot.settings.get("backfill")
        policy = SlurmPolicy(
            self.snapshot.rules, None if backfill is None else self._eased(backfill)
        )
        held = held_rows(jobs, self.snapshot.nodes)
        wanted = workload.asks[:, ASK_INSTANCES]
        present = [
            np.resize(rows, int(wanted[number])) if number < runs and len(rows) else rows[:0]
            for number, rows in enumerate(held)
        ]
        prepared = prepare_slurm(
            workload,
            cluster,
            demands,
            believed,
            policy,
            outages=self._outages(cluster, [*self.snapshot.off, *self.down, *down]),
            present=Present(present),
        )
        self._ready[known] = prepared, believed
        return prepared, believed

    @cached_property
    def cluster(self) -> Cluster:
        """The nodes."""
        return self.snapshot.cluster

    def _eased(self, backfill: Backfill) -> Backfill:
        """Let passes of a long queue be as far apart as its jobs end."""
        waits = len(self.jobs) - self.running
        cores = float((self.jobs["_cores"] * self.jobs["time_limit_s"].fillna(3600.0)).sum())
        whole = max(float(self.snapshot.nodes["cpu_cores"].sum()), 1.0)
        span_s = cores / whole
        every_s = max(backfill.every_s, span_s / _PASSES)
        depth = min(backfill.depth, _DEPTH) if waits > _LONG else backfill.depth
        return replace(backfill, every_s=every_s, depth=depth)

    def _outages(self, cluster: Cluster, off: Sequence[str]) -> tuple[Floats, Ints] | None:
        names = cluster.nodes["node_id"].astype(str).tolist()
        unknown = [name for name in off if name not in names]
        if unknown:
            raise ParameterError(f"node {unknown[0]} is not one of the cluster's.")
        if not off:
            return None
        rows = [(names.index(name), DRAIN) for name in off]
        return np.full(len(rows), -_BEFORE_S), np.array(rows, np.int64)

    def refusal(self, job: str, changes: Mapping[str, Any]) -> str:
        """Say why a job that asks for something else would never start; empty: it would."""
        jobs = self.jobs[self.jobs["job_id"].astype(str) == job].assign(**changes)
        rules = self.snapshot.rules
        shaped = Workload.from_jobs(jobs.assign(submit_s=0.0, duration_s=1.0))
        shaped = replace(shaped, asks=with_types(shaped, self.cluster))
        demands = demands_of(shaped, rules)
        limit = shaped.jobs["time_limit_s"].fillna(0.0).to_numpy(np.float64)
        why = beyond_limits(shaped, demands, rules, limit)
        if why:
            return next(iter(why))
        asks, allowed = slurm_asks(shaped, self.cluster, demands, rules)
        stuck = never_admitted(asks, allowed, self.cluster.matrix)
        return "does not fit on the partition's nodes" if stuck[0] else ""
