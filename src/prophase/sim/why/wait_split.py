"""Split the waiting time of a schedule by cause: arrays in, one sweep, arrays out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.sim.compilation import call
from prophase.sim.feasibility import with_types
from prophase.sim.kernels import wait_causes as reasons
from prophase.sim.kernels.queue_heaps import QUEUE_FIRST
from prophase.sim.kernels.request_shapes import distinct_rows
from prophase.sim.policies import order_policies
from prophase.sim.rules.quotas import quota_matrix
from prophase.sim.schedule import Schedule
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
from prophase.sim.why.causes import by_cause
from prophase.sim.workload import Workload


@dataclass(frozen=True)
class WaitingAttempts:
    """One row per attempt: a wait that ends with a start, and what it then held."""

    job: Ints
    ready_s: Floats
    start_s: Floats
    end_s: Floats
    #: what it waits for, one row of the request matrix
    asks: Ints
    #: place among all attempts by the order of the queue
    rank: Ints
    first_instance: Ints
    node: Ints
    gpu_bits: Ints

    def seconds(self, jobs: int) -> Floats:
        """Return how long each of that many jobs waited, over all attempts."""
        return np.bincount(self.job, self.start_s - self.ready_s, jobs).astype(np.float64)


def attempts_as_waits(schedule: Schedule) -> WaitingAttempts:
    """Return the attempts that started, with the instants from which they waited.

    The first attempt of a job waits from submission, each further one from the end of the one
    before.
    """
    attempts, workload = schedule.attempts, schedule.workload
    began = np.flatnonzero(np.isfinite(attempts.start_s))
    job, start_s, end_s = attempts.job[began], attempts.start_s[began], attempts.end_s[began]
    ready_s = np.array(workload.submit_s[job], np.float64)
    in_turn = np.lexsort((start_s, job))
    again = np.flatnonzero(job[in_turn][1:] == job[in_turn][:-1]) + 1
    ready_s[in_turn[again]] = end_s[in_turn[again - 1]]
    asks = with_types(workload, schedule.cluster)[job]
    if attempts.asks is not None:
        climbed = attempts.asks[began].copy()
        climbed[:, [ASK_TYPES, ASK_FEATURES]] = asks[:, [ASK_TYPES, ASK_FEATURES]]
        asks = climbed
    rank = np.empty(len(job), np.int64)
    rank[np.lexsort((ready_s, *_places(schedule, job, start_s)))] = np.arange(len(job))
    return WaitingAttempts(
        np.ascontiguousarray(job, np.int64),
        ready_s,
        np.array(start_s, np.float64),
        np.nan_to_num(end_s, nan=np.inf, posinf=np.inf),
        np.ascontiguousarray(asks),
        rank,
        np.ascontiguousarray(attempts.first_instance[began], np.int64),
        np.ascontiguousarray(attempts.node, np.int64),
        np.ascontiguousarray(attempts.gpu_bits, np.int64),
    )


def _places(schedule: Schedule, job: Ints, start_s: Floats) -> list[Floats]:
    """Return sort keys of the attempts, the last one first: the order of the queue if it stands.

    Where keys move with time, the attempt that started first is taken to have been ahead.
    """
    workload, name = schedule.workload, schedule.order
    if name.startswith("column:"):
        return [workload.submit_s[job], workload.key(name.removeprefix("column:"))[job]]
    policy = order_policies().get(name)
    if policy is None or policy.moves:
        return [start_s]
    return [workload.submit_s[job], np.asarray(policy.key(workload), np.float64)[job]]


NO_LIMIT = 1 << 60
_KINDS = 4


@dataclass(frozen=True)
class QuotaLimits:
    """Whose limits each job counts against, and what they are.

    Attributes
    ----------
    owners_of : array of shape (jobs, kinds of owners)
        Rows of ``most``, one per kind (such as user and queue); -1 where there is no limit.
    most : array of shape (owners, 4)
        Milli-GPUs, milli-cores, MiB and jobs that an owner's jobs may hold together;
        ``NO_LIMIT`` where nothing is said.
    """

    owners_of: Ints
    most: Ints

    @classmethod
    def of(cls, quotas: pd.DataFrame, workload: Workload) -> Self:
        """Take a quota table as the replay does."""
        most, owners_of = quota_matrix(quotas, workload)
        return cls(owners_of, np.ascontiguousarray(most[:, :_KINDS]))

    @classmethod
    def none(cls, jobs: int) -> Self:
        """Return no limits at all."""
        return cls(np.full((jobs, 1), -1, np.int64), np.full((1, _KINDS), NO_LIMIT, np.int64))


#: room per shape and node is kept while there are fewer cells; beyond, nodes are counted again
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
    limits: QuotaLimits | None = None,
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
    limits = limits or QuotaLimits.none(jobs)
    rows = np.hstack([waits.asks, limits.owners_of[waits.job]])
    shapes, shape_of = distinct_rows(rows)
    asks = np.ascontiguousarray(shapes[:, :ASK_COLUMNS])
    nodes = np.array(schedule.cluster.matrix, np.int64, order="C")
    masks, allowed, group_of = _who_may_go_where(asks, nodes)
    waited = waits.start_s > waits.ready_s
    per_shape = np.bincount(shape_of[waited], minlength=len(asks))
    is_short = (workload.duration_s < short_below_s).astype(np.int64)
    references = _references(workload.asks)
    kinds = len(schedule.cluster.gpu_types)
    sums = reasons.WaitSums(
        waits=np.zeros((jobs, reasons.CAUSES)),
        blame=np.zeros((jobs + 1, 2)),
        behind=np.zeros(reasons.CAUSES),
        idle=np.zeros((kinds, 2 * _HOURS_OF_WEEK)),
        stranded=np.zeros((kinds, 4)),
    )
    switch_s, switch_node = _switches(schedule)
    call(
        reasons.sweep_wait_causes,
        reasons.AttemptArrays(
            waits.ready_s,
            waits.start_s,
            waits.end_s,
            by_ready=_in_time(waits.ready_s, waited),
            by_start=_in_time(waits.start_s, waited | (waits.end_s > waits.start_s)),
            by_end=_in_time(waits.end_s, waits.end_s > waits.start_s),
            job=waits.job,
            shape=shape_of,
            rank=waits.rank,
            of_rank=np.argsort(waits.rank),
            is_short=is_short[waits.job],
            first_instance=waits.first_instance,
            placed=np.stack([waits.node, waits.gpu_bits], axis=1),
        ),
        _shape_arrays(asks, masks, per_shape, len(nodes)),
        reasons.FreeNodes(
            nodes,
            group_of,
            allowed,
            pooled=np.zeros((len(allowed), 3), np.int64),
            references=references,
            idle=np.zeros(kinds, np.int64),
            stranded=np.zeros((kinds, 4), np.int64),
            log=np.zeros(2 * len(nodes) + 1, np.int64),
            switch_s=switch_s,
            switch_node=switch_node,
        ),
        reasons.QuotaArrays(
            np.ascontiguousarray(shapes[:, ASK_COLUMNS:]),
            np.ascontiguousarray(limits.most),
            held=np.zeros(limits.most.shape, np.int64),
        ),
        reasons.Span(
            float(workload.submit_s.min()), float(workload.submit_s.max()), float(week_shift_s)
        ),
        sums,
        np.zeros(reasons.COUNTS, np.int64),
        work=len(waits.job) * len(nodes),
    )
    return WaitSplit(
        schedule,
        _exact(sums.waits, waits.seconds(jobs)),
        sums.blame,
        sums.behind,
        sums.idle.reshape(kinds, 2, _HOURS_OF_WEEK) / _MILLI_SECONDS_PER_GPU_HOUR,
        sums.stranded.reshape(kinds, 2, 2) / _MILLI_SECONDS_PER_GPU_HOUR,
        references,
        is_short.astype(bool),
        jobs - len(np.unique(waits.job)),
        bool((limits.owners_of >= 0).any()),
    )


def _shape_arrays(asks: Ints, masks: Ints, per_shape: Ints, nodes: int) -> reasons.ShapeArrays:
    """Return the shapes with nobody waiting; ``per_shape`` jobs of each will."""
    state = np.zeros((len(asks), reasons.STATE_COLUMNS), np.int64)
    state[:, QUEUE_FIRST] = np.cumsum(per_shape) - per_shape
    state[:, reasons.MASK], state[:, reasons.SEEN] = masks, -1
    # two rows or more say that cells are kept
    rows = max(2, len(asks)) if len(asks) * nodes <= _CELLS else 1
    return reasons.ShapeArrays(
        asks,
        state,
        cells=np.zeros((rows, nodes), np.int64),
        seconds=np.zeros((len(asks), reasons.CAUSES)),
        queue=np.zeros(max(1, int(per_shape.sum())), np.int64),
        active=np.zeros(len(asks), np.int64),
        spot=np.full(len(asks), -1, np.int64),
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
