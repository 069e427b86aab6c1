"""A trace like Alibaba's PAI cluster of 2020, with the profile of every task known.

One row of the job table is one task of a job: ``instances`` identical workers that
start together. ``write_raw`` writes one row per worker, as the published tables do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from prophase.trace.synth import pai_world as world
from prophase.trace.synth.cluster import nodes_of
from prophase.trace.synth.generator import (
    Flags,
    Floats,
    Ints,
    TraceGenerator,
    check_range,
    chosen,
    numbered,
    seeded,
    synthetic_trace,
    where_known,
)
from prophase.trace.synth.pai_groups import Groups, make_groups
from prophase.trace.synth.pai_load import DAY_S, clock_of_load, inventory_for, times_at
from prophase.trace.synth.pai_tasks import GroupTasks, machine_metrics, make_tasks, usage
from prophase.trace.trace_tables import Trace

#: Monday 5 January 1970, 00:00: hour and weekday can be read off the clock, no date is meant
START_S = 4 * DAY_S
#: a gang may hold about a quarter of the GPUs that so many jobs a day keep busy
_GANG_GPUS_PER_DAILY_JOB = 0.05
#: parameter servers and evaluators against the workers of their job
_ROLE_DURATION = np.array([1.02, 1.0, 0.45, 1.01, 1.0, 1.0])


@dataclass(frozen=True)
class _Rows:
    """One entry per row of the job table: which job, and which task of which group."""

    job: Ints
    task: Ints
    group: Ints


@dataclass(frozen=True)
class _Runs:
    """How each row ran; arrays are aligned with the rows."""

    typical_s: Floats
    full_s: Floats
    duration_s: Floats
    wait_s: Floats
    start_s: Floats
    started: Flags
    ended: Flags
    failed: Flags


def make_pai(
    jobs: int = 10_000,
    *,
    days: float = 28.0,
    utilisation: float = 0.7,
    burst_sd: float = 0.45,
    random_state: int = 0,
) -> Trace:
    """Return a PAI-like trace: jobs, nodes, and the latent profile of every row as truth.

    Parameters
    ----------
    jobs : int, default=10_000
        Number of jobs. The table has about 1.2 rows per job, one for each task.
    days : float, default=28.0
        Length of the trace. It starts on a Monday; what has not ended by then is censored.
    utilisation : float, default=0.7
        Share of GPUs that the requests keep busy on average. The node inventory has PAI's
        mix of types and is sized to meet it.
    burst_sd : float, default=0.45
        Spread of the logarithm of the arrival rate around its daily and weekly pattern.

    Examples
    --------
    >>> trace = make_pai(jobs=500)
    >>> trace.jobs["parent_id"].nunique()
    500
    >>> list(trace.truth)
    ['truth_profiles']
    """
    check_range("pai: jobs", jobs, 20, 50_000_000)
    check_range("pai: days", days, 1, 3660)
    check_range("pai: utilisation", utilisation, 0.01, 2)
    check_range("pai: burst_sd", burst_sd, 0, 3)
    rng = seeded(random_state)
    groups = make_groups(rng, jobs)
    tasks = make_tasks(rng, groups, largest_gpus=_GANG_GPUS_PER_DAILY_JOB * jobs / days)
    submit_s, group_of_job = _submissions(rng, groups, days, burst_sd)
    rows = _rows(group_of_job, tasks)
    runs = _run_times(rng, groups, tasks, rows, submit_s, days)
    off_profile = rng.random(len(rows.task)) < world.OFF_PROFILE_SHARE
    profile = np.where(off_profile, tasks.other_profile[rows.task], tasks.profile[rows.task])
    use = usage(rng, tasks, rows.task, rows.group, profile, runs.started)
    demand = _demand_s(tasks, rows, runs, days)
    kinds = inventory_for(tasks, rows.task, demand, days * DAY_S, utilisation)
    nodes = nodes_of(kinds, rng)
    frame = _job_table(groups, tasks, rows, submit_s, runs, use)
    frame |= machine_metrics(rng, nodes, tasks.given_type[rows.task], use, runs.started)
    truth = pd.DataFrame(
        {
            "job_id": frame["job_id"],
            "profile": profile.astype(float),
            "profile_name": chosen([p.name for p in world.PROFILES], profile),
            "typical_duration_s": runs.typical_s,
            "full_duration_s": runs.full_s,
        }
    )
    parameters = {"jobs": jobs, "days": days, "utilisation": utilisation, "burst_sd": burst_sd}
    return synthetic_trace(
        "pai",
        {"jobs": pd.DataFrame(frame), "nodes": nodes},
        parameters,
        random_state=random_state,
        truth={"truth_profiles": truth},
    )


def _submissions(
    rng: np.random.Generator, groups: Groups, days: float, burst_sd: float
) -> tuple[Floats, Ints]:
    """Return when each job is submitted, in order of time, and its group.

    A group lives for a part of the trace. Ranking all jobs inside the lives and reading
    times off the load clock keeps the daily pattern whatever the lives are.
    """
    count = len(groups.runs)
    life = np.where(rng.random(count) < 0.4, 1.0, rng.random(count) ** 2)
    birth = rng.random(count) * (1 - life)
    group = np.repeat(np.arange(count), groups.runs)
    moment = birth[group] + life[group] * rng.random(len(group))
    shares = np.empty(len(group))
    shares[np.argsort(moment, kind="stable")] = (np.arange(len(group)) + 0.5) / len(group)
    times = times_at(shares, clock_of_load(rng, days, burst_sd=burst_sd))
    # people submit in batches: a quarter of the runs follow the previous one of their group
    order = np.lexsort((times, group))
    new_group = np.diff(group[order], prepend=-1) != 0
    follows = (rng.random(len(group)) < 0.25) & ~new_group
    leader = np.maximum.accumulate(np.where(follows, 0, np.arange(len(group))))
    lag = (np.arange(len(group)) - leader) * rng.exponential(20.0, len(group))
    batched = np.empty(len(group))
    batched[order] = times[order][leader] + lag
    whole = np.floor(np.minimum(batched, days * DAY_S - 1))
    by_time = np.argsort(whole, kind="stable")
    return START_S + whole[by_time], group[by_time]


def _rows(group_of_job: Ints, tasks: GroupTasks) -> _Rows:
    """Return one row per job and task."""
    count = tasks.count[group_of_job]
    job = np.repeat(np.arange(len(group_of_job)), count)
    within = np.arange(len(job)) - np.repeat(np.cumsum(count) - count, count)
    group = group_of_job[job]
    return _Rows(job, tasks.first[group] + within, group)


def _run_times(
    rng: np.random.Generator, groups: Groups, tasks: GroupTasks, rows: _Rows, submit_s: Floats,
    days: float,
) -> _Runs:  # fmt: skip
    """Return waits, durations and how each row ended; tasks of one job start together."""
    level = np.log(np.array([p.duration_s for p in world.PROFILES]))
    jobs = len(submit_s)
    lead = tasks.profile[tasks.first + tasks.count - 1]
    typical = (
        np.exp(level[lead] + groups.log_level)[rows.group] * _ROLE_DURATION[tasks.role[rows.task]]
    )
    noise = rng.normal(0.0, 1.0, jobs)[rows.job] * groups.noise_sd[rows.group]
    longest = np.floor(world.LONGEST_S / np.sqrt(tasks.instances[rows.task]))
    full = np.clip(np.round(typical * np.exp(noise)), 1.0, longest)
    fails = (rng.random(jobs) < groups.failing[rows.group[_first_rows(rows)]])[rows.job]
    broken_off = rng.random(jobs)[rows.job]
    duration = np.where(fails, np.maximum(np.floor(full * broken_off), 1.0), full)
    wait = _waits(rng, tasks, rows, jobs)
    start = submit_s[rows.job] + wait
    horizon = START_S + days * DAY_S
    started = start < horizon
    ended = started & (start + duration <= horizon)
    return _Runs(typical, full, duration, wait, start, started, ended, ended & fails)


def _first_rows(rows: _Rows) -> Ints:
    return np.flatnonzero(np.diff(rows.job, prepend=-1))


def _waits(rng: np.random.Generator, tasks: GroupTasks, rows: _Rows, jobs: int) -> Floats:
    """Draw the wait of each job: long and uneven for V100s, short for older GPUs."""
    given = tasks.given_type[rows.task]
    v100 = np.zeros(jobs, dtype=bool)
    high = [place for place, name in enumerate(world.GPU_TYPES) if name.startswith("V100")]
    np.logical_or.at(v100, rows.job, np.isin(given, high))
    (low_median, low_p90), (high_median, high_p90) = world.WAIT_OLDER_GPUS, world.WAIT_V100
    z90 = 1.2815515655446004
    median = np.where(v100, high_median, low_median)
    sd = np.log(np.where(v100, high_p90, low_p90) / median) / z90
    wait = median * np.exp(sd * rng.normal(0.0, 1.0, jobs))
    whole: Floats = np.floor(np.minimum(wait, world.LONGEST_WAIT_S))
    return whole[rows.job]


def _demand_s(tasks: GroupTasks, rows: _Rows, runs: _Runs, days: float) -> Floats:
    """Seconds that each row holds its request inside the trace, times its instances."""
    left = START_S + days * DAY_S - runs.start_s
    held = np.minimum(runs.duration_s, np.maximum(left, 0.0))
    return np.asarray(held * tasks.instances[rows.task])


def _job_table(
    groups: Groups, tasks: GroupTasks, rows: _Rows, submit_s: Floats,
    runs: _Runs, use: dict[str, Floats],
) -> dict[str, object]:  # fmt: skip
    task = rows.task
    role = chosen(world.ROLES, tasks.role[task])
    state = np.select([~runs.started, ~runs.ended, runs.failed], [3, 2, 1], 0)
    return {
        "job_id": numbered("job-", rows.job, suffix=role),
        "parent_id": numbered("job-", rows.job),
        "user": numbered("user-", groups.user[rows.group]),
        "group": numbered("group-", rows.group),
        "workload": chosen(world.WORKLOADS, groups.workload[rows.group]),
        "task": role,
        "source": chosen(["synth-pai"], np.zeros(len(task), dtype=np.int64)),
        "submit_s": submit_s[rows.job],
        "start_s": where_known(runs.start_s, runs.started),
        "end_s": where_known(runs.start_s + runs.duration_s, runs.ended),
        "duration_s": where_known(runs.duration_s, runs.ended),
        "wait_s": where_known(runs.wait_s, runs.started),
        "status": chosen(["completed", "failed", "running", "pending"], state.astype(np.int64)),
        "instances": tasks.instances[task].astype(float),
        "gang_size": tasks.instances[task].astype(float),
        "request_cpu_cores": tasks.cpu_cores[task],
        "request_memory_gib": tasks.memory_gib[task],
        "request_gpus": tasks.gpus[task],
        "gpu_type": chosen(world.GPU_TYPES, tasks.demanded_type[task]),
        **use,
        "after_gpu_type": chosen(["CPU", *world.GPU_TYPES], tasks.given_type[task] + 1),
    }


GENERATOR = TraceGenerator(
    "pai",
    "an ML cluster like Alibaba PAI 2020, with latent profiles as truth",
    make_pai,
    {
        "jobs": "number of jobs; about 1.2 rows each",
        "days": "length of the trace, from a Monday on",
        "utilisation": "share of GPUs kept busy on average; sizes the node inventory",
        "burst_sd": "how bursty arrivals are; 0 leaves only the daily and weekly pattern",
    },
)
