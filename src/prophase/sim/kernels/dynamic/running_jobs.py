"""How fast a job runs: the speed of its GPU type, slowed by neighbours on its GPUs.

``tenants`` has a row per node and, for each of its GPUs, as many places as jobs can share one.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from prophase.sim.attempts import FINISHED, OUT_OF_MEMORY
from prophase.sim.kernels.dynamic.array_layout import (
    ALARMS,
    ATTEMPT_END,
    ATTEMPT_JOB,
    ATTEMPT_LOST,
    ATTEMPT_OUTCOME,
    ATTEMPT_ROW,
    ATTEMPT_RUNG,
    ATTEMPT_START,
    ATTEMPTS,
    CHANGES,
    ROWS,
    RULE_CHECKPOINT,
    RULE_HALF_LIFE,
    RULE_NEIGHBOURS,
    RULE_RATES,
    RULE_RESTART,
    RUNNING,
)
from prophase.sim.kernels.dynamic.event_heap import cancel_end, set_end
from prophase.sim.kernels.dynamic.usage_and_quotas import charge_owner, charge_quota
from prophase.sim.kernels.gang_placement import ON_GPUS, ON_NODE, free_rows
from prophase.sim.signatures import (
    ASK_INSTANCES,
    GPU_TYPE,
    JOB_ATTAINED,
    JOB_BELIEVED,
    JOB_CHARGE,
    JOB_DONE,
    JOB_ESTIMATE,
    JOB_KIND,
    JOB_LEFT,
    JOB_LOOKED,
    JOB_OVERHEAD,
    JOB_RATE,
    JOB_REMAINING,
    JOB_STARTED,
    JOB_USER,
)


@njit(cache=True)
def update_progress(jobs, job, now):
    """Bring the work a running job has done up to now."""
    passed = now - jobs[job, JOB_LOOKED]
    if passed > 0:
        jobs[job, JOB_DONE] += passed * jobs[job, JOB_RATE]
        jobs[job, JOB_ATTAINED] += passed
        jobs[job, JOB_LOOKED] = now
        useful = max(0.0, jobs[job, JOB_DONE] - jobs[job, JOB_OVERHEAD])
        jobs[job, JOB_REMAINING] = max(0.0, jobs[job, JOB_LEFT] - useful)


@njit(cache=True)
def speed_of(jobs, job, nodes, placed, row, instances, tenants, slots, rules, speeds, pairs):
    """Return the speed of a job on the nodes and GPUs it was given: its slowest instance's."""
    if rules[RULE_RATES] == 0:
        return 1.0
    kind = int(jobs[job, JOB_KIND])
    slowest = np.inf
    for place in range(row, row + instances):
        node, bits = placed[place, ON_NODE], placed[place, ON_GPUS]
        if bits == 0:
            slowest = min(slowest, 1.0)
            continue
        own = speeds[kind, nodes[node, GPU_TYPE]]
        gpu = 0
        while bits:
            if bits & 1:
                speed = own
                if rules[RULE_NEIGHBOURS] != 0:
                    for slot in range(gpu * slots, (gpu + 1) * slots):
                        other = tenants[node, slot]
                        if other >= 0 and other != job:
                            speed *= pairs[kind, int(jobs[other, JOB_KIND])]
                slowest = min(slowest, speed)
            bits >>= 1
            gpu += 1
    return slowest


@njit(cache=True)
def move_tenant(tenants, slots, placed, row, instances, job, comes):
    """Enter a job at the GPUs it was given, or strike it off."""
    old, new = (-1, job) if comes else (job, -1)
    for place in range(row, row + instances):
        node, bits = placed[place, ON_NODE], placed[place, ON_GPUS]
        gpu = 0
        while bits:
            if bits & 1:
                for slot in range(gpu * slots, (gpu + 1) * slots):
                    if tenants[node, slot] == old:
                        tenants[node, slot] = new
                        break
            bits >>= 1
            gpu += 1


@njit(cache=True)
def pace_neighbours(
    jobs, job, now, nodes, asks, shape_of, placed, row_of, tenants, slots, rules, speeds, pairs,
    due, heap, spot, counts,
):  # fmt: skip
    """Give the jobs that share a GPU with this one their new speeds and ends."""
    instances = asks[shape_of[job], ASK_INSTANCES]
    for place in range(row_of[job], row_of[job] + instances):
        node, bits = placed[place, ON_NODE], placed[place, ON_GPUS]
        gpu = 0
        while bits:
            if bits & 1:
                for slot in range(gpu * slots, (gpu + 1) * slots):
                    other = tenants[node, slot]
                    if other < 0 or other == job:
                        continue
                    size = asks[shape_of[other], ASK_INSTANCES]
                    speed = speed_of(
                        jobs, other, nodes, placed, row_of[other], size, tenants, slots,
                        rules, speeds, pairs,
                    )  # fmt: skip
                    before = jobs[other, JOB_RATE]
                    if speed != before:
                        update_progress(jobs, other, now)
                        jobs[other, JOB_RATE] = speed
                        ahead = jobs[other, JOB_BELIEVED] - now
                        jobs[other, JOB_BELIEVED] = now + ahead * before / speed
                        work = jobs[other, JOB_OVERHEAD] + jobs[other, JOB_LEFT]
                        end = now + max(0.0, work - jobs[other, JOB_DONE]) / speed
                        counts[ALARMS] = set_end(due, heap, spot, counts[ALARMS], other, end)
            bits >>= 1
            gpu += 1


@njit(cache=True)
def begin_attempt(
    job, now, jobs, shape_of, rung_of, row_of, attempt_of, owners, quotas, quota_of, whole, nodes,
    asks, placed, record, times, runners, runner_spot, tenants, slots, busy, rules, speeds, pairs,
    due, heap, spot, counts,
):  # fmt: skip
    """Start a job on the rows of ``placed`` that were just filled for it."""
    shape = shape_of[job]
    instances = asks[shape, ASK_INSTANCES]
    row = counts[ROWS]
    row_of[job] = row
    counts[ROWS] += instances
    for place in range(row, row + instances):
        busy[placed[place, ON_NODE]] += 1
    attempt = counts[ATTEMPTS]
    counts[ATTEMPTS] += 1
    attempt_of[job] = attempt
    record[attempt, ATTEMPT_JOB], record[attempt, ATTEMPT_ROW] = job, row
    record[attempt, ATTEMPT_RUNG] = rung_of[job]
    times[attempt, ATTEMPT_START] = now
    runner_spot[job] = counts[RUNNING]
    runners[counts[RUNNING]] = job
    counts[RUNNING] += 1
    charge_quota(quotas, quota_of, job, asks, shape, 1)
    user, charge = int(jobs[job, JOB_USER]), jobs[job, JOB_CHARGE]
    charge_owner(owners, user, charge, asks, shape, whole, 1, now, rules[RULE_HALF_LIFE])
    if rules[RULE_NEIGHBOURS] != 0:
        move_tenant(tenants, slots, placed, row, instances, job, True)
    speed = speed_of(jobs, job, nodes, placed, row, instances, tenants, slots, rules, speeds, pairs)
    jobs[job, JOB_STARTED] = jobs[job, JOB_LOOKED] = now
    jobs[job, JOB_LEFT] = jobs[job, JOB_REMAINING]
    jobs[job, JOB_DONE] = 0.0
    jobs[job, JOB_RATE] = speed
    jobs[job, JOB_BELIEVED] = now + (jobs[job, JOB_OVERHEAD] + jobs[job, JOB_ESTIMATE]) / speed
    end = now + (jobs[job, JOB_OVERHEAD] + jobs[job, JOB_LEFT]) / speed
    counts[ALARMS] = set_end(due, heap, spot, counts[ALARMS], job, end)
    if rules[RULE_NEIGHBOURS] != 0:
        pace_neighbours(
            jobs, job, now, nodes, asks, shape_of, placed, row_of, tenants, slots, rules, speeds,
            pairs, due, heap, spot, counts,
        )  # fmt: skip


@njit(cache=True)
def stop_attempt(
    job, now, outcome, jobs, shape_of, row_of, attempt_of, owners, quotas, quota_of, whole, nodes,
    asks, placed, record, times, runners, runner_spot, tenants, slots, busy, idle_since, rules,
    speeds, pairs, due, heap, spot, log, counts,
):  # fmt: skip
    """End an attempt, free what it used, and keep what its checkpoints saved."""
    update_progress(jobs, job, now)
    shape = shape_of[job]
    instances = asks[shape, ASK_INSTANCES]
    row = row_of[job]
    counts[CHANGES] = free_rows(nodes, asks, shape, placed, row, instances, log, counts[CHANGES])
    for place in range(row, row + instances):
        busy[placed[place, ON_NODE]] -= 1
        idle_since[placed[place, ON_NODE]] = now
    last = runners[counts[RUNNING] - 1]
    counts[RUNNING] -= 1
    runners[runner_spot[job]] = last
    runner_spot[last] = runner_spot[job]
    runner_spot[job] = -1
    counts[ALARMS] = cancel_end(due, heap, spot, counts[ALARMS], job)
    charge_quota(quotas, quota_of, job, asks, shape, -1)
    user, charge = int(jobs[job, JOB_USER]), jobs[job, JOB_CHARGE]
    charge_owner(owners, user, charge, asks, shape, whole, -1, now, rules[RULE_HALF_LIFE])
    if rules[RULE_NEIGHBOURS] != 0:
        move_tenant(tenants, slots, placed, row, instances, job, False)
        pace_neighbours(
            jobs, job, now, nodes, asks, shape_of, placed, row_of, tenants, slots, rules, speeds,
            pairs, due, heap, spot, counts,
        )  # fmt: skip
    attempt = attempt_of[job]
    record[attempt, ATTEMPT_OUTCOME] = outcome
    times[attempt, ATTEMPT_END] = now
    length, done = now - jobs[job, JOB_STARTED], jobs[job, JOB_DONE]
    if outcome == FINISHED:
        lost = min(jobs[job, JOB_OVERHEAD], done)
        jobs[job, JOB_REMAINING] = 0.0
    elif outcome == OUT_OF_MEMORY:
        lost = done
        jobs[job, JOB_OVERHEAD] = 0.0
    else:
        saved = jobs[job, JOB_LEFT] - jobs[job, JOB_REMAINING]
        interval = rules[RULE_CHECKPOINT]
        if interval > 0:
            saved = math.floor(saved / interval) * interval if interval < math.inf else 0.0
        lost = done - saved
        jobs[job, JOB_REMAINING] = jobs[job, JOB_LEFT] - saved
        jobs[job, JOB_ESTIMATE] = max(0.0, jobs[job, JOB_ESTIMATE] - saved)
        jobs[job, JOB_OVERHEAD] = rules[RULE_RESTART]
    times[attempt, ATTEMPT_LOST] = length * lost / done if done > 0 else 0.0
