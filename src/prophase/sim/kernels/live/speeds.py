"""How fast a job runs: the speed of its GPU type, slowed by neighbours on its GPUs.

``tenants`` has a row per node and, for each of its GPUs, as many places as jobs can share one.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from prophase.sim.kernels.gangs import ON_GPUS, ON_NODE
from prophase.sim.kernels.live.alarms import set_alarm
from prophase.sim.kernels.live.rules import ALARMS, RULE_NEIGHBOURS, RULE_RATES
from prophase.sim.signatures import (
    ASK_INSTANCES,
    GPU_TYPE,
    JOB_ATTAINED,
    JOB_BELIEVED,
    JOB_DONE,
    JOB_KIND,
    JOB_LEFT,
    JOB_LOOKED,
    JOB_OVERHEAD,
    JOB_RATE,
    JOB_REMAINING,
)


@njit(cache=True)
def look_at_job(jobs, job, now):
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
                        look_at_job(jobs, other, now)
                        jobs[other, JOB_RATE] = speed
                        ahead = jobs[other, JOB_BELIEVED] - now
                        jobs[other, JOB_BELIEVED] = now + ahead * before / speed
                        work = jobs[other, JOB_OVERHEAD] + jobs[other, JOB_LEFT]
                        end = now + max(0.0, work - jobs[other, JOB_DONE]) / speed
                        counts[ALARMS] = set_alarm(due, heap, spot, counts[ALARMS], other, end)
            bits >>= 1
            gpu += 1
