"""The line of waiting jobs, kept in the order of their keys."""

from __future__ import annotations

import numpy as np
from numba import njit

from prophase.sim.kernels.dynamic.array_layout import (
    KINDS,
    RULE_HALF_LIFE,
    RULE_MOVES,
    RULE_PREEMPT,
    RUNNING,
    WAITING,
)
from prophase.sim.kernels.dynamic.running_jobs import update_progress
from prophase.sim.kernels.dynamic.usage_and_quotas import update_usage
from prophase.sim.signatures import JOB_KEY, KEY, REFRESH, Floats


@njit(cache=True)
def join_queue(line, keys, rules, queued, shape_of, job, counts):
    """Put a job at the end of the line; the next pass sorts it in."""
    if rules[RULE_MOVES] != 0:
        keys[job] = np.nan
    line[counts[WAITING]] = job
    counts[WAITING] += 1
    counts[KINDS] += queued[shape_of[job]] == 0
    queued[shape_of[job]] += 1


@njit(cache=True)
def find_keys(
    fresh, key, refresh, order_facts, jobs, owners, rules, line, runners, keys, counts, now
):
    """Ask the order for the keys of all who wait, and of those who could be pushed out.

    Between two looks (not ``fresh``) only jobs that have just come are given a key.
    """
    if rules[RULE_MOVES] == 0:
        return
    for owner in range(owners.shape[0]):
        update_usage(owners, owner, now, rules[RULE_HALF_LIFE])
    if fresh:
        refresh(owners, now, order_facts)
    for place in range(counts[WAITING]):
        if fresh or np.isnan(keys[line[place]]):
            keys[line[place]] = key(jobs, line[place], owners, now, order_facts)
    if fresh and rules[RULE_PREEMPT] != 0:
        for place in range(counts[RUNNING]):
            job = runners[place]
            update_progress(jobs, job, now)
            keys[job] = key(jobs, job, owners, now, order_facts)


@njit(cache=True)
def sort_queue(line, keys, counts):
    """Order the line by key, and by submission among equals."""
    waiting = counts[WAITING]
    for place in range(1, waiting):
        one, other = line[place - 1], line[place]
        if keys[one] > keys[other] or (keys[one] == keys[other] and one > other):
            break
    else:
        return
    jobs = np.sort(line[:waiting])
    line[:waiting] = jobs[np.argsort(keys[jobs], kind="mergesort")]


@njit(KEY, cache=True)
def by_key(jobs: Floats, job: int, owners: Floats, now: float, facts: Floats) -> float:
    """Return the key the job came with."""
    return jobs[job, JOB_KEY]


@njit(REFRESH, cache=True)
def no_refresh(owners: Floats, now: float, facts: Floats) -> None:
    """Work nothing out beforehand."""
