"""Attempts: how they begin and end, and how fast they run.

A job runs at the speed of its GPU type, slowed by neighbours on its GPUs. ``tenants`` has a row
per node and, for each of its GPUs, as many places as jobs can share one.
"""

from __future__ import annotations

import math

import numpy as np

from prophase.sim.attempts import FINISHED, OUT_OF_MEMORY
from prophase.sim.compilation import njit
from prophase.sim.kernels.dynamic.array_layout import (
    ATTEMPT_END,
    ATTEMPT_JOB,
    ATTEMPT_LOST,
    ATTEMPT_OUTCOME,
    ATTEMPT_ROW,
    ATTEMPT_RUNG,
    ATTEMPT_START,
    ATTEMPTS,
    ROWS,
    RUNNING,
    RUNNING_ROWS,
)
from prophase.sim.kernels.dynamic.event_heap import cancel_end, set_end
from prophase.sim.kernels.dynamic.usage_and_quotas import charge_owner, charge_quota
from prophase.sim.kernels.gang_placement import ON_GPUS, ON_NODE, free_rows
from prophase.sim.signatures import (
    ASK_INSTANCES,
    GPU_TYPE,
    JOB_ATTAINED,
    JOB_BELIEVED,
    JOB_DONE,
    JOB_ESTIMATE,
    JOB_KIND,
    JOB_LEFT,
    JOB_LOOKED,
    JOB_OVERHEAD,
    JOB_RATE,
    JOB_REMAINING,
    JOB_STARTED,
    LOOP,
)


@njit(**LOOP)
def work_left(table, job, passed):
    """Return the work that a running job has still to do when some time has passed."""
    done = table[job, JOB_DONE] + passed * table[job, JOB_RATE]
    useful = max(0.0, done - table[job, JOB_OVERHEAD])
    return max(0.0, table[job, JOB_LEFT] - useful)


@njit(**LOOP)
def update_progress(table, job, now):
    """Bring the work a running job has done up to now."""
    passed = now - table[job, JOB_LOOKED]
    if passed > 0:
        table[job, JOB_REMAINING] = work_left(table, job, passed)
        table[job, JOB_DONE] += passed * table[job, JOB_RATE]
        table[job, JOB_ATTAINED] += passed
        table[job, JOB_LOOKED] = now


@njit(**LOOP)
def _speed_of(job, jobs, nodes, placed, rules):
    """Return the speed of a job on the nodes and GPUs it was given: its slowest instance's."""
    if not rules.speeds_differ:
        return 1.0
    kind, row = int(jobs.table[job, JOB_KIND]), jobs.row_of[job]
    slowest = np.inf
    for place in range(row, row + jobs.asks[jobs.shape_of[job], ASK_INSTANCES]):
        node, bits = placed[place, ON_NODE], placed[place, ON_GPUS]
        if bits == 0:
            slowest = min(slowest, 1.0)
            continue
        own = nodes.speeds[kind, nodes.matrix[node, GPU_TYPE]]
        gpu = 0
        while bits:
            if bits & 1:
                speed = own
                if rules.neighbours:
                    for slot in range(gpu * nodes.slots, (gpu + 1) * nodes.slots):
                        other = nodes.tenants[node, slot]
                        if other >= 0 and other != job:
                            speed *= nodes.pairs[kind, int(jobs.table[other, JOB_KIND])]
                slowest = min(slowest, speed)
            bits >>= 1
            gpu += 1
    return slowest


@njit(**LOOP)
def _move_tenant(job, jobs, nodes, placed, comes):
    """Enter a job at the GPUs it was given, or strike it off."""
    old, new = (-1, job) if comes else (job, -1)
    row = jobs.row_of[job]
    for place in range(row, row + jobs.asks[jobs.shape_of[job], ASK_INSTANCES]):
        node, bits = placed[place, ON_NODE], placed[place, ON_GPUS]
        gpu = 0
        while bits:
            if bits & 1:
                for slot in range(gpu * nodes.slots, (gpu + 1) * nodes.slots):
                    if nodes.tenants[node, slot] == old:
                        nodes.tenants[node, slot] = new
                        break
            bits >>= 1
            gpu += 1


@njit(**LOOP)
def _pace(job, now, jobs, nodes, running, rules, counts):
    """Give a running job its new speed and end."""
    table = jobs.table
    speed, before = _speed_of(job, jobs, nodes, running.placed, rules), table[job, JOB_RATE]
    if speed == before:
        return
    update_progress(table, job, now)
    table[job, JOB_RATE] = speed
    ahead = table[job, JOB_BELIEVED] - now
    table[job, JOB_BELIEVED] = now + ahead * before / speed
    work = table[job, JOB_OVERHEAD] + table[job, JOB_LEFT]
    set_end(running, counts, job, now + max(0.0, work - table[job, JOB_DONE]) / speed)


@njit(**LOOP)
def _pace_neighbours(job, now, jobs, nodes, running, rules, counts):
    """Give the jobs that share a GPU with this one their new speeds and ends."""
    row = jobs.row_of[job]
    for place in range(row, row + jobs.asks[jobs.shape_of[job], ASK_INSTANCES]):
        node, bits = running.placed[place, ON_NODE], running.placed[place, ON_GPUS]
        gpu = 0
        while bits:
            if bits & 1:
                for slot in range(gpu * nodes.slots, (gpu + 1) * nodes.slots):
                    other = nodes.tenants[node, slot]
                    if other >= 0 and other != job:
                        _pace(other, now, jobs, nodes, running, rules, counts)
            bits >>= 1
            gpu += 1


@njit(**LOOP)
def begin_attempt(job, now, jobs, owners, nodes, running, rules, counts):
    """Start a job on the rows of ``placed`` that were just filled for it."""
    table, shape = jobs.table, jobs.shape_of[job]
    instances = jobs.asks[shape, ASK_INSTANCES]
    row = counts[ROWS]
    jobs.row_of[job] = row
    counts[ROWS] += instances
    counts[RUNNING_ROWS] += instances
    for place in range(row, row + instances):
        nodes.busy[running.placed[place, ON_NODE]] += 1
    attempt = counts[ATTEMPTS]
    counts[ATTEMPTS] += 1
    jobs.attempt_of[job] = attempt
    running.record[attempt, ATTEMPT_JOB], running.record[attempt, ATTEMPT_ROW] = job, row
    running.record[attempt, ATTEMPT_RUNG] = jobs.rung_of[job]
    running.times[attempt, ATTEMPT_START] = now
    running.place_of[job] = counts[RUNNING]
    running.jobs[counts[RUNNING]] = job
    counts[RUNNING] += 1
    charge_quota(owners, job, jobs.asks, shape, 1)
    charge_owner(owners, table, job, jobs.asks, shape, 1, now, rules.half_life_s)
    if rules.neighbours:
        _move_tenant(job, jobs, nodes, running.placed, True)
    speed = _speed_of(job, jobs, nodes, running.placed, rules)
    table[job, JOB_STARTED] = table[job, JOB_LOOKED] = now
    table[job, JOB_LEFT] = table[job, JOB_REMAINING]
    table[job, JOB_DONE] = 0.0
    table[job, JOB_RATE] = speed
    table[job, JOB_BELIEVED] = now + (table[job, JOB_OVERHEAD] + table[job, JOB_ESTIMATE]) / speed
    set_end(running, counts, job, now + (table[job, JOB_OVERHEAD] + table[job, JOB_LEFT]) / speed)
    if rules.neighbours:
        _pace_neighbours(job, now, jobs, nodes, running, rules, counts)


@njit(**LOOP)
def _keep_work(table, job, outcome, rules):
    """Keep what checkpoints saved of a stopped attempt; return the work that is lost."""
    done = table[job, JOB_DONE]
    if outcome == FINISHED:
        table[job, JOB_REMAINING] = 0.0
        return min(table[job, JOB_OVERHEAD], done)
    if outcome == OUT_OF_MEMORY:
        table[job, JOB_OVERHEAD] = 0.0
        return done
    saved = table[job, JOB_LEFT] - table[job, JOB_REMAINING]
    interval = rules.checkpoint_s
    if interval > 0:
        saved = math.floor(saved / interval) * interval if interval < math.inf else 0.0
    table[job, JOB_REMAINING] = table[job, JOB_LEFT] - saved
    table[job, JOB_ESTIMATE] = max(0.0, table[job, JOB_ESTIMATE] - saved)
    table[job, JOB_OVERHEAD] = rules.restart_s
    return done - saved


@njit(**LOOP)
def close_running_gap(running, place, last):
    """Move those behind a place of the ordered list up by one."""
    # of views, which begin at 0, the compiler moves many places at once
    listed, held = running.jobs[place : last + 1], running.held[place : last + 1]
    for to in range(last - place):
        listed[to] = listed[to + 1]
    for to in range(last - place):
        held[to] = held[to + 1]


@njit(**LOOP)
def open_running_gap(running, place, last):
    """Move those from a place of the ordered list on back by one."""
    listed, held = running.jobs[place : last + 1], running.held[place : last + 1]
    for to in range(last - place, 0, -1):
        listed[to] = listed[to - 1]
    for to in range(last - place, 0, -1):
        held[to] = held[to - 1]


@njit(**LOOP)
def _leave_running(job, running, rules, counts):
    """Take a job out of the list of those that run, and close its gap."""
    counts[RUNNING] -= 1
    listed, last, place = running.jobs, counts[RUNNING], running.place_of[job]
    running.place_of[job] = -1
    if not rules.alike:
        listed[place] = listed[last]
        running.place_of[listed[last]] = place
        return
    # in order: those that end, or make way, are mostly near one of the ends of their group
    group, ends = running.group_of[job], running.group_end
    place, back = ends[group - 1] if group > 0 else 0, ends[group] - 1
    while listed[place] != job:
        if listed[back] == job:
            place = back
            break
        place += 1
        back -= 1
    for later in range(group, ends.size):
        ends[later] -= 1
    close_running_gap(running, place, last)


@njit(**LOOP)
def stop_attempt(job, now, outcome, jobs, owners, nodes, running, trees, rules, counts):
    """End an attempt, free what it used, and keep what its checkpoints saved."""
    table, shape, row = jobs.table, jobs.shape_of[job], jobs.row_of[job]
    update_progress(table, job, now)
    instances = jobs.asks[shape, ASK_INSTANCES]
    free_rows(nodes.matrix, jobs.asks, shape, running.placed, row, instances, trees)
    counts[RUNNING_ROWS] -= instances
    for place in range(row, row + instances):
        nodes.busy[running.placed[place, ON_NODE]] -= 1
        nodes.idle_since[running.placed[place, ON_NODE]] = now
    _leave_running(job, running, rules, counts)
    cancel_end(running, counts, job)
    charge_quota(owners, job, jobs.asks, shape, -1)
    charge_owner(owners, table, job, jobs.asks, shape, -1, now, rules.half_life_s)
    if rules.neighbours:
        _move_tenant(job, jobs, nodes, running.placed, False)
        _pace_neighbours(job, now, jobs, nodes, running, rules, counts)
    attempt = jobs.attempt_of[job]
    running.record[attempt, ATTEMPT_OUTCOME] = outcome
    running.times[attempt, ATTEMPT_END] = now
    length, done = now - table[job, JOB_STARTED], table[job, JOB_DONE]
    lost = _keep_work(table, job, outcome, rules)
    running.times[attempt, ATTEMPT_LOST] = length * lost / done if done > 0 else 0.0
