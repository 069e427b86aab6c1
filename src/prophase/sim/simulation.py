"""Replay a workload on a cluster."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from prophase.errors import InputError, ParameterError, not_among
from prophase.plural import counted
from prophase.sim.cluster import PLENTY, Cluster
from prophase.sim.feasibility import ignores_types, keep_fitting, never_fit, with_types
from prophase.sim.policies import OrderPolicy, named, order_policies, place_policies
from prophase.sim.rules.hours import longest_admitted
from prophase.sim.rules.parsing import at_least
from prophase.sim.rules.quotas import over_quota, quota_matrix
from prophase.sim.rules.rule_set import STEP_RULES, RuleKeywords, SchedulingRules
from prophase.sim.schedule import Schedule
from prophase.sim.signatures import ASK_CPU, ASK_GPUS, ASK_MEMORY, CPU, GPUS, MEMORY, Floats
from prophase.sim.slurm.site_rules import SiteRules
from prophase.sim.static_loop import rank_by, run_static_loop
from prophase.sim.workload import Workload

#: where readers of workflows put the jobs that a job waits for
_PARENTS = "attr_parents"
#: what a queue does when its first job does not fit
QUEUES = {
    "strict": "the first job that does not fit holds up all behind it",
    "skip": "a job that does not fit is passed over for the next that does",
    "easy": "the first job gets a reservation; later ones start if they do not delay it",
    "conservative": "every waiting job gets a reservation; later ones start if they delay none",
}


#: the keywords of ``simulate`` that set a replay
SETTINGS = (
    *("order", "order_options", "place", "queue", "estimate", "noise"),
    *RuleKeywords.__annotations__,
    *("slurm", "leave_out_unfit", "seed"),
)


def replay_keywords() -> list[str]:
    """Return every keyword of ``simulate``: its own, and those of the rules.

    Examples
    --------
    >>> {"order", "preempt", "scaling"} <= set(replay_keywords())
    True
    """
    own = inspect.signature(simulate).parameters.values()
    named = [one.name for one in own if one.kind is one.KEYWORD_ONLY]
    return [*named, *RuleKeywords.__annotations__]


def simulate(
    workload: Workload,
    cluster: Cluster,
    *,
    order: str | Callable[[Workload], Floats] = "fifo",
    order_options: Mapping[str, Any] | None = None,
    place: str = "best_fit",
    queue: str = "skip",
    estimate: str = "time_limit_s",
    noise: float = 0.0,
    slurm: SiteRules | None = None,
    leave_out_unfit: bool = False,
    seed: int = 0,
    **given: Unpack[RuleKeywords],
) -> Schedule:
    """Replay a workload on a cluster and return when and where each job ran.

    Rules may be given as text (``preempt="checkpoint=10min,restart=30s"``, ``"on"``), tables
    as the path of a CSV or Parquet file.

    Parameters
    ----------
    order : str or function
        Who goes first: a policy's name, a function of the workload, or ``"column:NAME"`` for
        any column of the job table, smallest first (``"column:predicted_duration_s"``).
    order_options : mapping, optional
        Options of the order, such as the weights of ``"multifactor"``.
    place : str
        Which node a job goes to.
    queue : {"skip", "strict", "easy", "conservative"}
        What happens behind a job that does not fit.
    estimate : str, default="time_limit_s"
        Column with the run times that backfilling plans with; where it is missing, or shorter
        than the run, the true run time is taken.
    noise : float, default=0
        Estimates are multiplied by a lognormal factor of this sigma, drawn once per job.
    backfill : Backfill, optional
        How often and how far a backfilling queue plans.
    preempt : Preemption, optional
        Waiting jobs may preempt running ones that come after them in the order.
    share : Sharing, optional
        How GPUs are shared, and how much neighbours slow each other down.
    speeds : Speeds, optional
        How fast kinds of jobs run on GPU types.
    scaling : Autoscaler, optional
        Nodes are booted and stopped as jobs need them.
    calendar : DataFrame, optional
        Planned absences of nodes, as ``rules.node_availability.calendar_events`` reads them.
    failures : Failures, optional
        Nodes fail by chance (``seed``); their jobs start again, from the last checkpoint if
        ``preempt`` says how often those are made, else from the beginning.
    ladder : Ladder, optional
        Attempts that ask for less memory than they need are killed and climb.
    quotas : DataFrame, optional
        What users, queues, groups and the tasks of an array may hold at a time.
    hours : DataFrame, optional
        Hours in which only short jobs start, as ``rules.hours.hours_matrix`` reads them.
    shares : DataFrame, optional
        What users and accounts own, for orders that share fairly.
    half_life_s : float, default=0
        Usage counts half after this time in orders that share fairly; 0: it never fades.
    depends : Dependencies or str, optional
        Column with the ids of the jobs that a job waits for; it joins the queue when the last of
        them has ended, and its submission in the schedule is that instant.
    defer : Deferral, optional
        Deferrable jobs are held back for the hour in which their run emits least CO2.
    elastic : Elastic, optional
        Jobs run with more or fewer workers, and are faster with more.
    cohorts : DataFrame, optional
        Quotas of queues that borrow from each other, as ``rules.cohorts.Cohorts.of`` reads them.
    topology : Topology, optional
        Jobs that are spread over nodes and racks take longer.
    demand : PhasedDemand, optional
        Jobs hold what each phase of their run needs.
    mig : Mig, optional
        Jobs ask for MIG profiles, and GPUs are divided into instances.
    reservations : DataFrame, optional
        Nodes that only some jobs may use for a time, as ``rules.reservations.Reservations.of``
        reads them. These six are replayed in plain Python (``prophase.sim.step_rules``), with few
        other rules.
    slurm : SiteRules, optional
        Follow the rules of a Slurm site: partitions, qualities of service, limits, reservations,
        preemption (``prophase.sim.slurm_conf.slurm_settings`` reads them).
    leave_out_unfit : bool, default=False
        Leave out, and count, jobs that not even the empty cluster could run. Otherwise they
        are refused before the replay starts.
    seed : int, default=0
        For whatever draws lots: random policies, noise, failures.
    """
    if queue not in QUEUES:
        raise ParameterError(not_among(f"queue {queue!r} is unknown.", queue, QUEUES))
    policy = named(place, place_policies(), "place")
    _refuse_impossible(workload)
    rules = SchedulingRules.read(workload, **given)
    if rules.depends is not None or rules.defer is not None:
        alone: RuleKeywords = {**given, "depends": None, "defer": None}

        def run(later: Workload) -> Schedule:
            return simulate(
                later, cluster, order=order, order_options=order_options, place=place,
                queue=queue, estimate=estimate, noise=noise, slurm=slurm,
                leave_out_unfit=leave_out_unfit, seed=seed, **alone,
            )  # fmt: skip

        return _released_later(workload, rules, run)
    if rules.stepwise():
        return _step_by_step(
            workload, cluster, rules, order, dict(order_options or {}),
            place=place, queue=queue, slurm=slurm, leave_out_unfit=leave_out_unfit, seed=seed,
        )  # fmt: skip
    plans = queue in ("easy", "conservative")
    if rules.backfill is not None and not plans:
        raise ParameterError(f"backfill= goes with queue easy or conservative, not {queue}.")
    if rules.share is not None:
        workload = rules.share.apply(workload)
    if rules.scaling is not None:
        cluster = cluster.first(rules.scaling.most_nodes(cluster))
    if slurm is not None:
        # compiled when first needed
        from prophase.sim.slurm.site_replay import follows_site, simulate_site

        if follows_site(slurm, workload, place=place, queue=queue, rules=rules):
            return simulate_site(
                workload,
                cluster,
                slurm,
                rules,
                order=_order,
                order_name=order,
                order_options=dict(order_options or {}),
                queue=queue,
                estimates=lambda jobs: _estimates(jobs, estimate, noise, seed),
                leave_out_unfit=leave_out_unfit,
                seed=seed,
            )
    workload, widened = workload.spread_over(int(cluster.matrix[:, GPUS].max()))
    asks = with_types(workload, cluster)
    stuck = never_fit(asks, cluster)
    workload, asks = keep_fitting(
        workload,
        asks,
        stuck,
        "fit on no node of this cluster even when it is empty",
        cluster,
        leave_out=leave_out_unfit,
    )
    if rules.quotas is not None:
        over = over_quota(*quota_matrix(rules.quotas, workload), asks)
        why = "ask for more than their own quota and could never start"
        workload, asks = keep_fitting(workload, asks, over, why, cluster, leave_out=leave_out_unfit)
    if rules.hours is not None:
        long = _estimates(workload, estimate, noise, seed) > longest_admitted(rules.hours)
        why = "are longer than any hours admit and could never start"
        workload, asks = keep_fitting(workload, asks, long, why, cluster, leave_out=leave_out_unfit)
    workload = replace(workload, asks=asks)
    moving, key = _order(order, workload, dict(order_options or {}))
    settings = policy.settings(asks, cluster, seed)
    absences = None
    if plans or moving or rules.dynamic():
        # compiled when first needed
        from prophase.sim.dynamic_simulation import simulate_dynamic

        attempts, absences = simulate_dynamic(
            workload,
            cluster,
            key,
            settings,
            rules,
            moving=moving,
            order_options=dict(order_options or {}),
            queue=queue,
            estimate_s=_estimates(workload, estimate, noise, seed)
            if plans or rules.hours is not None
            else None,
            seed=seed,
        )
    else:
        attempts = run_static_loop(
            workload.submit_s,
            workload.duration_s,
            workload.asks,
            rank_by(key),
            cluster.matrix,
            settings,
            strict=queue == "strict",
        )
    name = order if isinstance(order, str) else getattr(order, "__name__", "own")
    notes = [
        f"{counted(count, 'job')} left out: {reason}" for reason, count in workload.left_out.items()
    ]
    if ignores_types(workload, cluster):
        notes.append("GPU types that jobs ask for are ignored: the cluster names none")
    # column by column: a copy of all three would be the peak of memory
    idle = [workload.asks[:, column] == 0 for column in (ASK_CPU, ASK_MEMORY, ASK_GPUS)]
    if nothing := int((idle[0] & idle[1] & idle[2]).sum()):
        said = "state no request: they hold" if nothing > 1 else "states no request: it holds"
        waits = "wait" if nothing > 1 else "waits"
        notes.append(f"{counted(nothing, 'job')} {said} nothing and never {waits}")
    notes += [*workload.unstated(), *_unlimited(workload, cluster)]
    if _PARENTS in workload.jobs and "depends" not in given and workload.jobs[_PARENTS].any():
        notes.append(f"jobs name their parents ({_PARENTS}), but do not wait for them: --depends")
    if widened:
        notes.append(f"{widened:,} jobs wider than a node run as gangs over several nodes")
    return Schedule(workload, cluster, attempts, name, place, queue, tuple(notes), absences)


def _released_later(
    workload: Workload, rules: SchedulingRules, run: Callable[[Workload], Schedule]
) -> Schedule:
    """Replay jobs that join the queue after others have ended, or at a cleaner hour."""
    if rules.depends is None:
        from prophase.sim.deferred_replay import simulate_deferred

        assert rules.defer is not None
        return simulate_deferred(workload, rules.defer, run)
    if rules.defer is not None:
        raise ParameterError(
            "defer= cannot be combined with depends=: when a job that waits for others could run "
            "is not known before the replay. Leave one of them out."
        )
    from prophase.sim.dependent_replay import simulate_dependent

    return simulate_dependent(workload, rules.depends, run)


def _step_by_step(
    workload: Workload,
    cluster: Cluster,
    rules: SchedulingRules,
    order: str | Callable[[Workload], Floats],
    options: dict[str, Any],
    *,
    slurm: SiteRules | None,
    **setting: Any,
) -> Schedule:
    """Replay with the loop in plain Python."""
    from prophase.sim.step_rules import StepSetting, simulate_step_rules

    moving, _ = _order(order, workload, options)
    if moving is not None or slurm is not None:
        what = "slurm=" if moving is None else f"order={moving.name}, whose keys move with time,"
        raise ParameterError(
            f"{what} cannot be combined with {', '.join(STEP_RULES)}, which are replayed step by "
            "step. Choose an order such as fifo, shortest or column:NAME."
        )
    name = order if isinstance(order, str) else getattr(order, "__name__", "own")
    made = StepSetting(name, lambda jobs: _order(order, jobs, options)[1], **setting)
    return simulate_step_rules(workload, cluster, rules, made)


def _unlimited(workload: Workload, cluster: Cluster) -> list[str]:
    """Say that nobody can wait, if the cluster limits nothing of what jobs ask for."""
    asks, matrix = workload.asks, cluster.matrix
    asked = {
        "GPUs": bool(asks[:, ASK_GPUS].any()),
        "cores": bool(asks[:, ASK_CPU].any()),
        "memory": bool(asks[:, ASK_MEMORY].any()),
    }
    limited = {
        "GPUs": True,
        "cores": bool((matrix[:, CPU] < PLENTY).any()),
        "memory": bool((matrix[:, MEMORY] < PLENTY).any()),
    }
    words = [name for name, any_asked in asked.items() if any_asked]
    if not words or any(limited[name] for name in words):
        return []
    return [
        f"the cluster does not limit {' and '.join(words)}, which is all that jobs ask for, so no "
        "job waits. State them: --cluster '128x0 16c 64g' is 128 nodes with 16 cores and 64 GiB"
    ]


def _refuse_impossible(workload: Workload) -> None:
    """Refuse arrays that cannot be jobs, however the workload was made."""
    times = (workload.submit_s, workload.duration_s)
    if not all(np.isfinite(one).all() for one in times) or (workload.duration_s < 0).any():
        raise InputError(
            "the workload holds times that are negative, infinite or not known. "
            "Workload.from_jobs names the jobs."
        )
    if len(workload) and workload.asks.min() < 0:
        raise InputError(
            "the workload holds requests below 0, which would create capacity. "
            "Workload.from_jobs names the jobs."
        )


def _estimates(workload: Workload, column: str, noise: float, seed: int) -> Floats:
    """Return believed run times; a job is never believed shorter than it is, unless by noise."""
    if column not in workload.jobs:
        raise InputError(
            f"backfilling plans with {column}, which the job table lacks. Name another column "
            "with --estimate, such as duration_s for perfect estimates."
        )
    at_least("noise", noise, 0)
    believed = workload.jobs[column].fillna(0.0).to_numpy(np.float64)
    longest: Floats = np.maximum(believed, workload.duration_s)
    if noise:
        longest = longest * np.random.default_rng(seed).lognormal(0.0, noise, len(longest))
    return longest


def _keys_of(order: Callable[[Workload], Floats], workload: Workload) -> Floats:
    """Return the keys of an order in plain Python; nonsense is refused with what is wrong."""
    name = getattr(order, "__name__", repr(order))
    said = f"order {name}: return one number per job, the smallest goes first; "
    returned = order(workload)
    try:
        keys: Floats = np.asarray(returned, np.float64)
    except (TypeError, ValueError) as cause:
        raise ParameterError(f"{said}it returned {type(returned).__name__}: {cause}.") from cause
    if keys.shape != (len(workload),):
        raise ParameterError(f"{said}it returned shape {keys.shape} for {len(workload):,} jobs.")
    if np.isnan(keys).any():
        first = workload.jobs["job_id"].iloc[int(np.isnan(keys).argmax())]
        raise ParameterError(
            f"{said}it returned NaN for {int(np.isnan(keys).sum()):,} of them, job {first} first."
        )
    return keys


def _order(
    order: str | Callable[[Workload], Floats], workload: Workload, options: dict[str, Any]
) -> tuple[OrderPolicy | None, Floats]:
    """Return the order if it moves, and the keys of one that does not."""
    if callable(order):
        return None, _keys_of(order, workload)
    if not isinstance(order, str):
        raise ParameterError(
            f"order is {order!r}, but is a name such as 'fifo', 'column:NAME', or a function of "
            "the workload that returns a number per job."
        )
    if order.startswith("column:"):
        return None, workload.key(order.removeprefix("column:"))
    policy: OrderPolicy = named(order, order_policies(), "order")
    if policy.moves:
        policy.check(options)
        return policy, np.zeros(len(workload))
    policy.check(options)
    return None, np.asarray(policy.key(workload, **options), np.float64)
