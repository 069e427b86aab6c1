"""Both sides on the cluster: waits, completion times and utilisation, on the trace and on others.

The other traces have the days (or hours) of this one resampled; both sides meet the same jobs,
so their differences are paired.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from prophase.errors import InputError
from prophase.json_types import JsonMapping, JsonObject
from prophase.plain import finite
from prophase.plural import counted
from prophase.sim.cluster import Cluster
from prophase.sim.measures.job_classes import groups_of
from prophase.sim.rules.retry_ladder import Ladder
from prophase.sim.schedule import Schedule
from prophase.sim.signatures import ASK_CPU, ASK_GPUS, ASK_MEMORY, ASK_MILLI
from prophase.sim.simulation import simulate
from prophase.sim.sweep.dry_run import unfit_jobs
from prophase.sim.sweep.resampled_traces import (
    AS_RECORDED,
    Resampler,
    interval_remark,
    paired_change,
)
from prophase.sim.workload import Workload
from prophase.stats import Estimate
from prophase.stats.blocks import why_too_short
from prophase.workers import run_all

Floats = NDArray[np.float64]

_HOUR_S = 3600.0
#: cluster-wide numbers that are compared, with what they are called
_WHOLE = (
    "mean_wait_s", "p99_wait_s", "mean_jct_s", "gpu_utilisation_pct", "cpu_utilisation_pct",
    "memory_utilisation_pct", "makespan_s", "restarts",
)  # fmt: skip
TODAY, ADVISED = "today", "advised"


@dataclass(frozen=True)
class MeasureChange:
    """One measure on both sides, and the change from the first to the second.

    ``today`` and ``advised`` are the trace as recorded; the interval comes from resampled ones.
    """

    measure: str
    of: str
    jobs: int
    today: float
    advised: float
    #: recommended minus today
    change: Estimate

    def to_dict(self) -> JsonObject:
        """Return the fields as JSON knows them."""
        held: JsonObject = finite({**self.__dict__, **self.change.columns("change")})
        return held


@dataclass(frozen=True)
class Replays:
    """What the cluster does with today's requests and with the recommended ones."""

    changes: list[MeasureChange]
    #: memory that the replays allocated, to be compared with the sums, in GiB h
    allocated_gib_h: dict[str, float]
    notes: list[str]
    jobs: int
    seeds: int
    #: mean wait that the trace recorded for the replayed jobs, and how many of them have one
    recorded_wait_s: float | None = None
    recorded_jobs: int = 0

    def of(self, measure: str, of: str = "all jobs") -> MeasureChange | None:
        """Return the change of a measure."""
        return next((c for c in self.changes if (c.measure, c.of) == (measure, of)), None)

    def to_dict(self) -> JsonObject:
        """Return everything as JSON knows it."""
        return {
            "jobs": self.jobs,
            "seeds": self.seeds,
            "allocated_gib_h": self.allocated_gib_h,
            "recorded_wait_s": self.recorded_wait_s,
            "recorded_jobs": self.recorded_jobs,
            "changes": [one.to_dict() for one in self.changes],
            "notes": self.notes,
        }


def replay_both(
    today: Workload,
    advised: Workload,
    cluster: Cluster,
    *,
    ladder: Ladder | None,
    policy: JsonMapping,
    by: str = "class",
    seeds: int = 10,
    leave_out_unfit: bool = True,
    workers: int | str = 1,
    show: Callable[[str, float], None] = lambda step, percent: None,
) -> Replays:
    """Replay both sides on the cluster.

    Parameters
    ----------
    ladder : Ladder or None
        How the recommended side asks again after a kill.
    by : str
        What forms the classes of jobs, as for ``Schedule.metrics``.
    seeds : int
        Resampled traces; 0 gives no intervals.
    leave_out_unfit : bool
        Leave out jobs that fit on no node of the cluster; otherwise the replay refuses them.
    workers : int or str, default=1
        Processes, or the address of a Dask scheduler; the numbers are the same with any.
    """
    stuck = unfit_jobs(today, cluster) if leave_out_unfit else np.zeros(len(today), bool)
    if stuck.all():
        raise InputError(
            f"none of the {counted(len(today), 'job')} fits on a node of this cluster: "
            f"{_smallest(today)}. Name larger nodes (--cluster), or none to go without waits."
        )
    reason = "fit on no node of this cluster"
    sides = {TODAY: today.without(stuck, reason), ADVISED: advised.without(stuck, reason)}
    draws = {name: Resampler(side) for name, side in sides.items()}
    blocks = draws[TODAY].blocks
    too_short = why_too_short(np.ones(blocks), "day")
    seeds = 0 if too_short else seeds
    shared = _Shared(draws, cluster, ladder, policy, by, leave_out_unfit)
    drawn = range(AS_RECORDED, seeds + 1)
    by_seed: dict[int, dict[str, _Replay]] = {}
    with closing(run_all(_both, shared, drawn, workers=workers)) as results:
        for seed, pair in results:
            by_seed[seed] = pair
            show("replaying both sides", 100 * len(by_seed) / len(drawn))
    recorded = by_seed[AS_RECORDED]
    allocated = {name: one.allocated_gib_h for name, one in recorded.items()}
    notes = list(dict.fromkeys(note for one in recorded.values() for note in one.notes))
    jobs = recorded[TODAY].jobs
    measured = {name: [by_seed[seed][name].measures for seed in drawn] for name in (TODAY, ADVISED)}
    counts = _counts(sides[TODAY], by)
    changes = [
        _change(key, measured, blocks, counts.get(key[1], jobs)) for key in measured[TODAY][0]
    ]
    if (seeds or too_short) and (said := interval_remark(blocks, seeds)):
        notes.append(said)
    if any(one.change.known for one in changes):
        silent = dict.fromkeys(one.change.reason for one in changes if not one.change.known)
        notes += [f"Some changes have no interval: {why}." for why in silent]
    waits = _recorded_waits(sides[TODAY])
    mean = float(waits.mean()) if waits.size else None
    return Replays(changes, allocated, notes, jobs, seeds, mean, int(waits.size))


def _recorded_waits(workload: Workload) -> Floats:
    """Return the waits that the trace itself has for these jobs."""
    jobs = workload.jobs
    if "wait_s" in jobs and jobs["wait_s"].notna().any():
        waits = jobs["wait_s"].to_numpy(np.float64, na_value=np.nan)
    elif {"submit_s", "start_s"} <= set(jobs):
        times = jobs[["start_s", "submit_s"]].to_numpy(np.float64, na_value=np.nan)
        waits = times[:, 0] - times[:, 1]
    else:
        return np.empty(0)
    known: Floats = waits[np.isfinite(waits) & (waits >= 0)]
    return known


@dataclass(frozen=True)
class _Shared:
    """What every replay needs."""

    draws: Mapping[str, Resampler]
    cluster: Cluster
    ladder: Ladder | None
    policy: JsonMapping
    by: str
    leave_out_unfit: bool


@dataclass(frozen=True)
class _Replay:
    """What one side of one trace gave."""

    measures: dict[tuple[str, str], float]
    allocated_gib_h: float
    notes: tuple[str, ...]
    jobs: int


def _smallest(workload: Workload) -> str:
    """Say what the job with the least memory asks for."""
    asks = workload.asks[workload.asks[:, ASK_MEMORY].argmin()]
    parts = {
        "cores": asks[ASK_CPU] / 1000, "GiB": asks[ASK_MEMORY] / 1024,
        "GPUs": asks[ASK_GPUS] * asks[ASK_MILLI] / 1000,
    }  # fmt: skip
    wanted = ", ".join(f"{value:.3g} {unit}" for unit, value in parts.items() if value > 0)
    return f"the one with the least memory asks for {wanted or 'nothing that is stated'}"


def _both(shared: _Shared, seed: int) -> dict[str, _Replay]:
    """Replay both sides of one trace."""
    found = {}
    for name in (TODAY, ADVISED):
        schedule = simulate(
            shared.draws[name](seed), shared.cluster, seed=seed,
            ladder=shared.ladder if name == ADVISED else None,
            leave_out_unfit=shared.leave_out_unfit, **shared.policy,
        )  # fmt: skip
        held = schedule.occupancy
        allocated = float(held.memory_gib @ held.length_s) / _HOUR_S
        found[name] = _Replay(
            _measures(schedule, shared.by), allocated, tuple(schedule.notes), len(schedule.workload)
        )
    return found


def _measures(schedule: Schedule, by: str) -> dict[tuple[str, str], float]:
    """Return numbers by measure and class."""
    found = schedule.metrics(by=by)
    measures: dict[tuple[str, str], float] = {}
    for name in _WHOLE:
        if found.get(name) is not None:
            measures[name, "all jobs"] = float(found[name])
    for row in found["classes"]:
        for name in ("mean_wait_s", "p99_wait_s", "mean_jct_s"):
            if row.get(name) is not None:
                measures[name, str(row[by])] = float(row[name])
    return measures


def _counts(workload: Workload, by: str) -> dict[str, int]:
    return {name: len(rows) for name, rows in groups_of(workload, by).rows()}


def _change(
    key: tuple[str, str],
    measured: Mapping[str, list[dict[tuple[str, str], float]]],
    blocks: int,
    jobs: int,
) -> MeasureChange:
    first, then = (measured[side][0].get(key, math.nan) for side in (TODAY, ADVISED))
    before, after = (
        np.array([one.get(key, math.nan) for one in measured[side][1:]])
        for side in (TODAY, ADVISED)
    )
    found = paired_change(before, after, blocks)
    # the resampled traces tell how much the change of the recorded one may vary
    moved = then - first - found.value
    change = replace(found, value=then - first, low=found.low + moved, high=found.high + moved)
    return MeasureChange(*key, jobs, first, then, change)
