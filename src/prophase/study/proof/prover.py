"""Prove a recommendation: the history replayed with today's requests and the recommended ones."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict, Unpack

import numpy as np
import pandas as pd

from prophase.errors import InputError, ParameterError
from prophase.json_types import JsonMapping
from prophase.sim.cluster import PLENTY, Cluster
from prophase.sim.signatures import MEMORY, Floats
from prophase.sim.workload import Workload
from prophase.sizing.kind_recommendation import Gate, recommend
from prophase.sizing.resources import sized_resource
from prophase.stats import Estimate, calendar_blocks, share
from prophase.study.proof.backtest import forward_splits
from prophase.study.proof.candidate import Candidate
from prophase.study.proof.cluster_replays import replay_both
from prophase.study.proof.proof import Proof, TaskProof, Total
from prophase.study.proof.reserved_hours import (
    ProofJobs,
    Reserved,
    climbing,
    predicted_saving,
    reserved,
    subject_of,
    with_candidate,
)
from prophase.study.proof.saving_interval import saving_with_interval
from prophase.study.proof.verdict import Limits, judge
from prophase.trace.identity.job_identity import (
    full_name,
    identity_keys,
    rule_of,
    shown_keys,
    with_identity,
)
from prophase.trace.identity.rule import NO_RULE
from prophase.trace.prices import Prices

Show = Callable[[str, float | None], None]
#: why waits are not known, if all that lacks is a cluster
NO_CLUSTER = "no cluster is named"
#: policy of both replays unless another is named
USUAL_POLICY: JsonMapping = {"order": "fifo", "place": "best_fit", "queue": "skip"}


class ProofReplaySettings(TypedDict, total=False):
    """The fields of :class:`ProofReplays` as keywords."""

    splits: int
    seeds: int
    fails_after: float
    by: str
    policy: JsonMapping | None
    leave_out_unfit: bool
    seed: int
    workers: int | str


@dataclass(frozen=True)
class ProofReplays:
    """How a history is replayed for a proof.

    Parameters
    ----------
    splits : int, default=10
        Cut-off dates of the back-test; 0: none.
    seeds : int, default=10
        Resampled traces behind the intervals of waits; 0: none.
    fails_after : float, default=1
        Share of its run after which an attempt that asks for too little is killed.
    by : str
        Classes of jobs whose waits are shown.
    policy : mapping, optional
        Settings of ``sim.simulate`` for both replays.
    workers : int or str, default=1
        Processes for splits and replays, or the address of a Dask scheduler; the numbers are the
        same with any.
    """

    splits: int = 10
    seeds: int = 10
    fails_after: float = 1.0
    by: str = "class"
    policy: JsonMapping | None = None
    leave_out_unfit: bool = True
    seed: int = 0
    workers: int | str = 1

    def __post_init__(self) -> None:
        if not 0 < self.fails_after <= 1:
            raise ParameterError(
                f"fails_after is {self.fails_after}, but is a share of a run: 0 to 1."
            )
        if self.seeds < 0 or self.splits < 0:
            raise ParameterError("seeds and splits count something: give 0 or more.")


def prove(
    jobs: pd.DataFrame,
    advice: Candidate | None = None,
    cluster: Cluster | None = None,
    *,
    limits: Limits | None = None,
    prices: Prices | JsonMapping | str | Path | None = None,
    risk: float | None = None,
    gate: Gate | None = None,
    resource: str = "auto",
    kind: Sequence[str] | None = None,
    show: Show = lambda step, percent: None,
    **settings: Unpack[ProofReplaySettings],
) -> Proof:
    """Prove a recommendation on a history of jobs.

    Parameters
    ----------
    jobs : DataFrame
        The user's own jobs with requests, run times and measured peaks.
    advice : Candidate, optional
        What is to be proven; without it what ``sizing.recommend`` makes of the history.
    cluster : Cluster, optional
        Where the jobs run. Without it hours, kills and cost are told, but no waits.
    limits : Limits, optional
        What the verdict is about: at most 1 % killed and something saved, if not given.
    prices : Prices, mapping or path, optional
        What hours cost; adds cost to the totals.
    resource : str
        What the recommendation made here is for; "auto": the first that the history measures,
        the time limit if it measures no use.
    risk, gate : optional
        Of the recommendations that are made here and at the cut-off dates; the risk of ``advice``
        if not given.
    kind : sequence of str, optional
        Columns that tell kinds of job apart, such as group and task, instead of the identity
        that the jobs have.
    **settings
        How the history is replayed: the fields of :class:`ProofReplays`, such as ``splits=0``.

    Examples
    --------
    >>> at = np.arange(800)
    >>> jobs = pd.DataFrame({"job_id": at.astype(str), "task": "align", "submit_s": 3000.0 * at})
    >>> jobs["duration_s"], jobs["request_memory_gib"] = 500.0, 16.0
    >>> jobs["memory_peak_gib"] = 2.0 + 0.01 * (at % 7)
    >>> proof = prove(jobs, cluster=Cluster.parse("1x0 8c 64g"), seeds=0)
    >>> proof.verdict.outcome, round(proof.saving.value, 2)
    ('pass', 0.87)
    """
    limits, runs = limits or Limits(), ProofReplays(**settings)
    resource = advice.resource if advice is not None else sized_resource(jobs, resource)
    risk = risk if risk is not None else _risk_of(advice)
    if kind:
        jobs = with_identity(jobs, by=kind)
    else:
        jobs = advice.grouped(jobs) if advice is not None else with_identity(jobs)
    rule = rule_of(jobs) or NO_RULE
    shown = {full_name(key): name for key, name in shown_keys(identity_keys(jobs)).items()}
    advice = None if advice is None else advice.matched(jobs)
    subject = subject_of(jobs, resource)
    if advice is None:
        show("making the recommendation", None)
        made = recommend(jobs, risk=risk, gate=gate, resource=resource)
        advice = Candidate.made(made)
    _refuse_strangers(subject, advice)
    most = _largest_node(cluster) if resource == "memory" else None
    advised = with_candidate(subject, advice, most)
    ladder = climbing(resource, runs.fails_after)
    now, then = reserved(subject.today, resource, None), reserved(advised, resource, ladder)
    follows = np.isin(subject.following(advice), list(advice.changed))
    promised = predicted_saving(subject, advice, now)
    prices = None if prices is None else Prices.take(prices)
    totals = _totals(subject, now, then, prices)
    found_splits = None
    if runs.splits:
        found_splits = forward_splits(
            subject, risk=risk, gate=gate, splits=runs.splits, fails_after=runs.fails_after,
            workers=runs.workers,
            show=lambda percent: show("back-test", percent),
        )  # fmt: skip
    replays, why_not = None, _why_no_replay(subject, cluster)
    policy = {**USUAL_POLICY, **(runs.policy or {})}
    if resource == "time" and policy["queue"] == "skip":
        # limits matter where the queue plans with them
        policy["queue"] = "easy"
    if cluster is not None and not why_not:
        replays = replay_both(
            subject.today, advised, cluster, ladder=ladder, policy=policy, by=runs.by,
            seeds=runs.seeds, leave_out_unfit=runs.leave_out_unfit, workers=runs.workers, show=show,
        )  # fmt: skip
    oom = share(then.kills[follows] > 0, calendar_blocks(subject.today.submit_s[follows]))
    return Proof(
        resource=resource,
        unit=advice.unit,
        jobs=len(subject.today),
        advised_jobs=int(follows.sum()),
        left_out=_left_out(subject),
        totals=totals,
        oom=oom,
        oom_today=_oom_today(subject.today, resource),
        retries=int(then.kills[follows].sum()),
        predicted=_share(float(promised.sum()), float(now.amount_h.sum())),
        tasks=_by_task(subject, now, then, promised, follows, shown),
        kept_tasks=_kept_tasks(subject, advice, shown),
        unknown_tasks=sorted(set(advice.changed) - set(subject.tasks.tolist())),
        replays=replays,
        why_no_replay=why_not,
        splits=found_splits,
        verdict=judge(limits, totals[0].saved, oom, found_splits, replays, resource=resource),
        limits=limits,
        settings={
            "risk": risk, "splits": runs.splits, "seeds": runs.seeds, "seed": runs.seed,
            "identity": rule.to_dict(), "grouped_by": str(rule),
            "fails_after": runs.fails_after, "by": runs.by,
            "policy": dict(policy),
        },
    )  # fmt: skip


def _risk_of(advice: Candidate | None) -> float:
    return advice.risk if advice is not None and advice.risk == advice.risk else 0.01


def _refuse_strangers(subject: ProofJobs, advice: Candidate) -> None:
    """Refuse a recommendation that names no task of this history."""
    held = set(subject.tasks.tolist()) - {""}
    if not held & set(advice.tasks):
        some = ", ".join(sorted(advice.tasks)[:3])
        own = ", ".join(sorted(held)[:3])
        raise InputError(
            f"{advice.name}: names no task of this history (it has {some}; the history {own}). "
            "Prove it on the history of the same tasks."
        )


def _totals(
    subject: ProofJobs, now: Reserved, then: Reserved, prices: Prices | None
) -> list[Total]:
    days = calendar_blocks(subject.today.submit_s)

    def total(name: str, unit: str, before: Floats, after: Floats) -> Total:
        saved = saving_with_interval(before, after, days)
        return Total(name, unit, float(before.sum()), float(after.sum()), saved)

    held = {
        "memory": ("memory-hours", "GiB h", now.memory_gib_h, then.memory_gib_h),
        "cpu": ("core-hours", "core h", now.core_h, then.core_h),
        "gpu": ("GPU-hours", "GPU h", now.gpu_h, then.gpu_h),
        "time": ("time limits", "h", now.amount_h, then.amount_h),
    }
    name, unit, *_ = held.pop(subject.resource)
    found = [total(name, unit, now.amount_h, then.amount_h)]
    if subject.resource != "time":
        del held["time"]
    found += [total(*other) for other in held.values() if other[2].any()]
    if prices is not None:
        money = [side.cost(subject.today, prices) for side in (now, then)]
        found.append(total("cost", prices.currency or "money", *money))
    return found


def _by_task(
    subject: ProofJobs,
    now: Reserved,
    then: Reserved,
    promised: Floats,
    follows: Any,
    shown: Mapping[str, str],
) -> list[TaskProof]:
    rows: defaultdict[str, list[int]] = defaultdict(list)
    for row in np.flatnonzero(follows):
        rows[subject.tasks[row]].append(int(row))
    found = [
        TaskProof(
            shown[task],
            len(members),
            float(now.amount_h[members].sum()),
            float(then.amount_h[members].sum()),
            float(promised[members].sum()),
            int((then.kills[members] > 0).sum()),
            int(then.kills[members].sum()),
        )
        for task, members in rows.items()
    ]
    return sorted(found, key=lambda one: -one.saved_h)


def _left_out(subject: ProofJobs) -> dict[str, int]:
    """Say why jobs follow no recommendation, or are in no replay at all; each reason once."""
    never = dict(subject.today.left_out)
    if "no run time" in subject.left_out:
        never.pop("no duration_s", None)
    return {**subject.left_out, **never}


def _kept_tasks(subject: ProofJobs, advice: Candidate, shown: Mapping[str, str]) -> dict[str, str]:
    held = sorted(set(subject.tasks.tolist()) - {""} - set(advice.changed))
    return {
        shown[task]: advice.tasks[task].why if task in advice.tasks else "not in the recommendation"
        for task in held
    }


def _oom_today(today: Workload, resource: str) -> Estimate:
    jobs = today.jobs
    ended = {"memory": "oom", "time": "timeout"}.get(resource)
    if ended is None:
        return Estimate(math.nan, reason=f"nobody is killed for too few {resource}")
    if "status" not in jobs or jobs["status"].isna().all():
        return Estimate(math.nan, reason="the trace does not tell how jobs ended")
    killed = (jobs["status"].astype("string") == ended).fillna(False).to_numpy(bool)
    return share(killed, calendar_blocks(today.submit_s))


def _why_no_replay(subject: ProofJobs, cluster: Cluster | None) -> str:
    if not subject.timed:
        return "the trace has no clock (submit_s or start_s), so nobody can be seen waiting"
    return NO_CLUSTER if cluster is None else ""


def _largest_node(cluster: Cluster | None) -> float | None:
    if cluster is None:
        return None
    memory = float(cluster.matrix[:, MEMORY].max())
    return None if memory >= PLENTY else memory / 1024


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else math.nan
