"""Split the waiting time of a schedule by cause: arrays in, one sweep, arrays out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prophase.sim.kernels import reasons
from prophase.sim.kernels.trees import QUEUE_FIRST
from prophase.sim.schedule import Schedule
from prophase.sim.shapes import distinct_rows
from prophase.sim.signatures import (
    ASK_COLUMNS,
    ASK_CPU,
    ASK_FEATURES,
    ASK_GPUS,
    ASK_MEMORY,
    ASK_TYPES,
    FEATURES,
    GPU_TYPE,
    Floats,
    Ints,
)
from prophase.sim.why.asking import attempts_as_waits
from prophase.sim.why.causes import by_cause
from prophase.sim.why.limits import Limits

#: room per shape and node is kept while there are fewer cells; beyond, nodes are counted anew
_CELLS = 60_000_000
_HOURS_OF_WEEK = 168
_MILLI_SECONDS_PER_GPU_HOUR = 1000 * 3600.0


@dataclass(frozen=True)
class WaitSplit:
    """Seconds and GPU-hours of a schedule by what kept jobs waiting and GPUs idle.

    Attributes
    ----------
    fine_s : array of shape (jobs, 10)
        Seconds that each job waited, by cause and resource as in ``kernels.reasons``.
    blame_s : array of shape (jobs + 1, 2)
        Seconds of waiting that each job, first of those that did not fit, was held
        responsible for: of short and of long jobs. The last row is nobody's.
    behind_s : array of shape (10,)
        The same seconds by what the job in the way lacked itself; nobody's under ``ORDER``.
    idle_gpu_h : array of shape (GPU types, 2, 168)
        Free GPU-hours by hour of the week, without and with GPU jobs waiting.
    stranded_gpu_h : array of shape (GPU types, 2, 2)
        GPU-hours free on nodes that lack the CPU or the memory of the smallest and of the
        typical GPU job: last axis is lacking CPU, lacking memory.
    references : array of shape (2, 2)
        CPU in milli-cores and memory in MiB of the smallest and the typical GPU job.
    """

    schedule: Schedule
    fine_s: Floats
    blame_s: Floats
    behind_s: Floats
    idle_gpu_h: Floats
    stranded_gpu_h: Floats
    references: Ints
    is_short: NDArray[np.bool_]
    #: jobs that never start: their waits have no end and are left out
    never_started: int
    #: are there quotas?
    limited: bool

    @property
    def cause_s(self) -> Floats:
        """Seconds by job and cause, in the order of ``causes.CAUSES``."""
        return by_cause(self.fine_s)


def split_waits(
    schedule: Schedule,
    *,
    limits: Limits | None = None,
    short_below_s: float = 3600.0,
    week_shift_s: float = 0.0,
) -> WaitSplit:
    """Split all waiting time of a schedule by cause.

    Parameters
    ----------
    limits : Limits, optional
        Quotas of users and queues; without them nothing waits for a quota.
    short_below_s : float, default=3600
        Jobs that run for less are short.
    week_shift_s : float, default=0
        Added to times to make them seconds since a Monday, 00:00.

    Examples
    --------
    >>> import pandas as pd
    >>> from prophase.sim import Cluster, Workload, simulate
    >>> jobs = pd.DataFrame({"job_id": ["a", "b", "c"], "submit_s": [0.0, 1.0, 2.0]})
    >>> jobs["duration_s"], jobs["request_gpus"] = 10.0, [1.0, 2.0, 1.0]
    >>> plan = simulate(Workload.from_jobs(jobs), Cluster.parse("1x2"), queue="strict")
    >>> split_waits(plan).cause_s.sum(axis=0)  # b lacks a GPU; c would fit, but b is ahead of it
    array([ 0., 19.,  0.,  0.,  0.,  0.,  8.])
    """
    waits = attempts_as_waits(schedule)
    workload, jobs = schedule.workload, len(schedule.workload)
    limits = limits or Limits.none(jobs)
    rows = np.hstack([waits.asks, limits.owners_of[waits.job]])
    shapes, shape_of = distinct_rows(rows)
    asks = np.ascontiguousarray(shapes[:, :ASK_COLUMNS])
    nodes = np.array(schedule.cluster.matrix, np.int64, order="C")
    masks, allowed, group_of = _who_may_go_where(asks, nodes)
    waited = waits.start_s > waits.ready_s
    per_shape = np.bincount(shape_of[waited], minlength=len(asks))
    state = np.zeros((len(asks), reasons.STATE_COLUMNS), np.int64)
    state[:, QUEUE_FIRST] = np.cumsum(per_shape) - per_shape
    state[:, reasons.MASK], state[:, reasons.SEEN] = masks, -1
    keep = len(asks) * len(nodes) <= _CELLS
    is_short = (workload.duration_s < short_below_s).astype(np.int64)
    references = _references(workload.asks)
    kinds = len(schedule.cluster.gpu_types)
    fine_s, blame_s = np.zeros((jobs, reasons.CAUSES)), np.zeros((jobs + 1, 2))
    behind_s = np.zeros(reasons.CAUSES)
    idle, stranded = np.zeros((kinds, 2 * _HOURS_OF_WEEK)), np.zeros((kinds, 4))
    switch_s, switch_node = _switches(schedule)
    reasons.sweep(
        waits.ready_s,
        waits.start_s,
        waits.end_s,
        _in_time(waits.ready_s, waited),
        _in_time(waits.start_s, waited | (waits.end_s > waits.start_s)),
        _in_time(waits.end_s, waits.end_s > waits.start_s),
        waits.job,
        shape_of,
        waits.rank,
        is_short[waits.job],
        nodes,
        asks,
        state,
        np.stack([waits.node, waits.gpu_bits], axis=1),
        waits.first_instance,
        group_of,
        allowed,
        np.zeros((len(allowed), 3), np.int64),
        # two rows or more say that cells are kept
        np.zeros((max(2, len(asks)) if keep else 1, len(nodes)), np.int64),
        np.zeros(max(1, int(per_shape.sum())), np.int64),
        np.ascontiguousarray(shapes[:, ASK_COLUMNS:]),
        np.ascontiguousarray(limits.most),
        np.zeros(limits.most.shape, np.int64),
        switch_s,
        switch_node,
        references,
        float(workload.submit_s.min()),
        float(workload.submit_s.max()),
        float(week_shift_s),
        fine_s,
        blame_s,
        idle,
        stranded,
        behind_s,
    )
    return WaitSplit(
        schedule,
        _exact(fine_s, waits.seconds(jobs)),
        blame_s,
        behind_s,
        idle.reshape(kinds, 2, _HOURS_OF_WEEK) / _MILLI_SECONDS_PER_GPU_HOUR,
        stranded.reshape(kinds, 2, 2) / _MILLI_SECONDS_PER_GPU_HOUR,
        references,
        is_short.astype(bool),
        jobs - len(np.unique(waits.job)),
        bool((limits.owners_of >= 0).any()),
    )


def _in_time(times: Floats, rows: NDArray[np.bool_]) -> Ints:
    chosen = np.flatnonzero(rows)
    return chosen[np.argsort(times[chosen], kind="stable")]


def _who_may_go_where(asks: Ints, nodes: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the mask of each shape, which node groups each mask allows, the group of each node.

    Mask 0 allows every node: the whole cluster.
    """
    groups, group_of = distinct_rows(nodes[:, [GPU_TYPE, FEATURES]])
    masks, mask_of = distinct_rows(asks[:, [ASK_TYPES, ASK_FEATURES]])
    typed = (masks[:, :1] == 0) | (masks[:, :1] >> groups[:, 0] & 1 == 1)
    featured = (masks[:, 1:] & ~groups[:, 1]) == 0
    allowed = np.vstack([np.ones((1, len(groups)), np.int64), (typed & featured).astype(np.int64)])
    return mask_of + 1, allowed, group_of


def _references(asks: Ints) -> Ints:
    """Return CPU and memory of the smallest and the median GPU job, each resource by itself."""
    with_gpu = asks[asks[:, ASK_GPUS] > 0][:, [ASK_CPU, ASK_MEMORY]]
    if not len(with_gpu):
        return np.zeros((2, 2), np.int64)
    return np.stack([with_gpu.min(axis=0), np.median(with_gpu, axis=0).astype(np.int64)])


def _switches(schedule: Schedule) -> tuple[Floats, Ints]:
    """Return when nodes leave (node) and come back (-1 - node), in order of time."""
    away = schedule.absences
    if away is None:
        return np.zeros(0), np.zeros(0, np.int64)
    real = away.to_s > away.from_s
    times = np.concatenate([away.to_s[real], away.from_s[real]])
    what = np.concatenate([-1 - away.node[real], away.node[real]])
    # returns first: a node that leaves again at the same instant is away
    order = np.argsort(times, kind="stable")
    return times[order].astype(np.float64), what[order].astype(np.int64)


def _exact(fine_s: Floats, wait_s: Floats) -> Floats:
    """Remove the rounding of long sums: the causes of a job add up to its wait."""
    fine_s = np.maximum(fine_s, 0.0)
    total = fine_s.sum(axis=1)
    scale = np.divide(wait_s, total, out=np.zeros_like(total), where=total > 0)
    exact: Floats = fine_s * scale[:, None]
    return exact
