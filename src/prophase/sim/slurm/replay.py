"""Replay a workload by the rules of a Slurm site."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.errors import InputError
from prophase.sim.attempts import Attempts, grown
from prophase.sim.cluster import Cluster
from prophase.sim.compilation import call
from prophase.sim.kernels.dynamic import array_layout as r
from prophase.sim.kernels.queue_order import by_key, no_refresh
from prophase.sim.kernels.request_shapes import distinct_rows
from prophase.sim.kernels.slurm import array_layout as s
from prophase.sim.kernels.slurm_loop import SlurmReplay, SlurmSettings, slurm_loop
from prophase.sim.owners import owners_of
from prophase.sim.policies import OrderPolicy
from prophase.sim.rules.backfill import Backfill
from prophase.sim.signatures import (
    ASK_CPU,
    ASK_FEATURES,
    ASK_GPUS,
    ASK_INSTANCES,
    ASK_MEMORY,
    ASK_MILLI,
    ASK_TYPES,
    CPU,
    FEATURES,
    GPU_TYPE,
    JOB_CHARGE,
    JOB_COLUMNS,
    JOB_ESTIMATE,
    JOB_GPUS,
    JOB_KEY,
    JOB_PARTITION,
    JOB_QOS,
    JOB_REMAINING,
    JOB_SIZE,
    JOB_STARTED,
    JOB_SUBMIT,
    JOB_USER,
    MEMORY,
    OWNER_COLUMNS,
    OWNER_LOOKED,
    OWNER_PARENT,
    OWNER_SHARE,
    OWNER_USAGE,
    Floats,
    Ints,
)
from prophase.sim.signatures import GPUS as NODE_GPUS
from prophase.sim.slurm.job_demands import JobDemands, whole_node_jobs
from prophase.sim.slurm.site_rules import LIMIT_FIELDS, Limit, SiteRules
from prophase.sim.workload import Workload, name_some

_ENDLESS = 1 << 60
#: whole units per unit of each field of a limit
_UNITS = (1000, 1024, 1, 1, 1)
#: a higher tier goes before any priority
_TIER = float(1 << 40)
#: numbers that a table of instants per shape and node may hold
_MOST_CELLS = 60_000_000


@dataclass(frozen=True)
class SlurmPolicy:
    """Who goes first, and how the schedulers run."""

    rules: SiteRules
    backfill: Backfill | None
    #: an order whose keys move, else keys
    moving: OrderPolicy | None = None
    order_options: dict[str, Any] | None = None
    key: Floats | None = None
    half_life_s: float = 0.0
    shares: pd.DataFrame | None = None
    #: what users have used already, by name
    usage: dict[str, float] | None = None
    #: nodes are free again so long after a job
    turnaround_s: float = 0.0


@dataclass(frozen=True)
class Present:
    """What runs when the replay begins: per job its nodes, as rows of the cluster; none: waits."""

    nodes: list[Ints]


@dataclass(frozen=True)
class PreparedReplay:
    """The arrays of a replay before its first event; it can be run again with other run times."""

    workload: Workload
    replay: SlurmReplay
    settings: SlurmSettings
    functions: tuple[Callable[..., Any], Callable[..., Any]]

    def run(
        self,
        duration_s: Floats | None = None,
        estimate_s: Floats | None = None,
        key: Floats | None = None,
    ) -> Attempts:
        """Replay; run times, believed run times and keys may be others than those prepared."""
        replay = _copied(self.replay)
        table = replay.jobs.table
        for column, values in (
            (JOB_REMAINING, duration_s),
            (JOB_ESTIMATE, estimate_s),
            (JOB_KEY, key),
        ):
            if values is not None:
                table[:, column] = values
        # every backfill pass plans for everybody
        work = len(table) * len(replay.nodes.free) * (1 + len(table) // 10)
        while call(slurm_loop, *self.functions, self.settings, replay, work=work) == r.NEEDS_ROOM:
            replay = _with_room(replay)
        counts, running = replay.counts, replay.running
        record = running.record[: counts[r.ATTEMPTS]]
        times = running.times[: counts[r.ATTEMPTS]]
        if counts[s.LEFT]:
            _refuse_stuck(self.workload, record)
        return Attempts(
            job=record[:, r.ATTEMPT_JOB].copy(),
            start_s=times[:, r.ATTEMPT_START].copy(),
            end_s=times[:, r.ATTEMPT_END].copy(),
            outcome=record[:, r.ATTEMPT_OUTCOME].astype(np.int8),
            first_instance=record[:, r.ATTEMPT_ROW].copy(),
            node=running.placed[: counts[r.ROWS], 0].copy(),
            gpu_bits=running.placed[: counts[r.ROWS], 1].copy(),
            lost_s=times[:, r.ATTEMPT_LOST].copy(),
        )


def _copied(replay: SlurmReplay) -> SlurmReplay:
    """Return the state with arrays of its own; instants per shape are filled anew anyway."""
    kept = replay.plan.ready_s
    copied = deepcopy(replay._replace(plan=replay.plan._replace(ready_s=np.empty((0, 0)))))
    return copied._replace(plan=copied.plan._replace(ready_s=kept))


def _refuse_stuck(workload: Workload, record: Ints) -> None:
    started = np.zeros(len(workload), np.bool_)
    started[record[:, r.ATTEMPT_JOB]] = True
    waiting = name_some(workload.jobs.loc[~started, "job_id"])
    raise InputError(
        f"{int((~started).sum()):,} jobs never start under this site's rules: "
        f"{waiting or 'all had started before'}. Their limits or reservations never let them, "
        "they wait for each other, or nodes are away for good."
    )


def prepare_slurm(
    workload: Workload,
    cluster: Cluster,
    demands: JobDemands,
    estimate_s: Floats,
    policy: SlurmPolicy,
    *,
    outages: tuple[Floats, Ints] | None = None,
    present: Present | None = None,
) -> PreparedReplay:
    """Fill the arrays of the loop; jobs are in order of submission."""
    rules, count, width = policy.rules, len(workload), len(cluster)
    asks, allowed = slurm_asks(workload, cluster, demands, rules)
    shapes, shape_of = distinct_rows(asks)
    shapes = np.ascontiguousarray(shapes)
    options = dict(policy.order_options or {})
    owners = owners_of(workload, policy.shares, str(options.get("by", "user")))
    limits, limit_first, limit_rows = _limits(demands, rules)
    ready_of, ready_rows = _ready_rows(shapes, width)
    table = np.zeros((count, JOB_COLUMNS))
    table[:, JOB_SUBMIT], table[:, JOB_ESTIMATE] = workload.submit_s, estimate_s
    table[:, JOB_KEY] = 0.0 if policy.key is None else policy.key
    table[:, JOB_GPUS] = asks[:, ASK_GPUS] * asks[:, ASK_INSTANCES]
    table[:, JOB_CHARGE] = _charge(workload, demands, rules)
    table[:, JOB_USER] = owners.of_job
    table[:, JOB_REMAINING] = workload.duration_s
    table[:, JOB_STARTED] = -np.inf
    _add_factors(table, workload, cluster, demands, rules)
    numbers, facts = _numbers(policy, workload, cluster, owners)
    users = np.zeros((len(owners.share), OWNER_COLUMNS))
    users[:, OWNER_SHARE], users[:, OWNER_PARENT] = owners.share, owners.parent
    users[:, OWNER_LOOKED] = float(workload.submit_s[0])
    if policy.usage:
        _add_usage(users, owners.names, policy.usage)
    preempt_class, preempts = _preemption_classes(demands, rules)
    first, followers, on_start, waits = _followers(demands, count)
    partitions = list(rules.partitions.values())
    tier = np.array([one.tier for one in partitions] or [1.0])
    rank = np.unique(tier, return_inverse=True)[1].astype(np.float64)
    part = np.maximum(demands.partition, 0)
    held_first, held = _held(present, count)
    most = int(asks[:, ASK_INSTANCES].max(initial=1))
    depth = np.sort(asks[:, ASK_INSTANCES])[::-1][: max(numbers.depth, 1)]
    rows = int(asks[:, ASK_INSTANCES].sum())
    counts = np.zeros(s.SLURM_COUNTS, np.int64)
    counts[s.LEFT], counts[s.LEFT_ROWS], counts[s.LAST_CHANGES] = count, rows, -1
    clock = np.array([float(workload.submit_s[0]), -1.0, -np.inf, np.inf, -np.inf])
    jobs = s.SlurmJobs(
        table,
        shapes,
        shape_of,
        _ints(count),
        _ints(count),
        part,
        -_TIER * rank[part],
        preempt_class,
        _preempt_modes(demands, rules),
        _preempt_ranks(demands, rules, asks),
        _exempt_s(demands, rules),
        limit_first,
        limit_rows,
        first,
        followers,
        on_start,
        waits,
        np.maximum(demands.begin_s, workload.submit_s),
        held_first,
        held,
    )
    times, events = outages or (np.zeros(0), np.zeros((0, 2), np.int64))
    replay = SlurmReplay(
        jobs,
        s.SlurmOwners(users, limits, _whole(cluster), preempts),
        _node_arrays(cluster, rules, allowed, workload),
        s.SlurmQueue(
            # started jobs leave gaps behind for a while
            _ints(2 * count + 2),
            np.full(count, np.nan),
            _ints(len(users)),
            _ints(max(len(partitions), 1)),
            np.zeros(count + 1),
            _ints(count + 1),
            _ints(max(len(partitions), 1)),
            _ints(count + 1),
            _ints(2 * count + 2),
        ),
        s.SlurmRunning(
            _ints(count),
            _ints(count, -1),
            np.zeros(count),
            _ints(count),
            _ints(count, -1),
            np.zeros((3 * count + 2, 4), np.int64),
            np.zeros((3 * count + 2, 3)),
            np.full((3 * rows + 2, 2), -1, np.int64),
            _ints(3 * rows + 2, -1),
            _ints(3 * rows + 2, -1),
            _ints(width, -1),
            np.full(width, np.inf),
            np.full(width, -np.inf),
        ),
        s.SlurmPlan(
            ready_of,
            np.empty((ready_rows, width)),
            _ints(ready_rows, -1),
            _ints(1 << max(6, (2 * width).bit_length())),
            _ints(width),
            np.zeros(width),
            np.zeros(width),
            _ints(width, -1),
            _ints(int(depth.sum()) + most + 1, -1),
            np.zeros(int(depth.sum()) + most + 1),
            np.zeros(int(depth.sum()) + most + 1),
            _ints(width),
            np.zeros(width),
            np.zeros(width),
            _ints(max(most, 1)),
            _ints(width),
            _ints(width + 1),
            np.zeros((width, s.FREE_COLUMNS), np.int64),
            np.zeros(len(shapes)),
            np.zeros(len(shapes)),
            _ints(len(shapes), -1),
        ),
        s.SlurmOutages(np.ascontiguousarray(times, np.float64), np.ascontiguousarray(events)),
        counts,
        clock,
    )
    key, refresh = by_key, no_refresh
    if policy.moving is not None:
        key, refresh = policy.moving.key, policy.moving.refresh or no_refresh
    return PreparedReplay(workload, replay, SlurmSettings(facts, numbers), (key, refresh))


def _with_room(replay: SlurmReplay) -> SlurmReplay:
    counts, running = replay.counts, replay.running
    rows, attempts = int(counts[r.NEED_ROWS]), int(counts[r.NEED_ATTEMPTS])
    return replay._replace(
        running=running._replace(
            record=grown(running.record, attempts),
            times=grown(running.times, attempts),
            placed=grown(running.placed, rows),
            after=grown(running.after, rows),
            job_at=grown(running.job_at, rows),
        )
    )


def slurm_asks(
    workload: Workload, cluster: Cluster, demands: JobDemands, rules: SiteRules
) -> tuple[Ints, Ints]:
    """Return requests with their set of nodes, and per set which nodes those are."""
    partitions = list(rules.partitions.values())
    asks = np.zeros((len(workload), s.SLURM_ASK_COLUMNS), np.int64)
    asks[:, : workload.asks.shape[1]] = workload.asks
    asks[:, ASK_MILLI] = np.where(asks[:, ASK_GPUS] > 0, 1000, 0)
    if not rules.memory_counts:
        asks[:, ASK_MEMORY] = 0
    names = {one.name: row for row, one in enumerate(rules.reservations)}
    reserved = np.array([names.get(str(name), -1) for name in demands.reservation], np.int64)
    part = np.maximum(demands.partition, 0)
    sets = np.column_stack([part, asks[:, ASK_TYPES], asks[:, ASK_FEATURES], reserved])
    kinds, asks[:, s.ASK_NODES] = distinct_rows(sets)
    asks[:, s.ASK_RESERVATION] = reserved
    matrix = cluster.matrix
    place = {str(name): row for row, name in enumerate(cluster.nodes["node_id"])}
    allowed = np.zeros((len(kinds), len(cluster)), np.int64)
    for row, (partition, gpu_types, features, resv) in enumerate(kinds):
        here = np.ones(len(cluster), np.bool_)
        if partitions:
            here = _members(partitions[partition].nodes, place, len(cluster))
        if gpu_types:
            here &= (gpu_types >> matrix[:, GPU_TYPE]) & 1 == 1
        here &= (features & ~matrix[:, FEATURES]) == 0
        if resv >= 0:
            here &= _members(rules.reservations[resv].nodes, place, len(cluster))
        allowed[row] = here
    _fill_whole_nodes(asks, allowed, matrix, whole_node_jobs(demands, rules, partitions))
    return asks, allowed


def _fill_whole_nodes(asks: Ints, allowed: Ints, matrix: Ints, alone: NDArray[np.bool_]) -> None:
    """Let jobs that get nodes for themselves ask for all cores of the smallest that they may use.

    On a larger node another job could still join; Slurm would keep it away.
    """
    for row in np.unique(asks[alone, s.ASK_NODES]):
        these = alone & (asks[:, s.ASK_NODES] == row)
        nodes = matrix[allowed[row] > 0]
        if len(nodes):
            asks[these, ASK_CPU] = np.maximum(asks[these, ASK_CPU], nodes[:, CPU].min())


def never_admitted(asks: Ints, allowed: Ints, matrix: Ints) -> NDArray[np.bool_]:
    """Tell which jobs not even the empty site could run: an instance is a node."""
    shapes, shape_of = distinct_rows(asks)
    stuck = np.zeros(len(shapes), np.bool_)
    for row, shape in enumerate(shapes):
        fits = (
            (allowed[shape[s.ASK_NODES]] > 0)
            & (matrix[:, CPU] >= shape[ASK_CPU])
            & (matrix[:, MEMORY] >= shape[ASK_MEMORY])
            & (matrix[:, NODE_GPUS] >= shape[ASK_GPUS])
        )
        stuck[row] = fits.sum() < shape[ASK_INSTANCES]
    found: NDArray[np.bool_] = stuck[shape_of]
    return found


def _members(names: tuple[str, ...], place: dict[str, int], width: int) -> NDArray[np.bool_]:
    here = np.zeros(width, np.bool_)
    here[[place[name] for name in names if name in place]] = True
    return here


def _ready_rows(shapes: Ints, width: int) -> tuple[Ints, int]:
    """Return the row of each shape in the table of instants, and how many rows there are."""
    wanted = shapes.copy()
    wanted[:, ASK_INSTANCES] = 0
    distinct, row_of = distinct_rows(wanted)
    if len(distinct) * width > _MOST_CELLS:
        raise InputError(
            f"{len(distinct):,} different requests on {width:,} nodes are more than a replay by "
            "Slurm's rules can keep in memory. Replay a part of the trace."
        )
    return row_of, len(distinct)


def _node_arrays(
    cluster: Cluster, rules: SiteRules, allowed: Ints, workload: Workload
) -> s.SlurmNodes:
    matrix, nodes, width = cluster.matrix, cluster.nodes, len(cluster)
    free = np.zeros((width, s.FREE_COLUMNS), np.int64)
    free[:, s.CORES], free[:, s.MEMORY] = matrix[:, CPU], matrix[:, MEMORY]
    free[:, s.GPUS] = matrix[:, NODE_GPUS]
    place = {str(name): row for row, name in enumerate(nodes["node_id"])}
    members = np.array(
        [_members(one.nodes, place, width) for one in rules.partitions.values()]
        or [np.ones(width, np.bool_)],
        np.int64,
    )
    weight = np.ones(width)
    if "attr_weight" in nodes:
        weight = nodes["attr_weight"].fillna(1.0).to_numpy(np.float64)
    switch = np.zeros(width, np.int64)
    if "attr_switch_rank" in nodes:
        switch = pd.factorize(nodes["attr_switch_rank"].fillna(-1.0))[0].astype(np.int64)
    reserved: list[tuple[int, float, float, int]] = []
    for name, one in enumerate(rules.reservations):
        here = np.flatnonzero(_members(one.nodes, place, width))
        reserved += [(int(node), one.start_s, one.end_s, name) for node in here]
    reserved.sort()
    node_of = np.array([row[0] for row in reserved], np.int64)
    return s.SlurmNodes(
        free,
        np.ascontiguousarray(allowed),
        members,
        np.unique(weight, return_inverse=True)[1].astype(np.int64),
        switch,
        matrix[:, CPU].copy(),
        np.searchsorted(node_of, np.arange(width + 1)).astype(np.int64),
        np.array([row[1] for row in reserved], np.float64),
        np.array([row[2] for row in reserved], np.float64),
        np.array([row[3] for row in reserved], np.int64),
        np.array([one.start_s for one in rules.reservations], np.float64),
        np.array([one.end_s for one in rules.reservations], np.float64),
    )


def _numbers(
    policy: SlurmPolicy, workload: Workload, cluster: Cluster, owners: Any
) -> tuple[s.SlurmRules, Floats]:
    """Return the scheduler's numbers, and what an order that moves works with."""
    rules, backfill, facts = policy.rules, policy.backfill, np.zeros((1, 1))
    options, moving = dict(policy.order_options or {}), policy.moving
    rekey_s = 0.0
    if moving is not None:
        rekey_s = float(options.pop("rekey_s", moving.rekey_s))
        for name in ("by", "charge"):
            options.pop(name, None)
        if moving.prepare is not None:
            facts = moving.prepare(workload, cluster, owners, **options)
    usual = s.SlurmRules()
    numbers = usual._replace(
        every_s=0.0 if backfill is None else float(backfill.every_s) or usual.every_s,
        rekey_s=rekey_s or 1.0,
        keys_move=moving is not None,
        half_life_s=float(policy.half_life_s),
        choice=int(rules.choice),
        one_weight="attr_weight" not in cluster.nodes
        or cluster.nodes["attr_weight"].fillna(1.0).nunique() <= 1,
        preempts=bool(rules.preempt_by),
        requeue_s=float(rules.scheduler.get("requeue_s", 121.0)),
        turnaround_s=float(policy.turnaround_s),
        main_s=float(rules.scheduler.get("main_s", 0.0)),
        main_every_s=float(rules.scheduler.get("main_every_s", 0.0)),
        window_linear_s=float(rules.scheduler.get("window_linear_s", 0.0)),
        main_depth=int(rules.scheduler.get("main_depth", 100)),
        per_partition=int(rules.scheduler.get("per_partition", 0)),
        limits_stop=bool(rules.scheduler.get("limits_stop", 0)),
        ends_count=bool(rules.scheduler.get("ends_count", 1)),
    )
    if backfill is not None:
        numbers = numbers._replace(
            clock_s=float(backfill.clock_s),
            depth=int(min(backfill.depth, len(workload))),
            per_user=int(backfill.per_user),
            window_s=float(backfill.window_s),
            resolution_s=float(backfill.resolution_s),
        )
    return numbers, np.ascontiguousarray(facts)


def _charge(workload: Workload, demands: JobDemands, rules: SiteRules) -> Floats:
    """Return what each job is charged per second: billing by its partition's weights."""
    partitions = list(rules.partitions.values())
    weights = np.array([one.billing for one in partitions] or [(1.0, 0.0, 0.0)])
    mine = weights[np.maximum(demands.partition, 0)]
    memory = workload.asks[:, ASK_MEMORY] / 1024 * workload.asks[:, ASK_INSTANCES]
    billed = mine[:, 0] * workload.cores + mine[:, 1] * memory + mine[:, 2] * workload.gpus
    factor = [
        rules.qualities[str(name)].usage_factor if str(name) in rules.qualities else 1.0
        for name in demands.qos
    ]
    return np.asarray(billed * np.array(factor), np.float64)


def _add_factors(
    table: Floats, workload: Workload, cluster: Cluster, demands: JobDemands, rules: SiteRules
) -> None:
    """Fill in what multifactor priorities look at, each from 0 to 1."""
    asks, nodes = workload.asks, cluster.matrix
    instances = asks[:, ASK_INSTANCES]
    cores = asks[:, ASK_CPU] * instances / max(float(nodes[:, CPU].sum()), 1.0)
    table[:, JOB_SIZE] = (np.minimum(instances / len(nodes), 1) + np.minimum(cores, 1)) / 2
    partitions = list(rules.partitions.values())
    factor = np.array([one.factor for one in partitions] or [1.0])
    table[:, JOB_PARTITION] = (factor / max(factor.max(), 1e-9))[np.maximum(demands.partition, 0)]
    highest = max([one.priority for one in rules.qualities.values()] or [0.0])
    if highest > 0:
        table[:, JOB_QOS] = [
            rules.qualities[str(name)].priority / highest if str(name) in rules.qualities else 0.0
            for name in demands.qos
        ]
    for column, name in ((JOB_PARTITION, "partition_factor"), (JOB_QOS, "qos_factor")):
        if name in workload.jobs:
            table[:, column] = workload.jobs[name].fillna(0.0).to_numpy(float)
    weights = rules.tres_weights
    if any(weights):
        memory = asks[:, ASK_MEMORY] * instances / max(float(nodes[:, MEMORY].sum()), 1.0)
        gpus = asks[:, ASK_GPUS] * instances / max(float(nodes[:, NODE_GPUS].sum()), 1.0)
        # points of priority that do not move; keys of other orders are not used beside them
        table[:, JOB_KEY] += weights[0] * cores + weights[1] * memory + weights[2] * gpus


def _add_usage(users: Floats, names: tuple[str, ...], usage: dict[str, float]) -> None:
    """Begin with what users have used, and the accounts above them."""
    for row, name in enumerate(names):
        up = row
        if name not in usage:
            continue
        while up >= 0:
            users[up, OWNER_USAGE] += usage[name]
            up = int(users[up, OWNER_PARENT]) if up > 0 else -1


def _limits(demands: JobDemands, rules: SiteRules) -> tuple[Ints, Ints, Ints]:
    """Return the limits, and the rows of each job one after the other."""
    rows: list[list[int]] = []
    row_of: dict[tuple[object, ...], int] = {}

    def row(key: tuple[object, ...], limit: Limit) -> list[int]:
        if not limit.limits:
            return []
        if key not in row_of:
            row_of[key] = len(rows)
            amounts = [getattr(limit, name) for name in LIMIT_FIELDS]
            rows.append(
                [
                    _ENDLESS if amount == inf else int(amount * unit)
                    for amount, unit in zip(amounts, _UNITS, strict=True)
                ]
                + [0] * s.LIMITED
            )
        return [row_of[key]]

    accounts = {one.account: one for one in rules.associations if not one.user}
    users = {(one.account, one.user): one for one in rules.associations if one.user}
    partitions = list(rules.partitions.values())
    mine: list[list[int]] = []
    for job in range(len(demands.partition)):
        account, user = str(demands.account[job]), str(demands.user[job])
        held: list[int] = []
        names = [str(demands.qos[job])]
        if partitions and partitions[max(int(demands.partition[job]), 0)].qos:
            names.append(partitions[max(int(demands.partition[job]), 0)].qos)
        for name in dict.fromkeys(names):
            quality = rules.qualities.get(name)
            if quality is not None:
                held += row(("qos", name), quality.all_jobs)
                held += row(("qos", name, "user", user), quality.per_user)
                held += row(("qos", name, "account", account), quality.per_account)
        own = users.get((account, user))
        if own is not None:
            held += row(("user", account, user), own.all_jobs)
            held += row(("jobs", account, user), Limit(jobs=own.jobs))
        above, seen = account, set()
        while above and above not in seen and above in accounts:
            seen.add(above)
            held += row(("account", above), accounts[above].all_jobs)
            above = accounts[above].parent
        held += row(("array", demands.array[job]), Limit(jobs=float(demands.throttle[job])))
        mine.append(held)
    first = np.concatenate(([0], np.cumsum([len(one) for one in mine]))).astype(np.int64)
    flat = np.array([row for one in mine for row in one], np.int64)
    table = np.array(rows, np.int64).reshape(-1, 2 * s.LIMITED)
    return table, first, flat


def _preemption_classes(demands: JobDemands, rules: SiteRules) -> tuple[Ints, Ints]:
    """Number the classes of jobs, and say which of them may preempt which."""
    if rules.preempt_by == "qos":
        codes, names = pd.factorize(demands.qos)
        may = np.zeros((len(names), len(names)), np.int64)
        for row, name in enumerate(names):
            quality = rules.qualities.get(str(name))
            for column, other in enumerate(names):
                may[row, column] = quality is not None and str(other) in quality.preempts
        return codes.astype(np.int64), may
    if rules.preempt_by == "partition":
        tiers = np.array([one.tier for one in rules.partitions.values()] or [1.0])
        may = (tiers[:, None] > tiers[None, :]).astype(np.int64)
        return np.maximum(demands.partition, 0), may
    return _ints(len(demands.partition)), np.zeros((1, 1), np.int64)


def _preempt_modes(demands: JobDemands, rules: SiteRules) -> Ints:
    """Return what happens to each job when it is preempted."""
    words = {"OFF": s.NEVER, "REQUEUE": s.REQUEUED, "CANCEL": s.CANCELLED}

    def mode(text: str) -> int:
        own = [word for word in text.split(",") if word in words]
        return words[own[0]] if own else s.NEVER

    partitions = list(rules.partitions.values())
    found = np.full(len(demands.partition), mode(rules.preempt_mode), np.int64)
    for job, name in enumerate(demands.qos):
        part = partitions[max(int(demands.partition[job]), 0)] if partitions else None
        if part is not None and part.preempt_mode:
            found[job] = mode(part.preempt_mode)
        quality = rules.qualities.get(str(name))
        if rules.preempt_by == "qos" and quality is not None and quality.preempt_mode:
            found[job] = mode(quality.preempt_mode)
    return found


def _preempt_ranks(demands: JobDemands, rules: SiteRules, asks: Ints) -> Floats:
    """Return who is preempted first: low priority of QOS or tier, then few nodes."""
    if rules.preempt_by == "qos":
        worth = [
            rules.qualities[str(name)].priority if str(name) in rules.qualities else 0.0
            for name in demands.qos
        ]
    else:
        tiers = [one.tier for one in rules.partitions.values()] or [1.0]
        worth = [tiers[max(int(row), 0)] for row in demands.partition]
    return np.array(worth) * 65_536.0 + np.minimum(asks[:, ASK_INSTANCES], 65_535)


def _exempt_s(demands: JobDemands, rules: SiteRules) -> Floats:
    return np.array(
        [
            max(rules.exempt_s, rules.qualities[str(name)].exempt_s)
            if str(name) in rules.qualities
            else rules.exempt_s
            for name in demands.qos
        ],
        np.float64,
    )


def _followers(demands: JobDemands, count: int) -> tuple[Ints, Ints, Ints, Ints]:
    """Return who waits for each job, whether for its start, and for how many each job waits."""
    pairs = sorted((on, job, int(start)) for job, on, start in demands.dependencies)
    waits = _ints(count)
    for _, job, _ in pairs:
        waits[job] += 1
    first = np.searchsorted([on for on, _, _ in pairs], np.arange(count + 1)).astype(np.int64)
    return (
        first,
        np.array([job for _, job, _ in pairs], np.int64),
        np.array([start for _, _, start in pairs], np.int64),
        waits,
    )


def _held(present: Present | None, count: int) -> tuple[Ints, Ints]:
    if present is None:
        return _ints(count + 1), _ints(0)
    lengths = [len(one) for one in present.nodes]
    held = np.concatenate(present.nodes) if sum(lengths) else _ints(0)
    return np.concatenate(([0], np.cumsum(lengths))).astype(np.int64), held.astype(np.int64)


def _whole(cluster: Cluster) -> Floats:
    total = cluster.matrix[:, [NODE_GPUS, CPU, MEMORY]].sum(axis=0) * np.array([1000.0, 1.0, 1.0])
    return np.where(total > 0, total, np.inf)


def _ints(count: int, value: int = 0) -> Ints:
    return np.full(count, value, np.int64)
