"""The queue of waiting jobs, kept in the order of their keys."""

from __future__ import annotations

import numpy as np

from prophase.sim.compilation import njit
from prophase.sim.kernels.dynamic.array_layout import (
    KINDS,
    RUNNING,
    SORTED,
    WAITING,
    WAITING_ROWS,
)
from prophase.sim.kernels.dynamic.running_jobs import update_progress
from prophase.sim.kernels.dynamic.usage_and_quotas import update_usage
from prophase.sim.signatures import ASK_INSTANCES, LOOP


@njit(**LOOP)
def join_queue(job, jobs, queue, rules, counts):
    """Put a job at the end of the queue; the next pass sorts it in."""
    if rules.keys_move:
        queue.keys[job] = np.nan
    shape = jobs.shape_of[job]
    queue.jobs[counts[WAITING]] = job
    counts[WAITING] += 1
    counts[WAITING_ROWS] += jobs.asks[shape, ASK_INSTANCES]
    counts[KINDS] += queue.per_shape[shape] == 0
    queue.per_shape[shape] += 1


@njit(**LOOP)
def leave_queue(shape, jobs, queue, counts):
    """Count out a job that starts; its place in the queue is the pass's affair."""
    counts[WAITING_ROWS] -= jobs.asks[shape, ASK_INSTANCES]
    queue.per_shape[shape] -= 1
    if queue.per_shape[shape] == 0:
        counts[KINDS] -= 1


@njit(**LOOP)
def find_keys(fresh, now, order, jobs, owners, queue, running, rules, counts):
    """Ask the order for the keys of all waiting jobs, and of those that could be preempted.

    Between two evaluations (not ``fresh``) only jobs that have just come are given a key, and in
    an order whose keys move only while jobs run (``rules.still``) the others keep theirs.
    """
    if not rules.keys_move:
        return
    keys, usage = queue.keys, owners.table
    if not rules.still:
        for owner in range(usage.shape[0]):
            update_usage(usage, owner, now, rules.half_life_s)
    if fresh:
        order.refresh(usage, now, order.facts)
    for place in range(counts[SORTED], counts[WAITING]):
        job = queue.jobs[place]
        if (fresh and not rules.still) or np.isnan(keys[job]):
            keys[job] = order.key(jobs.table, job, usage, now, order.facts)
    if fresh and rules.preempt and not rules.alike:
        for place in range(counts[RUNNING]):
            job = running.jobs[place]
            update_progress(jobs.table, job, now)
            keys[job] = order.key(jobs.table, job, usage, now, order.facts)
