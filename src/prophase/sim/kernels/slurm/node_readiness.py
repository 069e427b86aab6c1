"""From when on each node has room for a request, if running jobs end as believed.

Kept per shape: only nodes that changed since a shape was last asked for are looked at again.
"""

from __future__ import annotations

import numpy as np

from prophase.sim.compilation import njit
from prophase.sim.kernels.slurm.array_layout import (
    ASK_NODES,
    CHANGES,
    CORES,
    GPUS,
    MEMORY,
    OFF,
)
from prophase.sim.signatures import ASK_CPU, ASK_GPUS, ASK_MEMORY, JOB_BELIEVED, LOOP


@njit(**LOOP)
def note_change(node, plan, counts):
    """Write down that a node changed."""
    plan.log[counts[CHANGES] & (plan.log.size - 1)] = node
    counts[CHANGES] += 1


@njit(**LOOP)
def has_room(free, node, asks, shape):
    """Tell whether one instance of the shape fits on the node now."""
    return (
        free[node, CORES] >= asks[shape, ASK_CPU]
        and free[node, MEMORY] >= asks[shape, ASK_MEMORY]
        and free[node, GPUS] >= asks[shape, ASK_GPUS]
        and free[node, OFF] == 0
    )


@njit(**LOOP)
def _ready_s(node, shape, jobs, nodes, running):
    """Return when the node has room for the shape; -inf: it has, inf: never."""
    asks, free = jobs.asks, nodes.free
    if nodes.allowed[asks[shape, ASK_NODES], node] == 0 or free[node, OFF] > 0:
        return np.inf
    if has_room(free, node, asks, shape):
        return -np.inf
    cores, memory, gpus = free[node, CORES], free[node, MEMORY], free[node, GPUS]
    reached = -np.inf
    while True:
        # the next believed end, and what all instances that end then give back
        upcoming, row = np.inf, running.first_on[node]
        while row >= 0:
            believed = jobs.table[running.job_at[row], JOB_BELIEVED]
            if reached < believed < upcoming:
                upcoming = believed
            row = running.after[row]
        if upcoming == np.inf:
            return np.inf
        row = running.first_on[node]
        while row >= 0:
            job = running.job_at[row]
            if jobs.table[job, JOB_BELIEVED] == upcoming:
                held = jobs.shape_of[job]
                cores += asks[held, ASK_CPU]
                memory += asks[held, ASK_MEMORY]
                gpus += asks[held, ASK_GPUS]
            row = running.after[row]
        reached = upcoming
        if (
            cores >= asks[shape, ASK_CPU]
            and memory >= asks[shape, ASK_MEMORY]
            and gpus >= asks[shape, ASK_GPUS]
        ):
            return reached


@njit(**LOOP)
def update_ready(shape, jobs, nodes, running, plan, counts):
    """Bring the row of a shape up to date; return its number."""
    row, changes = plan.ready_of[shape], counts[CHANGES]
    seen = plan.seen[row]
    if seen < 0 or changes - seen > plan.log.size or (changes - seen) * 2 > nodes.free.shape[0]:
        for node in range(nodes.free.shape[0]):
            plan.ready_s[row, node] = _ready_s(node, shape, jobs, nodes, running)
    else:
        for change in range(seen, changes):
            node = plan.log[change & (plan.log.size - 1)]
            plan.ready_s[row, node] = _ready_s(node, shape, jobs, nodes, running)
    plan.seen[row] = changes
