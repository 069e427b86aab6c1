"""Begin and stop an attempt: everything that has to be booked when a job starts or leaves."""

from __future__ import annotations

import math

from numba import njit

from prophase.sim.attempts import FINISHED, OUT_OF_MEMORY
from prophase.sim.kernels.gangs import ON_NODE, free_rows
from prophase.sim.kernels.live.alarms import drop_alarm, set_alarm
from prophase.sim.kernels.live.owners import hold, hold_quota
from prophase.sim.kernels.live.rules import (
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
    RULE_RESTART,
    RUNNING,
)
from prophase.sim.kernels.live.speeds import (
    look_at_job,
    move_tenant,
    pace_neighbours,
    speed_of,
)
from prophase.sim.signatures import (
    ASK_INSTANCES,
    JOB_BELIEVED,
    JOB_CHARGE,
    JOB_DONE,
    JOB_ESTIMATE,
    JOB_LEFT,
    JOB_LOOKED,
    JOB_OVERHEAD,
    JOB_RATE,
    JOB_REMAINING,
    JOB_STARTED,
    JOB_USER,
)


@njit(cache=True)
def begin(
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
    hold_quota(quotas, quota_of, job, asks, shape, 1)
    user, charge = int(jobs[job, JOB_USER]), jobs[job, JOB_CHARGE]
    hold(owners, user, charge, asks, shape, whole, 1, now, rules[RULE_HALF_LIFE])
    if rules[RULE_NEIGHBOURS] != 0:
        move_tenant(tenants, slots, placed, row, instances, job, True)
    speed = speed_of(jobs, job, nodes, placed, row, instances, tenants, slots, rules, speeds, pairs)
    jobs[job, JOB_STARTED] = jobs[job, JOB_LOOKED] = now
    jobs[job, JOB_LEFT] = jobs[job, JOB_REMAINING]
    jobs[job, JOB_DONE] = 0.0
    jobs[job, JOB_RATE] = speed
    jobs[job, JOB_BELIEVED] = now + (jobs[job, JOB_OVERHEAD] + jobs[job, JOB_ESTIMATE]) / speed
    end = now + (jobs[job, JOB_OVERHEAD] + jobs[job, JOB_LEFT]) / speed
    counts[ALARMS] = set_alarm(due, heap, spot, counts[ALARMS], job, end)
    if rules[RULE_NEIGHBOURS] != 0:
        pace_neighbours(
            jobs, job, now, nodes, asks, shape_of, placed, row_of, tenants, slots, rules, speeds,
            pairs, due, heap, spot, counts,
        )  # fmt: skip


@njit(cache=True)
def stop(
    job, now, outcome, jobs, shape_of, row_of, attempt_of, owners, quotas, quota_of, whole, nodes,
    asks, placed, record, times, runners, runner_spot, tenants, slots, busy, idle_since, rules,
    speeds, pairs, due, heap, spot, log, counts,
):  # fmt: skip
    """End an attempt, free what it used, and keep what its checkpoints saved."""
    look_at_job(jobs, job, now)
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
    counts[ALARMS] = drop_alarm(due, heap, spot, counts[ALARMS], job)
    hold_quota(quotas, quota_of, job, asks, shape, -1)
    user, charge = int(jobs[job, JOB_USER]), jobs[job, JOB_CHARGE]
    hold(owners, user, charge, asks, shape, whole, -1, now, rules[RULE_HALF_LIFE])
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
