"""Which running jobs make way for one that may preempt them.

Jobs of the lowest rank go first, the smaller before the larger, until the job has its nodes;
those that turn out not to stand on the chosen nodes, or not to be needed, are spared.
"""

from __future__ import annotations

import numpy as np

from prophase.sim.compilation import njit
from prophase.sim.kernels.dynamic.array_layout import RUNNING
from prophase.sim.kernels.queue_order import sort_queue
from prophase.sim.kernels.slurm.array_layout import (
    ASK_NODES,
    CORES,
    GPUS,
    MEMORY,
    NEVER,
    ON_NODE,
)
from prophase.sim.kernels.slurm.earliest_start import believed_length, is_clear
from prophase.sim.kernels.slurm.node_choice import choose_nodes
from prophase.sim.kernels.slurm.node_readiness import has_room
from prophase.sim.signatures import (
    ASK_CPU,
    ASK_GPUS,
    ASK_INSTANCES,
    ASK_MEMORY,
    JOB_STARTED,
    LOOP,
)


@njit(**LOOP)
def _shift(job, sign, jobs, running, free):
    """Give back what a job holds in a copy of the nodes (sign 1), or take it again (-1)."""
    asks, shape, first = jobs.asks, jobs.shape_of[job], jobs.row_of[job]
    for row in range(first, first + asks[shape, ASK_INSTANCES]):
        node = running.placed[row, ON_NODE]
        free[node, CORES] += sign * asks[shape, ASK_CPU]
        free[node, MEMORY] += sign * asks[shape, ASK_MEMORY]
        free[node, GPUS] += sign * asks[shape, ASK_GPUS]


@njit(**LOOP)
def _candidates(job, now, jobs, owners, queue, running, counts):
    """Fill ``victims`` with the running jobs that this one may preempt; return how many."""
    found, mine = 0, jobs.preempt_class[job]
    for place in range(counts[RUNNING]):
        other = running.jobs[place]
        if (
            jobs.preempt_mode[other] != NEVER
            and owners.preempts[mine, jobs.preempt_class[other]]
            and now - jobs.table[other, JOB_STARTED] >= jobs.exempt_s[other]
        ):
            queue.victims[found] = other
            found += 1
    return found


@njit(**LOOP)
def choose_victims(job, now, planned, jobs, owners, nodes, queue, running, plan, rules, counts):
    """Choose nodes for a job and fill ``victims`` with the jobs to stop; return how many.

    0: none would help.
    """
    found = _candidates(job, now, jobs, owners, queue, running, counts)
    if found == 0:
        return 0
    sort_queue(queue.victims, jobs.preempt_rank, found)
    asks, shape, free = jobs.asks, jobs.shape_of[job], plan.after_preemption
    wanted, usable, length = asks[shape, ASK_INSTANCES], 0, believed_length(jobs.table, job)
    for node in range(nodes.free.shape[0]):
        for column in range(nodes.free.shape[1]):
            free[node, column] = nodes.free[node, column]
        plan.free_s[node], plan.cores[node] = np.inf, nodes.free[node, CORES]
        if (
            nodes.allowed[asks[shape, ASK_NODES], node]
            and (planned or not plan.closed[node])
            and is_clear(node, now, length, job, jobs, nodes, plan, planned)
        ):
            plan.free_s[node] = now if has_room(free, node, asks, shape) else -np.inf
            usable += plan.free_s[node] == now
    released = _release(now, shape, wanted - usable, found, jobs, queue, running, plan)
    if released < 0:
        return 0
    if released > 1:
        # again, the one that decided it first: the fewest jobs make way
        last = queue.victims[released - 1]
        for place in range(released - 1, -1, -1):
            other = queue.victims[place]
            _shift(other, -1, jobs, running, free)
            _close_again(other, shape, jobs, running, plan)
            if place > 0:
                queue.victims[place] = queue.victims[place - 1]
        queue.victims[0] = last
        released = _release(now, shape, wanted - usable, found, jobs, queue, running, plan)
    if choose_nodes(now, wanted, nodes, plan, rules) < wanted:
        return 0
    return _needed(shape, released, jobs, queue, running, plan)


@njit(**LOOP)
def _release(now, shape, lacking, found, jobs, queue, running, plan):
    """Let jobs go in a copy of the nodes until so many more have room; return how many, -1: none.

    ``free_s`` is now where there is room, -inf where there is none yet.
    """
    asks, free, released = jobs.asks, plan.after_preemption, 0
    while lacking > 0 and released < found:
        other = queue.victims[released]
        released += 1
        _shift(other, 1, jobs, running, free)
        first = jobs.row_of[other]
        for row in range(first, first + asks[jobs.shape_of[other], ASK_INSTANCES]):
            node = running.placed[row, ON_NODE]
            if plan.free_s[node] == -np.inf and has_room(free, node, asks, shape):
                plan.free_s[node] = now
                lacking -= 1
    return released if lacking <= 0 else -1


@njit(**LOOP)
def _close_again(job, shape, jobs, running, plan):
    """Mark the nodes of a job that came back as without room, unless there is room still."""
    asks, first = jobs.asks, jobs.row_of[job]
    for row in range(first, first + asks[jobs.shape_of[job], ASK_INSTANCES]):
        node = running.placed[row, ON_NODE]
        room = has_room(plan.after_preemption, node, asks, shape)
        if plan.free_s[node] < np.inf and not room:
            plan.free_s[node] = -np.inf


@njit(**LOOP)
def _needed(shape, released, jobs, queue, running, plan):
    """Keep the victims without which the job does not fit on the chosen nodes."""
    asks, free, kept = jobs.asks, plan.after_preemption, 0
    for place in range(released - 1, -1, -1):
        other = queue.victims[place]
        _shift(other, -1, jobs, running, free)
        fits = True
        for row in range(asks[shape, ASK_INSTANCES]):
            if not has_room(free, plan.chosen[row], asks, shape):
                fits = False
        if not fits:
            _shift(other, 1, jobs, running, free)
        else:
            queue.victims[place] = -1
    for place in range(released):
        if queue.victims[place] >= 0:
            queue.victims[kept] = queue.victims[place]
            kept += 1
    return kept
