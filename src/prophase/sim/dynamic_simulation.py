"""Turn the rules of a replay into the arrays of the live loop."""

from __future__ import annotations

from typing import Any

import numpy as np

from prophase.errors import InputError, ParameterError, not_among
from prophase.sim.attempts import Attempts
from prophase.sim.cluster import Cluster
from prophase.sim.dynamic_loop import DynamicResult, DynamicSetting, run_dynamic_loop
from prophase.sim.feasibility import keep_fitting, never_fit
from prophase.sim.kernels.dynamic import array_layout as r
from prophase.sim.kernels.dynamic.waiting_queue import no_refresh
from prophase.sim.owners import Owners
from prophase.sim.policies import OrderPolicy, PlacePolicy
from prophase.sim.rules.node_availability import (
    Absences,
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
    ASK_GPUS,
    ASK_INSTANCES,
    ASK_MILLI,
    CPU,
    JOB_PARTITION,
    JOB_QOS,
    JOB_SIZE,
    Floats,
)
from prophase.sim.workload import Workload, name_some

_QUEUES = {
    "strict": r.STRICT,
    "skip": r.SKIP,
    "easy": r.EASY,
    "conservative": r.CONSERVATIVE,
}
_DAY_S = 86_400.0


def simulate_dynamic(
    workload: Workload,
    cluster: Cluster,
    key: Floats,
    place: PlacePolicy,
    rules: SchedulingRules,
    *,
    moving: OrderPolicy | None,
    order_options: dict[str, Any],
    queue: str,
    estimate_s: Floats | None,
    owners: Owners,
    half_life_s: float,
    seed: int,
) -> tuple[Attempts, Absences | None]:
    """Replay with the live loop; return the attempts, and when nodes were away."""
    if rules.preempt is not None and queue in ("easy", "conservative"):
        raise ParameterError(f"preempt= goes with queue skip or strict, not {queue}.")
    if moving is not None and moving.resort and queue == "conservative":
        raise ParameterError(f"order {moving.name} does not go with queue conservative.")
    if queue == "easy" and rules.backfill is not None and rules.backfill.plans_all:
        raise ParameterError(
            "backfill depth, window, whole_nodes and resolution go with queue conservative; easy "
            "keeps one reservation."
        )
    numbers: dict[int, float] = {r.RULE_QUEUE: _QUEUES[queue], r.RULE_HALF_LIFE: half_life_s}
    for rule in (rules.backfill, rules.preempt, rules.scaling):
        if rule is not None:
            numbers |= rule.rules()
    fields: dict[str, Any] = {
        "user": owners.of_job,
        "owner_share": owners.share,
        "owner_parent": owners.parent,
        "estimate_s": estimate_s,
        "choose_gpu": place.choose_gpu,
        "facts": place.prepare(workload.asks, cluster, seed) if place.prepare else None,
        "trees": place.pure,
        "fill": place.fill,
        "factors": _factors(workload, cluster),
    }
    _set_order(workload, cluster, owners, moving, order_options, numbers, fields)
    if rules.quotas is not None:
        fields["quotas"], fields["quota_of"] = quota_matrix(rules.quotas, workload)
    if rules.ladder is not None:
        _set_ladder(workload, cluster, rules.ladder, fields)
    if rules.quotas is not None:
        _refuse_over_quota(workload, fields)
    if rules.share is not None or rules.speeds is not None:
        _set_speeds(workload, cluster, rules.share, rules.speeds, numbers, fields)
    if rules.failures is not None:
        _refuse_hopeless(workload, rules.failures, rules.preempt)
    parts = [calendar_events(rules.calendar, cluster)] if rules.calendar is not None else []
    result = _replay(workload, cluster, key, place, fields, numbers, parts, rules.failures, seed)
    if result.stuck < 0:
        raise InputError(
            "jobs push each other out again and again without getting on: they are stopped before "
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
    changes = [
        (float(time), int(node), 1 - 2 * int(on))
        for time, (node, on) in zip(result.switch_s, result.switches, strict=True)
    ]
    if fields.get("outages") is not None:
        changes += [
            (float(time), int(node), -1 if what == r.RETURN else 1)
            for time, (node, what) in zip(fields["outage_times"], fields["outages"], strict=True)
        ]
    absences = find_absences(
        len(cluster),
        float(result.attempts.end_s.max(initial=0.0)),
        elastic_from=rules.scaling.floor if rules.scaling is not None else len(cluster),
        changes=changes,
    )
    return result.attempts, absences


def _set_order(
    workload: Workload,
    cluster: Cluster,
    owners: Owners,
    moving: OrderPolicy | None,
    options: dict[str, Any],
    numbers: dict[int, float],
    fields: dict[str, Any],
) -> None:
    if moving is None:
        return
    numbers[r.RULE_MOVES] = 1.0
    numbers[r.RULE_RESORT] = float(moving.resort)
    numbers[r.RULE_REKEY] = float(options.pop("rekey_s", moving.rekey_s))
    fields["charge"] = _charge(workload, str(options.pop("charge", moving.charge)))
    fields["key"], fields["refresh"] = moving.key, moving.refresh or no_refresh
    if moving.prepare is not None:
        fields["order_facts"] = moving.prepare(workload, cluster, owners, **options)


def _charge(workload: Workload, what: str) -> Floats:
    """Return what each job is charged per second."""
    asks = workload.asks
    gpus = asks[:, ASK_GPUS] * asks[:, ASK_MILLI] / 1000 * asks[:, ASK_INSTANCES]
    cores = asks[:, ASK_CPU] / 1000 * asks[:, ASK_INSTANCES]
    known = {"gpus": gpus, "cores": cores, "auto": gpus if (gpus > 0).any() else cores}
    if what not in known:
        raise ParameterError(not_among(f"charge {what!r} is unknown.", what, known))
    return known[what]


def _refuse_over_quota(workload: Workload, fields: dict[str, Any]) -> None:
    over = over_quota(fields["quotas"], fields["quota_of"], workload.asks)
    if "rungs" in fields:
        job = np.repeat(np.arange(len(workload)), fields["rungs"])
        over[:] = False
        over[job[over_quota(fields["quotas"], fields["quota_of"][job], fields["rung_asks"])]] = True
    if over.any():
        ids = name_some(workload.jobs.loc[over, "job_id"])
        raise InputError(
            f"{int(over.sum()):,} jobs ask for more than their own quota and could never "
            f"start: {ids}. Raise the quota or leave these jobs out of the trace."
        )


def _set_ladder(
    workload: Workload, cluster: Cluster, ladder: Ladder, fields: dict[str, Any]
) -> None:
    rungs, rung_asks, work = ladder.climb(workload, workload.asks)
    stuck = np.zeros(len(workload), np.bool_)
    stuck[np.repeat(np.arange(len(workload)), rungs)[never_fit(rung_asks, cluster)]] = True
    why = "climb to a request that fits on no node of this cluster"
    keep_fitting(workload, workload.asks, stuck, why, cluster, leave_out=False)
    fields |= {"rungs": rungs, "rung_asks": rung_asks, "rung_work": work}


def _set_speeds(
    workload: Workload,
    cluster: Cluster,
    share: Sharing | None,
    speeds: Speeds | None,
    numbers: dict[int, float],
    fields: dict[str, Any],
) -> None:
    columns = {rule.kind_column for rule in (share, speeds) if rule is not None}
    if len(columns) > 1:
        raise ParameterError(f"sharing and speeds name kinds by other columns: {sorted(columns)}.")
    fields["kind"], kinds = kinds_of(workload, columns.pop())
    numbers[r.RULE_RATES] = 1.0
    if share is not None and share.slows:
        numbers[r.RULE_NEIGHBOURS] = 1.0
        fields["pairs"] = share.pairs(kinds)
    if speeds is not None:
        fields["speeds"] = speeds.matrix(kinds, cluster.gpu_types)


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


def _replay(
    workload: Workload,
    cluster: Cluster,
    key: Floats,
    place: PlacePolicy,
    fields: dict[str, Any],
    numbers: dict[int, float],
    parts: list[Any],
    failures: Failures | None,
    seed: int,
) -> DynamicResult:
    """Run the loop; with failures, draw them for longer until the replay ends before they do."""
    begin = float(workload.submit_s.min())
    end = float(workload.submit_s.max() + workload.duration_s.max()) + _DAY_S
    while True:
        drawn = [] if failures is None else [failures.events(len(cluster), begin, end, seed)]
        if parts or drawn:
            fields["outage_times"], fields["outages"] = in_order(*parts, *drawn)
        result = run_dynamic_loop(
            workload.submit_s,
            workload.duration_s,
            workload.asks,
            key,
            cluster.matrix,
            place.score,
            DynamicSetting(rules=numbers, **fields),
        )
        last = float(result.attempts.end_s.max(initial=begin))
        if failures is None or (last < end and not result.stuck):
            return result
        if end - begin > 1000 * (
            workload.duration_s.max() + workload.submit_s.max() - begin + _DAY_S
        ):
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
