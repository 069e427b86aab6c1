"""Set up the arrays of the live loop, run it, and hand back every attempt."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from prophase.sim.attempts import Attempts
from prophase.sim.kernels.dynamic import array_layout as r
from prophase.sim.kernels.dynamic.waiting_queue import by_key, no_refresh
from prophase.sim.kernels.dynamic_loop import dynamic_loop
from prophase.sim.kernels.request_shapes import shapes_of
from prophase.sim.place.tightest_gpu import tightest_gpu
from prophase.sim.signatures import (
    ASK_GPUS,
    ASK_INSTANCES,
    ASK_MILLI,
    CPU,
    GPUS,
    JOB_CHARGE,
    JOB_COLUMNS,
    JOB_ESTIMATE,
    JOB_GPUS,
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
from prophase.sim.static_loop import grow_forest

#: numbers that do not stay 0 when nothing is said
_DEFAULTS: dict[int, float] = {
    r.RULE_QUEUE: r.SKIP,
    r.RULE_DEPTH: np.inf,
    r.RULE_WINDOW: np.inf,
    r.RULE_CHECKPOINT: np.inf,
}


@dataclass(frozen=True)
class DynamicSetting:
    """Everything beyond jobs, requests and nodes; what is left out does nothing."""

    rules: Mapping[int, float] = field(default_factory=dict)
    #: moving order: its compiled key and refresh, and the facts they need
    key: Callable[..., float] = by_key
    refresh: Callable[..., None] = no_refresh
    order_facts: Floats | None = None
    #: place policy
    choose_gpu: Callable[..., int] = tightest_gpu
    facts: Floats | None = None
    trees: bool = True
    fill: bool = False
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
    #: limits per quota (columns as in kernels.live.rules) and the quotas of each job, -1 for none
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


@dataclass(frozen=True)
class DynamicResult:
    """What the live loop decided."""

    attempts: Attempts
    #: elastic nodes switched on (1) or off (0): times, and (node, on)
    switch_s: Floats
    switches: Ints
    #: jobs that never started, because nothing was left that could change; -1: the replay was
    #: given up, because jobs pushed each other out without getting on
    stuck: int


def run_dynamic_loop(
    submit_s: Floats,
    duration_s: Floats,
    asks: Ints,
    key: Floats,
    nodes: Ints,
    score: Callable[..., float],
    setting: DynamicSetting,
) -> DynamicResult:
    """Replay jobs, given in order of submission, on nodes, first smallest key first."""
    count = len(submit_s)
    rungs = setting.rungs if setting.rungs is not None else np.ones(count, np.int64)
    first_rung = np.concatenate(([0], np.cumsum(rungs))).astype(np.int64)
    rung_asks = asks if setting.rung_asks is None else setting.rung_asks
    work = duration_s if setting.rung_work is None else setting.rung_work
    shapes, rung_shape = shapes_of(rung_asks)
    forest = grow_forest(rung_shape, shapes, len(nodes), setting.trees)
    jobs = _job_matrix(submit_s, duration_s, asks, key, setting)
    jobs[:, JOB_REMAINING] = work[first_rung[:-1]]
    owners = _owner_matrix(setting)
    owners[:, OWNER_LOOKED] = submit_s[0]
    rules = np.zeros(r.RULES)
    rules[r.RULE_ELASTIC] = len(nodes)
    for which, number in {**_DEFAULTS, **setting.rules}.items():
        rules[which] = number
    kinds = int(jobs[:, JOB_KIND].max()) + 1
    least = int(rung_asks[rung_asks[:, ASK_GPUS] > 0, ASK_MILLI].min(initial=1000))
    record, times, placed, switch_s, switches, stuck = dynamic_loop(
        jobs,
        rung_shape[first_rung[:-1]],
        first_rung,
        rung_shape,
        _line(work),
        _grid(setting.quota_of, (count, 0), np.int64),
        owners,
        _grid(setting.quotas, (0, r.QUOTA_COLUMNS), np.int64),
        _whole(nodes),
        np.array(nodes, np.int64, order="C"),
        shapes,
        setting.key,
        setting.refresh,
        _grid(setting.order_facts, (1, 1)),
        score,
        setting.choose_gpu,
        _grid(setting.facts, (1, 1)),
        setting.fill,
        np.ones((kinds, 64)) if setting.speeds is None else _grid(setting.speeds, (0, 0)),
        np.ones((kinds, kinds)) if setting.pairs is None else _grid(setting.pairs, (0, 0)),
        1000 // max(least, 1),
        _line(setting.outage_times),
        _grid(setting.outages, (0, 2), np.int64),
        rules,
        *forest,
    )
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
        asks=None if setting.rung_asks is None else rung_asks[_rung_row(record, first_rung)],
    )
    return DynamicResult(attempts, switch_s[:, 0], switches, int(stuck))


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


def _job_matrix(
    submit_s: Floats, duration_s: Floats, asks: Ints, key: Floats, setting: DynamicSetting
) -> Floats:
    jobs = np.zeros((len(submit_s), JOB_COLUMNS))
    instances = asks[:, ASK_INSTANCES]
    gpus = asks[:, ASK_GPUS] * asks[:, ASK_MILLI] / 1000 * instances
    jobs[:, JOB_SUBMIT], jobs[:, JOB_KEY], jobs[:, JOB_GPUS] = submit_s, key, gpus
    jobs[:, JOB_ESTIMATE] = duration_s if setting.estimate_s is None else setting.estimate_s
    jobs[:, JOB_CHARGE] = 0.0 if setting.charge is None else setting.charge
    jobs[:, JOB_USER] = 0 if setting.user is None else setting.user
    jobs[:, JOB_KIND] = 0 if setting.kind is None else setting.kind
    for column in (JOB_PRIORITY, JOB_SIZE, JOB_PARTITION, JOB_QOS):
        jobs[:, column] = setting.factors.get(column, 0.0)
    return jobs


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


def _line(values: Floats | None) -> Floats:
    return np.zeros(0) if values is None else np.array(values, np.float64)


def _grid(values: Floats | Ints | None, empty: tuple[int, int], dtype: type = np.float64) -> Floats:
    if values is None:
        return np.zeros(empty, dtype)
    return np.array(values, dtype, order="C")
