"""One sweep over a schedule: why each waiting job does not run, second by second.

Between two events nothing changes, so every waiting *shape* (distinct request and limits) has
one answer for the whole interval. The seconds of each answer are summed per shape; what a job
waited for is the growth of its shape's sums between the instant it joined and its start. An
event costs the number of waiting shapes, not of waiting jobs, and nodes are looked at again
only when they changed.
"""

from __future__ import annotations

import numpy as np
from numba import njit, types

from prophase.sim.kernels.node_resources import give_back, occupy
from prophase.sim.kernels.queue_heaps import dequeue, enqueue
from prophase.sim.kernels.score_trees import QUEUE_FIRST, QUEUE_SIZE
from prophase.sim.signatures import (
    ASK_CPU,
    ASK_GPUS,
    ASK_INSTANCES,
    ASK_MEMORY,
    ASK_MILLI,
    FLOAT_GRID,
    FLOAT_LINE,
    FREE_CPU,
    FREE_GPU,
    FREE_MEMORY,
    FREE_SHARE,
    FREE_WHOLE,
    GPU_TYPE,
    GPUS,
    INT,
    INT_GRID,
    INT_LINE,
)

#: why a job waits, as fine as the sweep tells; the order is that of the questions asked
(
    QUOTA,
    CAPACITY_GPU,
    CAPACITY_CPU,
    CAPACITY_MEMORY,
    GPU_TYPES,
    GANG,
    SHORT_CPU,
    SHORT_MEMORY,
    FRAGMENTATION,
    ORDER,
) = range(10)
CAUSES = 10

#: columns of the shape state; the first two are those of the heaps
WAITING, SHORT_WAITING, MASK, SEEN = range(2, 6)
#: instances that fit now: as asked, if only GPUs and CPU counted, if only GPUs counted
ROOM, ROOM_GPU_CPU, ROOM_GPU = range(6, 9)
#: why jobs of the shape wait now
CAUSE = 9
STATE_COLUMNS = 10

#: columns of pooled resources and of limits; the last one counts jobs
POOL_GPU, POOL_CPU, POOL_MEMORY, POOL_JOBS = range(4)
#: taken from the free memory of a node that is switched off or lost
ABSENT = 1 << 50
#: room of one node is counted up to this, so that three counts fit into one number
_MOST = (1 << 21) - 1
_HOUR_S = 3600.0
_HOURS = 168


@njit(types.UniTuple(INT, 3)(INT_GRID, INT, INT_GRID, INT), cache=True)
def _room(nodes, node, asks, shape):
    """Return how many instances fit on a node: as asked, by GPUs and CPU, by GPUs alone."""
    if nodes[node, FREE_MEMORY] < 0:
        return 0, 0, 0
    gpus, milli = asks[shape, ASK_GPUS], asks[shape, ASK_MILLI]
    by_gpu = _MOST
    if gpus > 0 and milli == 1000:
        by_gpu = nodes[node, FREE_WHOLE] // gpus
    elif gpus == 1:
        by_gpu = 0
        for gpu in range(nodes[node, GPUS]):
            by_gpu += max(nodes[node, FREE_SHARE + gpu], 0) // milli
    elif gpus > 1:
        # shares of several GPUs: the most instances that each find different GPUs
        by_gpu, found = -1, 0
        while found >= (by_gpu + 1) * gpus:
            by_gpu += 1
            found = 0
            for gpu in range(nodes[node, GPUS]):
                found += min(max(nodes[node, FREE_SHARE + gpu], 0) // milli, by_gpu + 1)
    by_gpu = min(by_gpu, _MOST)
    by_cpu, by_all = by_gpu, by_gpu
    if asks[shape, ASK_CPU] > 0:
        by_cpu = min(by_gpu, max(nodes[node, FREE_CPU], 0) // asks[shape, ASK_CPU])
        by_all = by_cpu
    if asks[shape, ASK_MEMORY] > 0:
        by_all = min(by_cpu, nodes[node, FREE_MEMORY] // asks[shape, ASK_MEMORY])
    return by_all, by_cpu, by_gpu


@njit(types.void(INT_GRID, INT, INT_GRID, INT, INT_GRID, INT_LINE, INT_GRID, INT_GRID), cache=True)
def _look(nodes, node, asks, shape, state, group_of, allowed, cells):
    """Count one node's room for a shape anew."""
    if allowed[state[shape, MASK], group_of[node]] == 0:
        return
    room, by_cpu, by_gpu = _room(nodes, node, asks, shape)
    if cells.shape[0] > 1:
        before = cells[shape, node]
        cells[shape, node] = room | by_cpu << 21 | by_gpu << 42
        room -= before & _MOST
        by_cpu -= (before >> 21) & _MOST
        by_gpu -= before >> 42
    state[shape, ROOM] += room
    state[shape, ROOM_GPU_CPU] += by_cpu
    state[shape, ROOM_GPU] += by_gpu


@njit(
    types.void(INT_GRID, INT_GRID, INT, INT_GRID, INT_LINE, INT_GRID, INT_GRID, INT_LINE, INT),
    cache=True,
)
def _catch_up(nodes, asks, shape, state, group_of, allowed, cells, log, changes):
    """Bring a shape's room up to date; without memory for all cells count every node."""
    seen, kept = state[shape, SEEN], cells.shape[0] > 1
    if kept and seen >= 0 and changes - seen < nodes.shape[0]:
        for change in range(seen, changes):
            node = log[change % log.size]
            _look(nodes, node, asks, shape, state, group_of, allowed, cells)
    elif seen != changes:
        if not kept:
            state[shape, ROOM : ROOM_GPU + 1] = 0
        for node in range(nodes.shape[0]):
            _look(nodes, node, asks, shape, state, group_of, allowed, cells)
    state[shape, SEEN] = changes


@njit(INT(INT_GRID, INT, INT, INT_GRID), cache=True)
def _short_of(asks, shape, mask, pooled):
    """Return what the cluster lacks for the shape even if it were one pool, or -1."""
    jobs = asks[shape, ASK_INSTANCES]
    gpu = jobs * asks[shape, ASK_GPUS] * asks[shape, ASK_MILLI]
    cpu, memory = jobs * asks[shape, ASK_CPU], jobs * asks[shape, ASK_MEMORY]
    if gpu > 0:
        if pooled[0, POOL_GPU] < gpu:
            return CAPACITY_GPU
        if pooled[mask, POOL_GPU] < gpu:
            return GPU_TYPES
        if pooled[mask, POOL_CPU] < cpu:
            return SHORT_CPU
        return SHORT_MEMORY if pooled[mask, POOL_MEMORY] < memory else -1
    if pooled[0, POOL_CPU] < cpu:
        return CAPACITY_CPU
    if pooled[0, POOL_MEMORY] < memory:
        return CAPACITY_MEMORY
    if pooled[mask, POOL_CPU] < cpu or pooled[mask, POOL_MEMORY] < memory:
        return GPU_TYPES
    return -1


@njit(types.boolean(INT_GRID, INT, INT_GRID, INT_GRID, INT_GRID), cache=True)
def _over_limits(asks, shape, owners_of, limits, held):
    """Tell whether one more job of the shape would break a limit of its user or queue."""
    jobs = asks[shape, ASK_INSTANCES]
    gpu = jobs * asks[shape, ASK_GPUS] * asks[shape, ASK_MILLI]
    cpu, memory = jobs * asks[shape, ASK_CPU], jobs * asks[shape, ASK_MEMORY]
    for column in range(owners_of.shape[1]):
        owner = owners_of[shape, column]
        if owner >= 0 and (
            (gpu > 0 and held[owner, POOL_GPU] + gpu > limits[owner, POOL_GPU])
            or (cpu > 0 and held[owner, POOL_CPU] + cpu > limits[owner, POOL_CPU])
            or (memory > 0 and held[owner, POOL_MEMORY] + memory > limits[owner, POOL_MEMORY])
            or held[owner, POOL_JOBS] + 1 > limits[owner, POOL_JOBS]
        ):
            return True
    return False


@njit(
    INT(
        INT_GRID,
        INT_GRID,
        INT,
        INT_GRID,
        INT_LINE,
        INT_GRID,
        INT_GRID,
        INT_LINE,
        INT,
        INT_GRID,
        INT_GRID,
        INT_GRID,
        INT_GRID,
    ),
    cache=True,
)
def _judge(
    nodes,
    asks,
    shape,
    state,
    group_of,
    allowed,
    cells,
    log,
    changes,
    pooled,
    owners_of,
    limits,
    held,
):
    """Return why a job of the shape cannot start now; ORDER if it could."""
    if _over_limits(asks, shape, owners_of, limits, held):
        return QUOTA
    cause = _short_of(asks, shape, state[shape, MASK], pooled)
    if cause >= 0:
        return cause
    _catch_up(nodes, asks, shape, state, group_of, allowed, cells, log, changes)
    if state[shape, ROOM] >= asks[shape, ASK_INSTANCES]:
        return ORDER
    if state[shape, ROOM] > 0:
        return GANG
    if asks[shape, ASK_GPUS] == 0 or state[shape, ROOM_GPU] == 0:
        return FRAGMENTATION
    return SHORT_MEMORY if state[shape, ROOM_GPU_CPU] > 0 else SHORT_CPU


@njit(
    types.void(INT_GRID, INT, INT, INT_LINE, INT_GRID, INT_GRID, INT_LINE, INT_GRID, INT_GRID),
    cache=True,
)
def _count_in(nodes, node, sign, group_of, allowed, pooled, idle_now, references, stranded_now):
    """Add a node's free resources to the pools it belongs to, or take them away."""
    if nodes[node, FREE_MEMORY] < 0:
        return
    group, kind = group_of[node], nodes[node, GPU_TYPE]
    gpu, cpu, memory = nodes[node, FREE_GPU], nodes[node, FREE_CPU], nodes[node, FREE_MEMORY]
    for mask in range(allowed.shape[0]):
        if allowed[mask, group]:
            pooled[mask, POOL_GPU] += sign * gpu
            pooled[mask, POOL_CPU] += sign * cpu
            pooled[mask, POOL_MEMORY] += sign * memory
    idle_now[kind] += sign * gpu
    for row in range(references.shape[0]):
        if cpu < references[row, 0]:
            stranded_now[kind, 2 * row] += sign * gpu
        elif memory < references[row, 1]:
            stranded_now[kind, 2 * row + 1] += sign * gpu


@njit(
    types.void(types.float64, types.float64, types.float64, INT, INT_LINE, FLOAT_GRID), cache=True
)
def _add_idle(begin, end, shift, queued, idle_now, idle):
    """Add free milli-GPUs x seconds to the hours of the week; the second half is with a queue."""
    while begin < end:
        hour = np.floor((begin + shift) / _HOUR_S)
        until = min(end, (hour + 1) * _HOUR_S - shift)
        if until <= begin:
            until = end
        column = int(hour) % _HOURS + _HOURS * queued
        for kind in range(idle_now.size):
            idle[kind, column] += idle_now[kind] * (until - begin)
        begin = until


@njit(types.void(INT_GRID, INT, INT_GRID, INT_GRID, INT), cache=True)
def _hold(asks, shape, owners_of, held, sign):
    """Count a job in or out of what its owners hold."""
    jobs = asks[shape, ASK_INSTANCES]
    for column in range(owners_of.shape[1]):
        owner = owners_of[shape, column]
        if owner >= 0:
            held[owner, POOL_GPU] += sign * jobs * asks[shape, ASK_GPUS] * asks[shape, ASK_MILLI]
            held[owner, POOL_CPU] += sign * jobs * asks[shape, ASK_CPU]
            held[owner, POOL_MEMORY] += sign * jobs * asks[shape, ASK_MEMORY]
            held[owner, POOL_JOBS] += sign


@njit(
    types.void(
        *(FLOAT_LINE,) * 3,
        *(INT_LINE,) * 7,
        *(INT_GRID,) * 4,
        *(INT_LINE,) * 2,
        *(INT_GRID,) * 3,
        INT_LINE,
        *(INT_GRID,) * 3,
        FLOAT_LINE,
        INT_LINE,
        INT_GRID,
        *(types.float64,) * 3,
        *(FLOAT_GRID,) * 4,
        FLOAT_LINE,
    ),
    cache=True,
)
def sweep_wait_causes(
    ready,
    start,
    end,
    by_ready,
    by_start,
    by_end,
    job_of,
    shape_of,
    rank_of,
    is_short,
    nodes,
    asks,
    state,
    placed,
    first_instance,
    group_of,
    allowed,
    pooled,
    cells,
    queue,
    owners_of,
    limits,
    held,
    switch_time,
    switch_node,
    references,
    since,
    until,
    shift,
    waits,
    blame,
    idle,
    stranded,
    behind,
):
    """Fill seconds waited per job and cause, seconds blamed on jobs, idle and stranded GPUs.

    Attempts come as rows; ``by_ready``, ``by_start`` and ``by_end`` list by time those that wait,
    that start, and that free something. ``blame`` has one more row than there are jobs, for
    waits that no waiting job explains; ``behind`` is the same by what the job in the way lacked.
    ``switch_node`` is the node that leaves, or -1 - node for one that comes back.
    """
    shapes, machines = asks.shape[0], nodes.shape[0]
    attempt_of_rank = np.empty(rank_of.size, np.int64)
    for attempt in range(rank_of.size):
        attempt_of_rank[rank_of[attempt]] = attempt
    sums = np.zeros((shapes, CAUSES))
    active, spot = np.empty(shapes, np.int64), np.full(shapes, -1, np.int64)
    log = np.zeros(2 * machines + 1, np.int64)
    idle_now = np.zeros(idle.shape[0], np.int64)
    stranded_now = np.zeros(stranded.shape, np.int64)
    for node in range(machines):
        _count_in(nodes, node, 1, group_of, allowed, pooled, idle_now, references, stranded_now)
    busy = joined = begun = ended = switched = changes = gpu_jobs = 0
    now = -np.inf
    while joined < by_ready.size or begun < by_start.size or ended < by_end.size:
        then = np.inf
        if joined < by_ready.size:
            then = min(then, ready[by_ready[joined]])
        if begun < by_start.size:
            then = min(then, start[by_start[begun]])
        if ended < by_end.size:
            then = min(then, end[by_end[ended]])
        if switched < switch_time.size:
            then = min(then, switch_time[switched])
        if then == np.inf:
            break
        length = then - now
        if length > 0 and now > -np.inf:
            blocker, first, lacked = blame.shape[0] - 1, rank_of.size, ORDER
            for place in range(busy):
                shape = active[place]
                cause = _judge(
                    nodes,
                    asks,
                    shape,
                    state,
                    group_of,
                    allowed,
                    cells,
                    log,
                    changes,
                    pooled,
                    owners_of,
                    limits,
                    held,
                )
                state[shape, CAUSE] = cause
                sums[shape, cause] += length
                if cause not in (QUOTA, ORDER):
                    head = queue[state[shape, QUEUE_FIRST]]
                    while start[attempt_of_rank[head]] <= now:
                        dequeue(queue, state, shape)
                        head = queue[state[shape, QUEUE_FIRST]]
                    if head < first:
                        first, blocker, lacked = head, job_of[attempt_of_rank[head]], cause
            for place in range(busy):
                shape = active[place]
                if state[shape, CAUSE] == ORDER:
                    short = state[shape, SHORT_WAITING]
                    behind[lacked] += length * state[shape, WAITING]
                    blame[blocker, 0] += length * short
                    blame[blocker, 1] += length * (state[shape, WAITING] - short)
            begin, last = max(now, since), min(then, until)
            if begin < last:
                _add_idle(begin, last, shift, min(gpu_jobs, 1), idle_now, idle)
                for kind in range(stranded.shape[0]):
                    for column in range(stranded.shape[1]):
                        stranded[kind, column] += stranded_now[kind, column] * (last - begin)
        now = then

        # what the nodes do: ends first, then switches, then starts
        while ended < by_end.size and end[by_end[ended]] <= now:
            attempt = by_end[ended]
            ended += 1
            shape = shape_of[attempt]
            first = first_instance[attempt]
            for row in range(first, first + asks[shape, ASK_INSTANCES]):
                node = placed[row, 0]
                _count_in(
                    nodes, node, -1, group_of, allowed, pooled, idle_now, references, stranded_now
                )
                give_back(nodes, node, asks, shape, placed[row, 1])
                _count_in(
                    nodes, node, 1, group_of, allowed, pooled, idle_now, references, stranded_now
                )
                log[changes % log.size] = node
                changes += 1
            _hold(asks, shape, owners_of, held, -1)

        while switched < switch_time.size and switch_time[switched] <= now:
            node, by = switch_node[switched], -ABSENT
            switched += 1
            if node < 0:
                node, by = -1 - node, ABSENT
            _count_in(
                nodes, node, -1, group_of, allowed, pooled, idle_now, references, stranded_now
            )
            nodes[node, FREE_MEMORY] += by
            _count_in(nodes, node, 1, group_of, allowed, pooled, idle_now, references, stranded_now)
            log[changes % log.size] = node
            changes += 1

        while joined < by_ready.size and ready[by_ready[joined]] <= now:
            attempt = by_ready[joined]
            joined += 1
            shape = shape_of[attempt]
            if state[shape, WAITING] == 0:
                active[busy], spot[shape] = shape, busy
                busy += 1
                # those that left the heap by starting are forgotten at once
                state[shape, QUEUE_SIZE] = 0
            enqueue(queue, state, shape, rank_of[attempt])
            state[shape, WAITING] += 1
            state[shape, SHORT_WAITING] += is_short[attempt]
            gpu_jobs += min(asks[shape, ASK_GPUS], 1)
            for cause in range(CAUSES):
                waits[job_of[attempt], cause] -= sums[shape, cause]

        while begun < by_start.size and start[by_start[begun]] <= now:
            attempt = by_start[begun]
            begun += 1
            shape = shape_of[attempt]
            if start[attempt] > ready[attempt]:
                state[shape, WAITING] -= 1
                state[shape, SHORT_WAITING] -= is_short[attempt]
                gpu_jobs -= min(asks[shape, ASK_GPUS], 1)
                for cause in range(CAUSES):
                    waits[job_of[attempt], cause] += sums[shape, cause]
                if state[shape, WAITING] == 0:
                    busy -= 1
                    active[spot[shape]] = active[busy]
                    spot[active[busy]] = spot[shape]
            if end[attempt] <= start[attempt]:
                continue
            first = first_instance[attempt]
            for row in range(first, first + asks[shape, ASK_INSTANCES]):
                node = placed[row, 0]
                _count_in(
                    nodes, node, -1, group_of, allowed, pooled, idle_now, references, stranded_now
                )
                occupy(nodes, node, asks, shape, placed[row, 1])
                _count_in(
                    nodes, node, 1, group_of, allowed, pooled, idle_now, references, stranded_now
                )
                log[changes % log.size] = node
                changes += 1
            _hold(asks, shape, owners_of, held, 1)
