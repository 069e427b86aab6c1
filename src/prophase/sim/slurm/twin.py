"""A live queue run forward: when will a job start, what would start it sooner, what if?

The order is Slurm's own: its priorities as they stand, or another one. Run times are drawn from
finished jobs of the same kin, whether a job runs or waits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from prophase.errors import InputError, ParameterError, not_among
from prophase.sim.cluster import Cluster
from prophase.sim.feasibility import with_types
from prophase.sim.forecast.remaining_time import RunTimes
from prophase.sim.forecast.start_forecast import (
    LEAST_FINISHED,
    IntervalWidening,
    StartForecast,
    told_start,
)
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
class QueueTwin:
    """A snapshot, and how long its jobs run.

    Parameters
    ----------
    snapshot : QueueSnapshot
    finished : DataFrame, optional
        Finished jobs, to learn run times from; without them time limits count.
    """

    snapshot: QueueSnapshot
    finished: pd.DataFrame | None = None
    #: nodes that are thought away, and jobs thought of, beside those of the snapshot
    down: tuple[str, ...] = ()
    draws: int = 60
    random_state: int = 0
    jobs: pd.DataFrame = field(init=False)
    _ready: dict[Any, tuple[PreparedReplay, Floats]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        shot = self.snapshot
        jobs = pd.concat([shot.running, shot.waiting], ignore_index=True)
        elapsed = np.where(
            jobs["status"] == "running", np.maximum(shot.now_s - jobs["start_s"], 0.0), 0.0
        )
        cores = jobs["request_cpu_cores"].fillna(0.0) * jobs["instances"]
        object.__setattr__(self, "_ready", {})
        object.__setattr__(self, "jobs", jobs.assign(elapsed_s=elapsed, _cores=cores))

    @cached_property
    def running(self) -> int:
        """How many jobs run."""
        return int((self.jobs["status"] == "running").sum())

    @cached_property
    def _waiting_ids(self) -> pd.Index:
        ids: list[str] = self.jobs["job_id"].astype(str).tolist()[self.running :]
        return pd.Index(ids)

    @cached_property
    def left_s(self) -> Floats:
        """Return how much longer each job runs, one column per draw."""
        if self.finished is None or len(self.finished) < LEAST_FINISHED:
            raise InputError(
                f"only {0 if self.finished is None else len(self.finished):,} finished jobs are "
                f"known; {LEAST_FINISHED} are needed to say how long jobs run"
            )
        history = RunTimes.of(_with_ratio(self.finished), levels=_LEVELS)
        rng = np.random.default_rng(self.random_state)
        drawn = history.draw(_with_ratio(self.jobs), rng, self.draws)
        return np.maximum(drawn, 1.0)

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

    def eta(self, job: str, stretch: IntervalWidening | None = None) -> StartForecast:
        """Say when a waiting job starts, with an interval."""
        return self.etas([job], stretch)[job]

    def etas(
        self, jobs: Sequence[str], stretch: IntervalWidening | None = None
    ) -> dict[str, StartForecast]:
        """Say when waiting jobs start, with intervals; all from the same futures."""
        ids = self.jobs["job_id"].to_numpy(str)
        waiting = list(ids[self.running :])
        for job in jobs:
            if job not in waiting:
                runs = " It runs already." if job in ids else ""
                raise ParameterError(f"job {job} does not wait in this queue.{runs}")

        def about(job: str) -> dict[str, Any]:
            return {
                "job_id": job,
                "now_s": self.snapshot.now_s,
                "running": self.running,
                "waiting": len(waiting),
                "ahead": waiting.index(job),
            }

        def abstain(job: str, reason: str) -> StartForecast:
            return StartForecast(**about(job), p10_s=None, p50_s=None, p90_s=None, reason=reason)

        try:
            drawn = self.left_s
            tables = [self.starts(one) for one in drawn.T]
        except InputError as cause:
            return {job: abstain(job, str(cause).rstrip(".")) for job in jobs}
        found = {}
        for job in jobs:
            starts = np.array([table[job] for table in tables], np.float64)
            if np.isnan(starts).any():
                found[job] = abstain(job, "it never starts in some futures")
            else:
                found[job] = told_start(about(job), starts, stretch)
        return found


#: run times by user and what was asked for; limits tell much, so their size is one of the keys
_LEVELS = (
    ("user", "name", "_limit", "request_gpus", "_size"),
    ("user", "_limit", "_size"),
    ("user", "_limit"),
    ("_limit", "_size"),
    ("_limit",),
    ("user",),
    (),
)


def _with_ratio(jobs: pd.DataFrame) -> pd.DataFrame:
    """Add what run times are grouped by: time limit and size, in steps."""
    limit = jobs["time_limit_s"].to_numpy(np.float64, na_value=np.nan)
    cores = jobs["request_cpu_cores"].fillna(0.0).to_numpy(np.float64) * jobs["instances"].fillna(
        1.0
    ).to_numpy(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        step = np.round(2 * np.log2(np.maximum(limit, 1.0)))
        size = np.round(np.log2(np.maximum(cores, 1.0)))
    return jobs.assign(_limit=np.where(np.isnan(limit), -1.0, step), _size=size)
