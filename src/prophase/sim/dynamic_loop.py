"""Set up the arrays of the dynamic loop, run it, and hand back every attempt."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophase.sim.attempts import Attempts, Scalar, grown
from prophase.sim.compilation import call
from prophase.sim.kernels.dynamic import array_layout as r
from prophase.sim.kernels.dynamic.node_availability import READY, STOPPED
from prophase.sim.kernels.dynamic_loop import Replay, Settings, dynamic_loop
from prophase.sim.kernels.queue_order import by_key, no_refresh
from prophase.sim.kernels.request_shapes import shapes_of
from prophase.sim.rules.arrival_forecast import arrivals_ahead
from prophase.sim.rules.node_availability import Autoscaler
from prophase.sim.signatures import (
    ASK_GPUS,
    ASK_INSTANCES,
    ASK_MILLI,
    CPU,
    FREE_MEMORY,
    FREE_SHARE,
    GPUS,
    JOB_CHARGE,
    JOB_COLUMNS,
    JOB_ESTIMATE,
    JOB_GPUS,
    JOB_JUMP,
    JOB_KEY,
    JOB_KIND,
    JOB_PARTITION,
    JOB_PRIORITY,
    JOB_QOS,
    JOB_REMAINING,
    JOB_SIZE,
    JOB_SUBMIT,
    JOB_USER,
    MEMORY,
    OWNER_COLUMNS,
    OWNER_LOOKED,
    OWNER_PARENT,
    OWNER_SHARE,
    Floats,
    Ints,
)
from prophase.sim.static_loop import PlaceSettings, score_trees

NO_RULES = r.Rules()


@dataclass(frozen=True)
class DynamicSetting:
    """Everything beyond jobs, requests and nodes; what is left out does nothing."""

    rules: r.Rules = NO_RULES
    #: an order whose keys move: its compiled key and refresh, and the facts they need
    key: Callable[..., float] = by_key
    refresh: Callable[..., None] = no_refresh
    order_facts: Floats | None = None
    #: per job: the seconds run at which its key jumps
    jump_s: Floats | None = None
    #: per job: its group, within which the keys of running jobs move alike
    group: Ints | None = None
    #: per job: believed run time, row of its user among the owners, kind, and priority factors
    estimate_s: Floats | None = None
    user: Ints | None = None
    kind: Ints | None = None
    factors: Mapping[int, Floats] = field(default_factory=dict)
    #: per owner, row 0 being everybody: weight, and the row above (-1 for row 0)
    owner_share: Floats | None = None
    owner_parent: Ints | None = None
    #: charge per second of a job for what it holds
    charge: Floats | None = None
    #: limits per quota (columns as in ``array_layout``) and the quotas of each job, -1 for none
    quotas: Ints | None = None
    quota_of: Ints | None = None
    #: ladder: number of rungs per job, then the requests and the work of all rungs in a row
    rungs: Ints | None = None
    rung_asks: Ints | None = None
    rung_work: Floats | None = None
    #: speed by (kind, GPU type), and the factor a neighbour of a kind leaves of one's speed
    speeds: Floats | None = None
    pairs: Floats | None = None
    #: nodes lost, drained and returned: times, and (node, what) for each
    outage_times: Floats | None = None
    outages: Ints | None = None
    #: hours with a rule of their own: from, to, and the longest job that starts in them
    hours: Floats | None = None
    #: nodes are booted for jobs that are forecast
    forecast: Autoscaler | None = None


@dataclass(frozen=True)
class DynamicResult:
    """What the dynamic loop decided."""

    attempts: Attempts
    #: elastic nodes switched on (1) or off (0): times, and (node, on)
    switch_s: Floats
    switches: Ints
    #: jobs that never started, because nothing was left that could change; -1: the replay was
    #: given up, because jobs preempted each other without getting on
    stuck: int


def run_dynamic_loop(
    submit_s: Floats,
    duration_s: Floats,
    asks: Ints,
    key: Floats,
    nodes: Ints,
    place: PlaceSettings,
    setting: DynamicSetting,
) -> DynamicResult:
    """Replay jobs, given in order of submission, on nodes, smallest key first."""
    jobs = _job_arrays(submit_s, duration_s, asks, key, setting)
    rules = _typed(setting.rules)
    replay = _empty_replay(jobs, nodes, place, rules, setting)
    functions = (place.score, place.choose_gpu, setting.key, setting.refresh)
    settings = Settings(place.rules(), _array(setting.order_facts, np.zeros((1, 1))), rules)
    work = len(submit_s) * len(nodes)
    if rules.queue == r.CONSERVATIVE:
        # every pass plans for everybody
        work *= 1 + len(submit_s) // 10
    while True:
        status = call(dynamic_loop, *functions, settings, replay, work=work)
        if status != r.NEEDS_ROOM:
            break
        replay = _with_room(replay)
    counts, running, power = replay.counts, replay.running, replay.power
    record = running.record[: counts[r.ATTEMPTS]].copy()
    times = running.times[: counts[r.ATTEMPTS]].copy()
    placed = running.placed[: counts[r.ROWS]].copy()
    attempts = Attempts(
        job=record[:, r.ATTEMPT_JOB],
        start_s=times[:, r.ATTEMPT_START],
        end_s=times[:, r.ATTEMPT_END],
        outcome=record[:, r.ATTEMPT_OUTCOME].astype(np.int8),
        first_instance=record[:, r.ATTEMPT_ROW],
        node=placed[:, 0],
        gpu_bits=placed[:, 1],
        lost_s=_lost(record, times),
        rung=record[:, r.ATTEMPT_RUNG],
        asks=None
        if setting.rung_asks is None
        else setting.rung_asks[_rung_row(record, jobs.first_rung)],
    )
    stuck = -1 if status == r.CIRCLING else int(counts[r.WAITING])
    switches = slice(counts[r.SWITCHES])
    return DynamicResult(attempts, power.switch_s[switches], power.switches[switches], stuck)


def _typed(rules: r.Rules) -> r.Rules:
    """Return the rules with whole numbers as floats where the loop takes floats."""
    return r.Rules._make(type(usual)(value) for usual, value in zip(NO_RULES, rules, strict=True))


def _empty_replay(
    jobs: r.JobArrays, nodes: Ints, place: PlaceSettings, rules: r.Rules, setting: DynamicSetting
) -> Replay:
    """Return the state before the first event."""
    count, shapes = len(jobs.shape_of), len(jobs.asks)
    first_s, kinds = float(jobs.table[0, JOB_SUBMIT]), int(jobs.table[:, JOB_KIND].max()) + 1
    jumping = count if setting.jump_s is not None and rules.alike else 0
    group_of = _ints(count) if setting.group is None else setting.group
    groups = int(group_of.max(initial=0)) + 1
    most = int(jobs.asks[:, ASK_INSTANCES].max(initial=1))
    asked = jobs.asks[jobs.asks[:, ASK_GPUS] > 0, ASK_MILLI]
    slots = 1000 // max(int(asked.min(initial=1000)), 1)
    elastic = np.arange(len(nodes)) >= rules.elastic_from
    matrix = np.array(nodes, np.int64, order="C")
    matrix[elastic, FREE_MEMORY] -= r.OFF
    gpus = nodes.shape[1] - FREE_SHARE
    owners = _owner_matrix(setting)
    owners[:, OWNER_LOOKED] = first_s
    clock = np.zeros(2)
    clock[r.NOW], clock[r.REKEYED] = first_s, -1.0
    return Replay(
        jobs,
        r.OwnerArrays(
            owners,
            _array(setting.quotas, np.zeros((0, r.QUOTA_COLUMNS), np.int64)),
            _array(setting.quota_of, np.zeros((count, 0), np.int64)),
            _whole(nodes),
        ),
        r.NodeArrays(
            matrix,
            busy=_ints(len(nodes)),
            idle_since=np.zeros(len(nodes)),
            reasons_off=elastic.astype(np.int64),
            freed=_ints(len(nodes)),
            tenants=np.full((len(nodes), gpus * slots), -1, np.int64),
            slots=slots,
            speeds=_array(setting.speeds, np.ones((kinds, 64))),
            pairs=_array(setting.pairs, np.ones((kinds, kinds))),
        ),
        r.QueueArrays(
            _ints(count),
            keys=jobs.table[:, JOB_KEY].copy(),
            per_shape=_ints(shapes),
            failed_at=_ints(shapes, -1),
            unmoved_at=_ints(shapes, -1),
            per_user=_ints(len(owners)),
            victims=_ints(2 * count),
        ),
        r.RunningArrays(
            _ints(count),
            place_of=_ints(count, -1),
            held=_ints(count),
            end_s=np.zeros(count),
            heap=_ints(count),
            heap_place_of=_ints(count, -1),
            record=np.zeros((count + 1, 4), np.int64),
            times=np.zeros((count + 1, 3)),
            placed=np.full((count + most, 2), -1, np.int64),
            jump_s=np.zeros(jumping),
            jump_jobs=_ints(jumping),
            jump_noted=_ints(jumping),
            group_of=group_of,
            group_end=_ints(groups),
            joined=_ints(groups),
            walk=_ints(groups),
            walk_keys=np.zeros(groups),
        ),
        r.PlanArrays(
            np.zeros(1),
            events=np.zeros((1, 4), np.int64),
            planned=np.zeros((most, 2), np.int64),
            reserving=_ints(count + 1),
            future=np.empty_like(matrix),
            sweep=np.empty_like(matrix),
            seen=np.empty_like(matrix),
            low=np.empty_like(matrix),
            end_s=np.zeros(count),
            enders=_ints(count),
            reserved_s=np.zeros(1),
        ),
        r.PowerArrays(
            np.where(elastic, STOPPED, READY),
            ready_s=np.full(len(nodes), np.inf),
            wanted=_ints(len(nodes)),
            full=_ints(shapes),
            switch_s=np.zeros(2 * len(nodes)),
            switches=np.zeros((2 * len(nodes), 2), np.int64),
            outage_s=_array(setting.outage_times, np.zeros(0)),
            outages=_array(setting.outages, np.zeros((0, 2), np.int64)),
            hours=_array(setting.hours, np.zeros((0, 3))),
            **_forecasts(jobs, setting.forecast),
        ),
        # policies that draw lots rate every node here
        score_trees(jobs.rung_shape, jobs.asks, len(nodes), replace(place, lots=False)),
        np.zeros(r.COUNTS, np.int64),
        clock,
    )


def _forecasts(jobs: r.JobArrays, scaling: Autoscaler | None) -> dict[str, NDArray[Any]]:
    """Return the forecasts that an autoscaler scales ahead by, as the loop takes them."""
    found = (np.zeros(0), _ints(1), np.zeros((0, 2), np.int64))
    if scaling is not None:
        found = arrivals_ahead(
            jobs.table[:, JOB_SUBMIT], jobs.shape_of, ahead_s=scaling.boot_s,
            every_s=scaling.every_s, margin=scaling.margin,
        )  # fmt: skip
    return dict(zip(("ahead_s", "ahead_first", "ahead"), found, strict=True))


def _with_room(replay: Replay) -> Replay:
    """Return the state with room for the rows that the loop asks for."""
    counts, running, plan, power = replay.counts, replay.running, replay.plan, replay.power
    return replay._replace(
        running=running._replace(
            record=grown(running.record, counts[r.NEED_ATTEMPTS]),
            times=grown(running.times, counts[r.NEED_ATTEMPTS]),
            placed=grown(running.placed, counts[r.NEED_ROWS]),
        ),
        plan=plan._replace(
            times=grown(plan.times, counts[r.NEED_EVENTS]),
            events=grown(plan.events, counts[r.NEED_EVENTS]),
        ),
        power=power._replace(
            switch_s=grown(power.switch_s, counts[r.NEED_SWITCHES]),
            switches=grown(power.switches, counts[r.NEED_SWITCHES]),
        ),
    )


def _lost(record: Ints, times: Floats) -> Floats:
    """Return the time that was lost; all of it on a rung that proved too low, saved or not."""
    job, rung = record[:, r.ATTEMPT_JOB], record[:, r.ATTEMPT_RUNG]
    reached = np.zeros(int(job.max(initial=0)) + 1, np.int64)
    np.maximum.at(reached, job, rung)
    length = times[:, r.ATTEMPT_END] - times[:, r.ATTEMPT_START]
    return np.where(rung < reached[job], length, times[:, r.ATTEMPT_LOST])


def _rung_row(record: Ints, first_rung: Ints) -> Ints:
    row: Ints = first_rung[record[:, r.ATTEMPT_JOB]] + record[:, r.ATTEMPT_RUNG]
    return row


def _job_arrays(
    submit_s: Floats, duration_s: Floats, asks: Ints, key: Floats, setting: DynamicSetting
) -> r.JobArrays:
    count = len(submit_s)
    rungs = setting.rungs if setting.rungs is not None else np.ones(count, np.int64)
    first_rung = np.concatenate(([0], np.cumsum(rungs))).astype(np.int64)
    work = duration_s if setting.rung_work is None else setting.rung_work
    shapes, rung_shape = shapes_of(asks if setting.rung_asks is None else setting.rung_asks)
    jobs = np.zeros((count, JOB_COLUMNS))
    jobs[:, JOB_SUBMIT], jobs[:, JOB_KEY] = submit_s, key
    jobs[:, JOB_GPUS] = asks[:, ASK_GPUS] * asks[:, ASK_MILLI] / 1000 * asks[:, ASK_INSTANCES]
    jobs[:, JOB_ESTIMATE] = duration_s if setting.estimate_s is None else setting.estimate_s
    jobs[:, JOB_CHARGE] = 0.0 if setting.charge is None else setting.charge
    jobs[:, JOB_USER] = 0 if setting.user is None else setting.user
    jobs[:, JOB_KIND] = 0 if setting.kind is None else setting.kind
    jobs[:, JOB_JUMP] = np.inf if setting.jump_s is None else setting.jump_s
    for column in (JOB_PRIORITY, JOB_SIZE, JOB_PARTITION, JOB_QOS):
        jobs[:, column] = setting.factors.get(column, 0.0)
    jobs[:, JOB_REMAINING] = work[first_rung[:-1]]
    return r.JobArrays(
        jobs,
        shapes,
        shape_of=rung_shape[first_rung[:-1]],
        rung_of=_ints(count),
        row_of=_ints(count),
        attempt_of=_ints(count),
        first_rung=first_rung,
        rung_shape=rung_shape,
        rung_work=np.array(work, np.float64),
    )


def _owner_matrix(setting: DynamicSetting) -> Floats:
    share = np.ones(1) if setting.owner_share is None else setting.owner_share
    owners = np.zeros((len(share), OWNER_COLUMNS))
    owners[:, OWNER_SHARE] = share
    owners[:, OWNER_PARENT] = 0 if setting.owner_parent is None else setting.owner_parent
    owners[0, OWNER_PARENT] = -1
    return owners


def _whole(nodes: Ints) -> Floats:
    """Return the cluster's milli-GPUs, milli-cores and MiB; what there is none of is endless."""
    total = nodes[:, [GPUS, CPU, MEMORY]].sum(axis=0) * np.array([1000.0, 1.0, 1.0])
    return np.where(total > 0, total, np.inf)


def _ints(count: int, value: int = 0) -> Ints:
    return np.full(count, value, np.int64)


def _array(values: NDArray[Scalar] | None, default: NDArray[Scalar]) -> NDArray[Scalar]:
    return np.array(default if values is None else values, default.dtype, order="C")
