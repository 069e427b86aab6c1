"""Turn the rules of a replay into the settings of the dynamic loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from prophase.errors import InputError, ParameterError, not_among
from prophase.sim.attempts import Attempts
from prophase.sim.cluster import Cluster
from prophase.sim.dynamic_loop import DynamicResult, DynamicSetting, run_dynamic_loop
from prophase.sim.feasibility import keep_fitting, never_fit
from prophase.sim.kernels.dynamic import array_layout as r
from prophase.sim.kernels.queue_order import no_refresh
from prophase.sim.owners import Owners, owners_of
from prophase.sim.policies import OrderPolicy
from prophase.sim.rules.hours import hours_matrix
from prophase.sim.rules.node_availability import (
    Absences,
    Autoscaler,
    Failures,
    calendar_events,
    find_absences,
    in_order,
)
from prophase.sim.rules.preemption import Preemption
from prophase.sim.rules.quotas import over_quota, quota_matrix
from prophase.sim.rules.retry_ladder import Ladder
from prophase.sim.rules.rule_set import SchedulingRules
from prophase.sim.rules.speed_and_sharing import Sharing, Speeds, kinds_of
from prophase.sim.signatures import (
    ASK_CPU,
    ASK_INSTANCES,
    CPU,
    JOB_PARTITION,
    JOB_QOS,
    JOB_SIZE,
    Floats,
    Ints,
)
from prophase.sim.static_loop import PlaceSettings
from prophase.sim.workload import Workload, name_some

_QUEUES = {
    "strict": r.STRICT,
    "skip": r.SKIP,
    "easy": r.EASY,
    "conservative": r.CONSERVATIVE,
}
_DAY_S = 86_400.0
#: numbers of GPUs among jobs; a search for victims looks at the last job of each
_MOST_GROUPS = 64


def simulate_dynamic(
    workload: Workload,
    cluster: Cluster,
    key: Floats,
    place: PlaceSettings,
    rules: SchedulingRules,
    *,
    moving: OrderPolicy | None,
    order_options: dict[str, Any],
    queue: str,
    estimate_s: Floats | None,
    seed: int,
) -> tuple[Attempts, Absences | None]:
    """Replay with the dynamic loop; return the attempts, and when nodes were away."""
    _refuse_contradictions(rules, moving, queue)
    owners = owners_of(workload, rules.shares, str(order_options.pop("by", "user")))
    numbers = r.Rules(_QUEUES[queue], half_life_s=rules.half_life_s)
    for rule in (rules.backfill, rules.preempt, rules.scaling):
        if rule is not None:
            numbers = rule.add_to(numbers)
    setting = DynamicSetting(
        numbers,
        user=owners.of_job,
        owner_share=owners.share,
        owner_parent=owners.parent,
        estimate_s=estimate_s,
        factors=_factors(workload, cluster),
    )
    if moving is not None:
        setting = _with_order(setting, workload, cluster, owners, moving, order_options)
    if rules.ladder is not None:
        setting = _with_ladder(setting, workload, cluster, rules.ladder)
    if rules.quotas is not None:
        setting = _with_quotas(setting, workload, rules.quotas)
    if rules.scaling is not None and rules.scaling.ahead:
        setting = replace(setting, forecast=rules.scaling)
    if rules.hours is not None:
        setting = replace(setting, hours=hours_matrix(rules.hours))
    if rules.share is not None or rules.speeds is not None:
        setting = _with_speeds(setting, workload, cluster, rules.share, rules.speeds)
    setting = _with_steady_order(setting, workload, moving)
    if rules.failures is not None:
        _refuse_hopeless(workload, rules.failures, rules.preempt)
    planned = [calendar_events(rules.calendar, cluster)] if rules.calendar is not None else []
    run = partial(
        run_dynamic_loop,
        workload.submit_s,
        workload.duration_s,
        workload.asks,
        key,
        cluster.matrix,
        place,
    )
    if rules.failures is not None:
        setting, result = _with_failures(
            run, setting, workload, len(cluster), planned, rules.failures, seed
        )
    else:
        if planned:
            times, outages = in_order(*planned)
            setting = replace(setting, outage_times=times, outages=outages)
        result = run(setting)
    _refuse_stuck(result, workload)
    return result.attempts, _absences(result, setting, rules.scaling, len(cluster))


def _refuse_contradictions(rules: SchedulingRules, moving: OrderPolicy | None, queue: str) -> None:
    """Refuse rules that do not go together."""
    if rules.preempt is not None and queue in ("easy", "conservative"):
        raise ParameterError(f"preempt= goes with queue skip or strict, not {queue}.")
    if moving is not None and moving.resort and queue == "conservative":
        raise ParameterError(f"order {moving.name} does not go with queue conservative.")
    if queue == "easy" and rules.backfill is not None and rules.backfill.plans_all:
        raise ParameterError(
            "backfill depth, window, whole_nodes and resolution go with queue conservative; easy "
            "keeps one reservation."
        )


def _refuse_stuck(result: DynamicResult, workload: Workload) -> None:
    """Refuse a replay in which jobs never start or never get on."""
    if result.stuck < 0:
        raise InputError(
            "jobs preempt each other again and again without getting on: they are stopped before "
            "they have saved any work. Set min_run of preempt above checkpoint + restart."
        )
    if result.stuck:
        started = np.zeros(len(workload), np.bool_)
        started[result.attempts.job] = True
        waiting = name_some(workload.jobs.loc[~started, "job_id"])
        raise InputError(
            f"{result.stuck:,} jobs never start, though the empty cluster could run them: "
            f"{waiting or 'all had started before'}. Nodes are away for good, or cannot be booted."
        )


def _absences(
    result: DynamicResult, setting: DynamicSetting, scaling: Autoscaler | None, nodes: int
) -> Absences | None:
    """Return when nodes were away: not booted, lost or drained."""
    changes = [
        (float(time), int(node), 1 - 2 * int(on))
        for time, (node, on) in zip(result.switch_s, result.switches, strict=True)
    ]
    if setting.outage_times is not None and setting.outages is not None:
        changes += [
            (float(time), int(node), -1 if what == r.RETURN else 1)
            for time, (node, what) in zip(setting.outage_times, setting.outages, strict=True)
        ]
    return find_absences(
        nodes,
        float(result.attempts.end_s.max(initial=0.0)),
        elastic_from=scaling.floor if scaling is not None else nodes,
        changes=changes,
    )


def _with_order(
    setting: DynamicSetting,
    workload: Workload,
    cluster: Cluster,
    owners: Owners,
    moving: OrderPolicy,
    options: dict[str, Any],
) -> DynamicSetting:
    """Add an order whose keys move."""
    rules = setting.rules._replace(
        keys_move=True,
        resort=moving.resort,
        still=moving.still,
        rekey_s=float(options.pop("rekey_s", moving.rekey_s)),
    )
    charge = _charge(workload, str(options.pop("charge", moving.charge)))
    facts = None
    if moving.prepare is not None:
        facts = moving.prepare(workload, cluster, owners, **options)
    return replace(
        setting,
        rules=rules,
        charge=charge,
        key=moving.key,
        refresh=moving.refresh or no_refresh,
        order_facts=facts,
        jump_s=None if moving.jumps is None or facts is None else moving.jumps(workload, facts),
    )


def _with_steady_order(
    setting: DynamicSetting, workload: Workload, moving: OrderPolicy | None
) -> DynamicSetting:
    """Say whether running jobs stay in order, so that only the last are looked at for a victim."""
    rules, group = setting.rules, None
    alike = moving is None
    if moving is not None and moving.still and not moving.resort and rules.rekey_s == 0:
        one_speed = not rules.speeds_differ and rules.restart_s == 0
        alike = moving.alike == "time" or (moving.alike == "work" and one_speed)
        if moving.alike == "gpu_time" and rules.preempt:
            sizes, group = np.unique(workload.gpus, return_inverse=True)
            alike = len(sizes) <= _MOST_GROUPS
    alike = rules.preempt and alike
    return replace(setting, rules=rules._replace(alike=alike), group=group if alike else None)


def _charge(workload: Workload, what: str) -> Floats:
    """Return what each job is charged per second."""
    gpus, cores = workload.gpus, workload.cores
    known = {"gpus": gpus, "cores": cores, "auto": gpus if (gpus > 0).any() else cores}
    if what not in known:
        raise ParameterError(not_among(f"charge {what!r} is unknown.", what, known))
    return known[what]


def _with_quotas(
    setting: DynamicSetting, workload: Workload, table: pd.DataFrame
) -> DynamicSetting:
    """Add quotas; refuse jobs that could never start within theirs."""
    quotas, quota_of = quota_matrix(table, workload)
    over = over_quota(quotas, quota_of, workload.asks)
    if setting.rungs is not None and setting.rung_asks is not None:
        job = np.repeat(np.arange(len(workload)), setting.rungs)
        over[:] = False
        over[job[over_quota(quotas, quota_of[job], setting.rung_asks)]] = True
    if over.any():
        ids = name_some(workload.jobs.loc[over, "job_id"])
        raise InputError(
            f"{int(over.sum()):,} jobs ask for more than their own quota and could never "
            f"start: {ids}. Raise the quota or leave these jobs out of the trace."
        )
    return replace(setting, quotas=quotas, quota_of=quota_of)


def _with_ladder(
    setting: DynamicSetting, workload: Workload, cluster: Cluster, ladder: Ladder
) -> DynamicSetting:
    """Add the requests that jobs climb."""
    rungs, rung_asks, work = ladder.climb(workload, workload.asks)
    stuck = np.zeros(len(workload), np.bool_)
    stuck[np.repeat(np.arange(len(workload)), rungs)[never_fit(rung_asks, cluster)]] = True
    why = "climb to a request that fits on no node of this cluster"
    keep_fitting(workload, workload.asks, stuck, why, cluster, leave_out=False)
    return replace(setting, rungs=rungs, rung_asks=rung_asks, rung_work=work)


def _with_speeds(
    setting: DynamicSetting,
    workload: Workload,
    cluster: Cluster,
    share: Sharing | None,
    speeds: Speeds | None,
) -> DynamicSetting:
    """Add speeds of GPU types, and what neighbours on a GPU leave of them."""
    columns = {rule.kind_column for rule in (share, speeds) if rule is not None}
    if len(columns) > 1:
        raise ParameterError(f"sharing and speeds name kinds by other columns: {sorted(columns)}.")
    kind, kinds = kinds_of(workload, columns.pop())
    slows = share is not None and share.slows
    return replace(
        setting,
        rules=setting.rules._replace(speeds_differ=True, neighbours=slows),
        kind=kind,
        pairs=share.pairs(kinds) if share is not None and slows else None,
        speeds=speeds.matrix(kinds, cluster.gpu_types) if speeds is not None else None,
    )


def _refuse_hopeless(workload: Workload, failures: Failures, preempt: Preemption | None) -> None:
    """Refuse jobs that would have to start a thousand times on average to get on at all."""
    saves_s = np.inf if preempt is None else preempt.checkpoint_s
    restart_s = 0.0 if preempt is None else preempt.restart_s
    stretch_s = np.minimum(workload.duration_s, saves_s) + restart_s
    # with exponential times between failures, one of exp(stretch / mtbf) attempts gets through
    hopeless = stretch_s > np.log(1000.0) * failures.mtbf_s
    if hopeless.any():
        raise InputError(
            f"{int(hopeless.sum()):,} jobs run far longer than nodes last (mtbf "
            f"{failures.mtbf_s:g} s) and would never end: "
            f"{name_some(workload.jobs.loc[hopeless, 'job_id'])}. Let jobs save their work "
            "(preempt checkpoint_s) or nodes fail less often."
        )


def _with_failures(
    run: Callable[[DynamicSetting], DynamicResult],
    setting: DynamicSetting,
    workload: Workload,
    nodes: int,
    planned: list[tuple[Floats, Ints]],
    failures: Failures,
    seed: int,
) -> tuple[DynamicSetting, DynamicResult]:
    """Run the loop; draw failures for longer until the replay ends before they do."""
    begin = float(workload.submit_s.min())
    end = float(workload.submit_s.max() + workload.duration_s.max()) + _DAY_S
    most_s = 1000 * (end - begin)
    while True:
        times, outages = in_order(*planned, failures.events(nodes, begin, end, seed))
        setting = replace(setting, outage_times=times, outages=outages)
        result = run(setting)
        if float(result.attempts.end_s.max(initial=begin)) < end and not result.stuck:
            return setting, result
        if end - begin > most_s:
            raise InputError(
                "with these failures the replay does not come to an end: jobs are longer than "
                "nodes last. Let jobs save their work (preempt checkpoint_s) or fail less often."
            )
        end = begin + 2 * (end - begin)


def _factors(workload: Workload, cluster: Cluster) -> dict[int, Floats]:
    """Return what multifactor priorities look at: the share of the cluster a job asks for."""
    asks, nodes = workload.asks, cluster.matrix
    instances = asks[:, ASK_INSTANCES]
    cores = asks[:, ASK_CPU] * instances / max(float(nodes[:, CPU].sum()), 1.0)
    size = (np.minimum(instances / len(nodes), 1.0) + np.minimum(cores, 1.0)) / 2
    factors: dict[int, Floats] = {JOB_SIZE: size}
    for column, name in ((JOB_PARTITION, "partition_factor"), (JOB_QOS, "qos_factor")):
        if name in workload.jobs:
            factors[column] = workload.jobs[name].fillna(0.0).to_numpy(float)
    return factors
