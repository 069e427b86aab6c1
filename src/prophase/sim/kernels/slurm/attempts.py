"""Attempts of jobs: how they begin and end, and who waits for that."""

from __future__ import annotations

import numpy as np

from prophase.sim.compilation import njit
from prophase.sim.kernels.dynamic.array_layout import (
    ARRIVED,
    ATTEMPT_END,
    ATTEMPT_JOB,
    ATTEMPT_LOST,
    ATTEMPT_OUTCOME,
    ATTEMPT_ROW,
    ATTEMPT_START,
    ATTEMPTS,
    ROWS,
    RUNNING,
    WAITING,
)
from prophase.sim.kernels.dynamic.event_heap import cancel_end, set_end
from prophase.sim.kernels.dynamic.usage_and_quotas import charge_owner
from prophase.sim.kernels.queue_heaps import push_end
from prophase.sim.kernels.slurm.array_layout import (
    CORES,
    DIRTY,
    GPUS,
    LATER,
    LEFT,
    LEFT_ROWS,
    MEMORY,
    ON_GPUS,
    ON_NODE,
    TAKEN,
    UNSORTED,
)
from prophase.sim.kernels.slurm.limits import charge_limits
from prophase.sim.kernels.slurm.node_readiness import note_change
from prophase.sim.signatures import (
    ASK_CPU,
    ASK_GPUS,
    ASK_INSTANCES,
    ASK_MEMORY,
    JOB_BELIEVED,
    JOB_CHARGE,
    JOB_ESTIMATE,
    JOB_OVERHEAD,
    JOB_REMAINING,
    JOB_STARTED,
    JOB_SUBMIT,
    JOB_USER,
    LOOP,
    OWNER_PARENT,
    OWNER_USAGE,
)


@njit(**LOOP)
def join_queue(job, now, jobs, queue, counts):
    """Put a job into the queue, or aside until its time has come."""
    if jobs.waits_for[job] > 0:
        return
    if jobs.begin_s[job] > now:
        begin = jobs.begin_s[job]
        counts[LATER] = push_end(queue.later_s, queue.later, counts[LATER], begin, job)
        return
    queue.keys[job] = np.nan
    queue.jobs[counts[WAITING]] = job
    counts[WAITING] += 1
    counts[DIRTY] = counts[UNSORTED] = 1


@njit(**LOOP)
def _free_followers(job, now, on_start, jobs, queue, counts):
    """Let the jobs go on that waited for this one's start or end."""
    for place in range(jobs.follower_first[job], jobs.follower_first[job + 1]):
        if jobs.follows_start[place] != on_start:
            continue
        other = jobs.followers[place]
        jobs.waits_for[other] -= 1
        # those yet to be submitted will join then
        if jobs.waits_for[other] == 0 and other < counts[ARRIVED]:
            join_queue(other, now, jobs, queue, counts)


@njit(**LOOP)
def _take_gpus(free, node, gpus):
    """Mark the first GPUs of a node that nobody uses as taken; return them as bits."""
    bits, place = 0, 0
    while gpus > 0 and place < 63:
        if not (free[node, TAKEN] >> place) & 1:
            bits |= 1 << place
            gpus -= 1
        place += 1
    free[node, TAKEN] |= bits
    return bits


@njit(**LOOP)
def begin_attempt(job, now, jobs, owners, nodes, queue, running, plan, rules, counts):
    """Start a job on the nodes in ``plan.chosen``."""
    table, asks, shape = jobs.table, jobs.asks, jobs.shape_of[job]
    instances, row = asks[shape, ASK_INSTANCES], counts[ROWS]
    for place in range(instances):
        node = plan.chosen[place]
        nodes.free[node, CORES] -= asks[shape, ASK_CPU]
        nodes.free[node, MEMORY] -= asks[shape, ASK_MEMORY]
        nodes.free[node, GPUS] -= asks[shape, ASK_GPUS]
        running.placed[row, ON_NODE] = node
        running.placed[row, ON_GPUS] = _take_gpus(nodes.free, node, asks[shape, ASK_GPUS])
        running.job_at[row] = job
        running.after[row] = running.first_on[node]
        running.first_on[node] = row
        note_change(node, plan, counts)
        row += 1
    attempt = counts[ATTEMPTS]
    jobs.row_of[job], jobs.attempt_of[job] = counts[ROWS], attempt
    running.record[attempt, ATTEMPT_JOB] = job
    running.record[attempt, ATTEMPT_ROW] = counts[ROWS]
    running.times[attempt, ATTEMPT_START] = now
    counts[ROWS], counts[ATTEMPTS] = row, attempt + 1
    running.place_of[job] = counts[RUNNING]
    running.jobs[counts[RUNNING]] = job
    counts[RUNNING] += 1
    charge_limits(job, jobs, owners, 1)
    charge_owner(owners, table, job, asks, shape, 1, now, rules.half_life_s)
    is_first = table[job, JOB_STARTED] == -np.inf
    table[job, JOB_STARTED] = now
    table[job, JOB_BELIEVED] = now + table[job, JOB_OVERHEAD] + table[job, JOB_ESTIMATE]
    for place in range(instances):
        _find_ends(plan.chosen[place], table, running)
    set_end(running, counts, job, now + table[job, JOB_REMAINING] + rules.turnaround_s)
    if is_first:
        _free_followers(job, now, 1, jobs, queue, counts)


@njit(**LOOP)
def _take_back_usage(job, now, table, usage, rules):
    """Take back what a job that ends was charged for since priorities were last evaluated."""
    origin = table[0, JOB_SUBMIT] - rules.clock_s
    evaluated = origin + np.floor((now - origin) / rules.rekey_s) * rules.rekey_s
    passed = now - max(evaluated, table[job, JOB_STARTED])
    if rules.half_life_s > 0:
        fade = np.log(2.0) / rules.half_life_s
        passed = (1.0 - np.exp(-fade * passed)) / fade
    owner = int(table[job, JOB_USER])
    while owner >= 0:
        left = usage[owner, OWNER_USAGE] - passed * table[job, JOB_CHARGE]
        # no dust: who has used nothing goes first
        usage[owner, OWNER_USAGE] = left if left > 1e-6 else 0.0
        owner = int(usage[owner, OWNER_PARENT])


@njit(**LOOP)
def stop_attempt(job, now, outcome, jobs, owners, nodes, running, plan, rules, counts):
    """End an attempt at an instant and give back what it held."""
    asks, shape, first = jobs.asks, jobs.shape_of[job], jobs.row_of[job]
    for row in range(first, first + asks[shape, ASK_INSTANCES]):
        node = running.placed[row, ON_NODE]
        nodes.free[node, CORES] += asks[shape, ASK_CPU]
        nodes.free[node, MEMORY] += asks[shape, ASK_MEMORY]
        nodes.free[node, GPUS] += asks[shape, ASK_GPUS]
        nodes.free[node, TAKEN] &= ~running.placed[row, ON_GPUS]
        _unlink(row, node, running)
        _find_ends(node, jobs.table, running)
        note_change(node, plan, counts)
    counts[RUNNING] -= 1
    last = running.jobs[counts[RUNNING]]
    running.jobs[running.place_of[job]] = last
    running.place_of[last] = running.place_of[job]
    running.place_of[job] = -1
    cancel_end(running, counts, job)
    charge_limits(job, jobs, owners, -1)
    charge_owner(owners, jobs.table, job, asks, shape, -1, now, rules.half_life_s)
    if rules.keys_move and not rules.ends_count:
        _take_back_usage(job, now, jobs.table, owners.table, rules)
    attempt = jobs.attempt_of[job]
    running.record[attempt, ATTEMPT_OUTCOME] = outcome
    ended = now - rules.turnaround_s if outcome == 0 else now
    ended = max(ended, running.times[attempt, ATTEMPT_START])
    running.times[attempt, ATTEMPT_END] = ended
    if outcome != 0:
        running.times[attempt, ATTEMPT_LOST] = ended - running.times[attempt, ATTEMPT_START]
    counts[DIRTY] = 1


@njit(**LOOP)
def _find_ends(node, table, running):
    """Find when the first and the last job of a node are believed to end."""
    first, last, row = np.inf, -np.inf, running.first_on[node]
    while row >= 0:
        believed = table[running.job_at[row], JOB_BELIEVED]
        first, last = min(first, believed), max(last, believed)
        row = running.after[row]
    running.first_end_s[node], running.last_end_s[node] = first, last


@njit(**LOOP)
def _unlink(row, node, running):
    """Take an instance off the list of its node."""
    if running.first_on[node] == row:
        running.first_on[node] = running.after[row]
        return
    before = running.first_on[node]
    while running.after[before] != row:
        before = running.after[before]
    running.after[before] = running.after[row]


@njit(**LOOP)
def finish(job, now, jobs, queue, counts):
    """Count out a job that has ended, and let the jobs go on that waited for that."""
    counts[LEFT] -= 1
    counts[LEFT_ROWS] -= jobs.asks[jobs.shape_of[job], ASK_INSTANCES]
    _free_followers(job, now, 0, jobs, queue, counts)
