"""What each job reserves, today and with a recommendation: hours, kills and retries, job by job.

The retry rule is the simulator's ladder, so the sums here and those of a replay are the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from prophase.errors import InputError
from prophase.sim.rules.retry_ladder import Ladder, LimitLadder
from prophase.sim.signatures import (
    ASK_CPU,
    ASK_GPUS,
    ASK_INSTANCES,
    ASK_MEMORY,
    ASK_MILLI,
    Floats,
)
from prophase.sim.workload import Workload
from prophase.sizing.replays.task_runs import known_before, task_runs
from prophase.sizing.resources import RESOURCES
from prophase.sizing.sizer import code_number, number_of_code
from prophase.study.proof.candidate import Candidate
from prophase.trace.identity.job_identity import with_identity
from prophase.trace.prices import Prices

_HOUR_S, _MIB_PER_GIB = 3600.0, 1024
#: columns the replay reads: the rungs, and the peak of jobs that follow the recommendation
RUNGS = ("advised_1", "advised_2", "advised_3")
PEAK = "advised_peak"
_TASK, _CODE = "advised_task", "advised_code"


@dataclass(frozen=True)
class ProofJobs:
    """The jobs of a history as both replays meet them.

    Attributes
    ----------
    today : Workload
        Today's requests; its job table tells per job the task, what it used and asked for.
    left_out : dict
        Reason -> jobs that keep today's request in both replays.
    """

    today: Workload
    resource: str
    left_out: dict[str, int]
    #: whether the trace has a clock, so that waits mean something
    timed: bool

    @cached_property
    def tasks(self) -> Any:
        """The task of every job that can follow a recommendation; empty for the others."""
        return self.today.jobs[_TASK].to_numpy(object)

    def following(self, advice: Candidate) -> Any:
        """Return the tasks again; empty where a job runs another version of its task's code."""
        codes = {name: number_of_code(one.code) for name, one in advice.tasks.items() if one.code}
        learnt = np.array([codes.get(task, np.nan) for task in self.tasks], float)
        own = self.today.jobs[_CODE].to_numpy(float)
        return np.where(np.isfinite(learnt) & np.isfinite(own) & (own != learnt), "", self.tasks)


@dataclass(frozen=True)
class Reserved:
    """What jobs hold, over all their attempts; one value per job of the workload."""

    #: amount x hours of the resource that is sized
    amount_h: Floats
    memory_gib_h: Floats
    core_h: Floats
    gpu_h: Floats
    kills: Floats

    def cost(self, workload: Workload, prices: Prices) -> Floats:
        """Return what each job costs."""
        gpu_price = np.zeros(len(self.gpu_h))
        if (self.gpu_h > 0).any():
            kinds = workload.jobs.get("gpu_type")
            named = [""] * len(gpu_price) if kinds is None else kinds.fillna("").astype(str)
            codes, names = pd.factorize(np.asarray(named, object))
            used = set(codes[self.gpu_h > 0].tolist())
            per = [prices.of_gpu(n) if i in used else 0.0 for i, n in enumerate(names)]
            gpu_price = np.asarray(per)[codes]
        cost: Floats = (
            self.gpu_h * gpu_price
            + self.core_h * prices.core_hour
            + self.memory_gib_h * prices.gib_hour
        )
        return cost


def subject_of(jobs: pd.DataFrame, resource: str = "memory") -> ProofJobs:
    """Take a history; say which of its jobs can follow a recommendation.

    Jobs whose need is not known (no measured peak, failed, still running) and those that ask
    for nothing today keep what they have in both replays.
    """
    what = RESOURCES[resource]
    jobs = with_identity(jobs)
    usable = task_runs(jobs, track="strict", resource=resource)
    followers = {run.job_id: code_number(run.features) for run in usable.runs}
    jobs = jobs.reset_index(drop=True)
    timed = any(c in jobs and jobs[c].notna().any() for c in ("submit_s", "start_s"))
    if not timed:
        jobs = jobs.assign(submit_s=np.arange(len(jobs), dtype=float))
    if "duration_s" not in jobs or not jobs["duration_s"].notna().any():
        # as in the back-test of a recommendation: every run counts the same
        jobs = jobs.assign(duration_s=_HOUR_S)
    names = known_before(jobs, "strict", what)[0]
    asked = np.isfinite(what.requested(jobs))
    if resource == "time":
        jobs = jobs.assign(time_limit_s=_limits_s(jobs))
    ids = jobs["job_id"].astype(str)
    measured = ids.isin(followers).to_numpy(bool)
    left_out = dict(usable.left_out)
    if (measured & ~asked).any():
        left_out["no request today to compare with"] = int((measured & ~asked).sum())
    follows = measured & asked
    if not follows.any():
        raise InputError(
            f"no finished job has both a measured peak ({what.use_column}) and a request "
            f"({what.request_column}): there is nothing to compare a recommendation with."
        )
    marked = jobs.assign(
        **{
            _TASK: np.where(follows, np.asarray(names, object), ""),
            PEAK: np.where(follows, what.used(jobs), np.nan),
            _CODE: ids.map(followers).to_numpy(float),
        }
    )
    return ProofJobs(Workload.from_jobs(marked), resource, left_out, timed)


def with_candidate(subject: ProofJobs, advice: Candidate, most: float | None = None) -> Workload:
    """Return the workload in which tasks ask for what is recommended.

    Memory gets the columns of a ladder, other resources another request. ``most`` is the
    largest amount a node has: no rung above it could ever start.
    """
    rungs = _rungs(subject, advice, most)
    jobs = subject.today.jobs
    if subject.resource in ("memory", "time"):
        own = RESOURCES[subject.resource].requested(jobs)
        follows = np.isfinite(rungs[:, 0])
        columns = {
            name: np.where(follows, rungs[:, place], own) for place, name in enumerate(RUNGS)
        }
        peak = np.where(follows, jobs[PEAK].to_numpy(float), np.nan)
        if most is not None:
            # measured above any node: what is left of memory when it ran holds it again
            peak = np.minimum(peak, np.fmax(most, own))
        changed = jobs.assign(**columns, **{PEAK: peak})
        if subject.resource == "time":
            changed = _with_limits(changed)
    else:
        column = RESOURCES[subject.resource].request_column
        own = jobs[column].to_numpy(float)
        first = rungs[:, 0]
        changed = jobs.assign(**{column: np.where(np.isfinite(first), first, own)})
    return Workload.from_jobs(changed)


def reserved(workload: Workload, resource: str, ladder: Ladder | None) -> Reserved:
    """Return what every job of a workload holds.

    Parameters
    ----------
    ladder : Ladder or None
        How memory is asked for again after a kill; None: nothing is killed.
    """
    asks, run_s = workload.asks, workload.duration_s
    jobs = len(workload)
    if ladder is None:
        job, rung_asks, work = np.arange(jobs), asks, run_s
        rungs = np.ones(jobs, np.int64)
    else:
        rungs, rung_asks, work = ladder.climb(workload, asks)
        job = np.repeat(np.arange(jobs), rungs)
    hours = work / _HOUR_S * rung_asks[:, ASK_INSTANCES]

    def summed(amount: Any) -> Floats:
        return np.bincount(job, amount * hours, jobs).astype(np.float64)

    memory = summed(rung_asks[:, ASK_MEMORY] / _MIB_PER_GIB)
    cores = summed(rung_asks[:, ASK_CPU] / 1000)
    gpus = summed(rung_asks[:, ASK_GPUS] * rung_asks[:, ASK_MILLI] / 1000)
    kills = (rungs - 1).astype(np.float64)
    if resource == "time":
        limits_h = _limit_hours(workload, ladder)
        return Reserved(limits_h, memory, cores, gpus, kills)
    amount = {"memory": memory, "cpu": cores, "gpu": gpus}[resource]
    if resource != "memory":
        # nobody is killed for too few cores or GPUs: such a job is slower than it was
        short = RESOURCES[resource].requested(workload.jobs) < workload.jobs[PEAK].to_numpy(float)
        kills = short.astype(np.float64)
    return Reserved(amount, memory, cores, gpus, kills)


def climbing(resource: str, fails_after: float = 1.0) -> Ladder | None:
    """Return the ladder that both the sums and the replay climb; None if nobody is killed."""
    if resource == "time":
        # a limit kills when it is reached, wherever that is in the run
        return LimitLadder(columns=RUNGS, peak=PEAK)
    if resource == "memory":
        return Ladder(columns=RUNGS, peak=PEAK, fails_after=fails_after)
    return None


def _limits_s(jobs: pd.DataFrame) -> Floats:
    """Return time limits; a job without one may take as long as the longest limit, or run."""
    limits: Floats = RESOURCES["time"].requested(jobs) * _HOUR_S
    if not np.isfinite(limits).any():
        return limits
    longest = np.fmax(np.nanmax(limits), RESOURCES["time"].used(jobs) * _HOUR_S)
    held: Floats = np.where(np.isfinite(limits), limits, longest)
    return held


def _with_limits(jobs: pd.DataFrame) -> pd.DataFrame:
    """Let backfilling plan each job with the limit of the attempt that holds."""
    workload = Workload.from_jobs(jobs)
    rungs, _, limits_s = LimitLadder(columns=RUNGS, peak=PEAK).limits(workload)
    held = limits_s[np.cumsum(rungs) - 1]
    return workload.jobs.assign(time_limit_s=np.where(np.isfinite(held), held, np.nan))


def _limit_hours(workload: Workload, ladder: Ladder | None) -> Floats:
    """Return the hours of time limits that each job asks for, over its attempts and instances."""
    if isinstance(ladder, LimitLadder):
        _, job, limits_s = ladder.limits(workload)
    else:
        job = np.arange(len(workload))
        limits_s = workload.jobs["time_limit_s"].to_numpy(float)
    limits_h = np.where(np.isfinite(limits_s), limits_s, 0.0) / _HOUR_S
    limits_h = limits_h * workload.asks[job, ASK_INSTANCES]
    return np.bincount(job, limits_h, len(workload)).astype(np.float64)


def predicted_saving(subject: ProofJobs, advice: Candidate, today: Reserved) -> Floats:
    """Return per job how much of its amount x hours the recommendation promises to save."""
    share = {
        name: one.saving if one.saving == one.saving else np.nan
        for name, one in advice.changed.items()
    }
    shares = np.array([share.get(task, 0.0) for task in subject.following(advice)], float)
    unknown = np.isnan(shares)
    if unknown.any():
        # nothing was predicted: what the first request leaves of today's
        own = RESOURCES[subject.resource].requested(subject.today.jobs)
        first = _rungs(subject, advice, None)[:, 0]
        shares = np.where(unknown, 1.0 - first / own, shares)
    saved: Floats = shares * today.amount_h
    return saved


def _rungs(subject: ProofJobs, advice: Candidate, most: float | None) -> Floats:
    """Return the ladder of every job; NaN where it keeps its request."""
    ladders = {}
    for name, one in advice.changed.items():
        steps = list(one.ladder[: len(RUNGS)])
        while len(steps) < len(RUNGS):
            steps.append(2.0 * steps[-1])
        ladders[name] = steps
    nothing = [np.nan] * len(RUNGS)
    rungs = np.array([ladders.get(task, nothing) for task in subject.following(advice)], float)
    if subject.resource == "time":
        # a job with a shorter limit keeps it
        own = RESOURCES["time"].requested(subject.today.jobs)
        rungs = np.where((own <= rungs[:, 0])[:, None], np.nan, rungs)
    if most is not None:
        own = RESOURCES[subject.resource].requested(subject.today.jobs)
        rungs = np.minimum(rungs, np.fmax(most, own)[:, None])
    return rungs
