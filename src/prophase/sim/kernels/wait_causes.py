"""One sweep over a schedule: why each waiting job does not run, second by second.

Between two events nothing changes, so every waiting *shape* (distinct request and limits) has
one answer for the whole interval. The seconds of each answer are summed per shape; what a job
waited for is the growth of its shape's sums between the instant it joined and its start. An
event costs the number of waiting shapes, not of waiting jobs, and nodes are looked at again
only when they changed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types

from prophase.sim.array_groups import compiled
from prophase.sim.compilation import njit
from prophase.sim.kernels.node_resources import give_back, occupy
from prophase.sim.kernels.queue_heaps import QUEUE_FIRST, QUEUE_SIZE, dequeue, enqueue
from prophase.sim.signatures import (
    ASK_CPU,
    ASK_GPUS,
    ASK_INSTANCES,
    ASK_MEMORY,
    ASK_MILLI,
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
    LOOP,
    Float,
    FloatGrid,
    FloatLine,
    IntGrid,
    IntLine,
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
#: counts of the sweep: waiting shapes, waiting jobs with GPUs, changes of nodes, and how far each
#: list of events has been followed
BUSY, GPU_JOBS, CHANGES, JOINED, BEGUN, ENDED, SWITCHED = range(7)
COUNTS = 7
#: room of one node is counted up to this, so that three counts fit into one number
_MOST = (1 << 21) - 1
_HOUR_S = 3600.0
_HOURS = 168


class AttemptArrays(NamedTuple):
    """Attempts: waits that end with a start, and what is then held."""

    ready_s: FloatLine
    start_s: FloatLine
    end_s: FloatLine
    #: by time: attempts that wait, that start, and that free something
    by_ready: IntLine
    by_start: IntLine
    by_end: IntLine
    job: IntLine
    shape: IntLine
    #: place in the order of the queue, and the attempt at each place
    rank: IntLine
    of_rank: IntLine
    is_short: IntLine
    first_instance: IntLine
    #: node and GPUs of every instance
    placed: IntGrid


class ShapeArrays(NamedTuple):
    """Distinct requests, and what waits for them."""

    asks: IntGrid
    #: columns WAITING ...
    state: IntGrid
    #: packed room by shape and node; one row if there is no memory to keep it
    cells: IntGrid
    #: seconds by cause, of a job that waits from the first event on
    seconds: FloatGrid
    queue: IntLine
    #: shapes that are waited for, and where each stands among them
    active: IntLine
    spot: IntLine


class QuotaArrays(NamedTuple):
    """What users and queues may hold, and hold."""

    #: rows of a shape's quotas, -1 for none
    of_shape: IntGrid
    most: IntGrid
    held: IntGrid


class FreeNodes(NamedTuple):
    """Nodes, and what is free of them as pools."""

    matrix: IntGrid
    group_of: IntLine
    #: which groups a mask allows
    allowed: IntGrid
    pooled: IntGrid
    #: CPU and memory of the smallest and the typical GPU job
    references: IntGrid
    #: by GPU type: free milli-GPUs, and those beside too little CPU or memory
    idle: IntLine
    stranded: IntGrid
    #: the last nodes that changed
    log: IntLine
    #: when nodes leave (node) and come back (-1 - node)
    switch_s: FloatLine
    switch_node: IntLine


class WaitSums(NamedTuple):
    """What the sweep fills."""

    #: seconds waited by job and cause
    waits: FloatGrid
    #: seconds blamed on a job, of short and of long ones; the last row is nobody's
    blame: FloatGrid
    #: the same seconds by what the job in the way lacked
    behind: FloatLine
    #: milli-GPU seconds by GPU type and hour of the week, the second half with a queue
    idle: FloatGrid
    stranded: FloatGrid


class Span(NamedTuple):
    """The time over which idle GPUs count, and what makes it seconds since a Monday."""

    since: Float
    until: Float
    shift: Float


@njit(types.UniTuple(INT, 3)(INT_GRID, INT, INT_GRID, INT), **LOOP)
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


@njit(**LOOP)
def _look(node, shape, shapes, nodes):
    """Count one node's room for a shape again."""
    state, cells = shapes.state, shapes.cells
    if nodes.allowed[state[shape, MASK], nodes.group_of[node]] == 0:
        return
    room, by_cpu, by_gpu = _room(nodes.matrix, node, shapes.asks, shape)
    if cells.shape[0] > 1:
        before = cells[shape, node]
        cells[shape, node] = room | by_cpu << 21 | by_gpu << 42
        room -= before & _MOST
        by_cpu -= (before >> 21) & _MOST
        by_gpu -= before >> 42
    state[shape, ROOM] += room
    state[shape, ROOM_GPU_CPU] += by_cpu
    state[shape, ROOM_GPU] += by_gpu


@njit(**LOOP)
def _catch_up(shape, shapes, nodes, changes):
    """Bring a shape's room up to date; without memory for all cells count every node."""
    state, log = shapes.state, nodes.log
    seen, kept = state[shape, SEEN], shapes.cells.shape[0] > 1
    if kept and seen >= 0 and changes - seen < nodes.matrix.shape[0]:
        for change in range(seen, changes):
            _look(log[change % log.size], shape, shapes, nodes)
    elif seen != changes:
        if not kept:
            state[shape, ROOM : ROOM_GPU + 1] = 0
        for node in range(nodes.matrix.shape[0]):
            _look(node, shape, shapes, nodes)
    state[shape, SEEN] = changes


@njit(**LOOP)
def _asked(asks, shape):
    """Return the milli-GPUs, milli-cores and MiB of all instances."""
    jobs = asks[shape, ASK_INSTANCES]
    gpu = jobs * asks[shape, ASK_GPUS] * asks[shape, ASK_MILLI]
    return gpu, jobs * asks[shape, ASK_CPU], jobs * asks[shape, ASK_MEMORY]


@njit(**LOOP)
def _short_of(asks, shape, mask, pooled):
    """Return what the cluster lacks for the shape even if it were one pool, or -1."""
    gpu, cpu, memory = _asked(asks, shape)
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


@njit(**LOOP)
def _over_limits(asks, shape, quotas):
    """Tell whether one more job of the shape would break a limit of its user or queue."""
    gpu, cpu, memory = _asked(asks, shape)
    most, held = quotas.most, quotas.held
    for column in range(quotas.of_shape.shape[1]):
        owner = quotas.of_shape[shape, column]
        if owner >= 0 and (
            (gpu > 0 and held[owner, POOL_GPU] + gpu > most[owner, POOL_GPU])
            or (cpu > 0 and held[owner, POOL_CPU] + cpu > most[owner, POOL_CPU])
            or (memory > 0 and held[owner, POOL_MEMORY] + memory > most[owner, POOL_MEMORY])
            or held[owner, POOL_JOBS] + 1 > most[owner, POOL_JOBS]
        ):
            return True
    return False


@njit(**LOOP)
def _hold(asks, shape, quotas, sign):
    """Count a job in or out of what its owners hold."""
    gpu, cpu, memory = _asked(asks, shape)
    for column in range(quotas.of_shape.shape[1]):
        owner = quotas.of_shape[shape, column]
        if owner >= 0:
            quotas.held[owner, POOL_GPU] += sign * gpu
            quotas.held[owner, POOL_CPU] += sign * cpu
            quotas.held[owner, POOL_MEMORY] += sign * memory
            quotas.held[owner, POOL_JOBS] += sign


@njit(**LOOP)
def _judge(shape, shapes, nodes, quotas, changes):
    """Return why a job of the shape cannot start now; ORDER if it could."""
    asks, state = shapes.asks, shapes.state
    if _over_limits(asks, shape, quotas):
        return QUOTA
    cause = _short_of(asks, shape, state[shape, MASK], nodes.pooled)
    if cause >= 0:
        return cause
    _catch_up(shape, shapes, nodes, changes)
    if state[shape, ROOM] >= asks[shape, ASK_INSTANCES]:
        return ORDER
    if state[shape, ROOM] > 0:
        return GANG
    if asks[shape, ASK_GPUS] == 0 or state[shape, ROOM_GPU] == 0:
        return FRAGMENTATION
    return SHORT_MEMORY if state[shape, ROOM_GPU_CPU] > 0 else SHORT_CPU


@njit(**LOOP)
def _count_in(node, sign, nodes):
    """Add a node's free resources to the pools it belongs to, or take them away."""
    matrix, pooled, references = nodes.matrix, nodes.pooled, nodes.references
    if matrix[node, FREE_MEMORY] < 0:
        return
    group, kind = nodes.group_of[node], matrix[node, GPU_TYPE]
    gpu, cpu, memory = matrix[node, FREE_GPU], matrix[node, FREE_CPU], matrix[node, FREE_MEMORY]
    for mask in range(nodes.allowed.shape[0]):
        if nodes.allowed[mask, group]:
            pooled[mask, POOL_GPU] += sign * gpu
            pooled[mask, POOL_CPU] += sign * cpu
            pooled[mask, POOL_MEMORY] += sign * memory
    nodes.idle[kind] += sign * gpu
    for row in range(references.shape[0]):
        if cpu < references[row, 0]:
            nodes.stranded[kind, 2 * row] += sign * gpu
        elif memory < references[row, 1]:
            nodes.stranded[kind, 2 * row + 1] += sign * gpu


@njit(**LOOP)
def _note_change(node, nodes, counts):
    """Count a changed node in again, and write down that it changed."""
    _count_in(node, 1, nodes)
    nodes.log[counts[CHANGES] % nodes.log.size] = node
    counts[CHANGES] += 1


@njit(**LOOP)
def _add_idle(begin, end, shift, queued, free, idle):
    """Add free milli-GPUs x seconds to the hours of the week."""
    while begin < end:
        hour = np.floor((begin + shift) / _HOUR_S)
        until = min(end, (hour + 1) * _HOUR_S - shift)
        if until <= begin:
            until = end
        column = int(hour) % _HOURS + _HOURS * queued
        for kind in range(free.size):
            idle[kind, column] += free[kind] * (until - begin)
        begin = until


@njit(**LOOP)
def _next_event(attempts, nodes, counts):
    """Return when something changes next; never, if no attempt is left."""
    then, left = np.inf, False
    if counts[JOINED] < attempts.by_ready.size:
        then, left = min(then, attempts.ready_s[attempts.by_ready[counts[JOINED]]]), True
    if counts[BEGUN] < attempts.by_start.size:
        then, left = min(then, attempts.start_s[attempts.by_start[counts[BEGUN]]]), True
    if counts[ENDED] < attempts.by_end.size:
        then, left = min(then, attempts.end_s[attempts.by_end[counts[ENDED]]]), True
    if left and counts[SWITCHED] < nodes.switch_s.size:
        then = min(then, nodes.switch_s[counts[SWITCHED]])
    return then


@njit(**LOOP)
def _first_waiting(now, shape, attempts, shapes):
    """Return the rank of the first job of a shape that still waits."""
    queue, state = shapes.queue, shapes.state
    head = queue[state[shape, QUEUE_FIRST]]
    while attempts.start_s[attempts.of_rank[head]] <= now:
        dequeue(queue, state, shape)
        head = queue[state[shape, QUEUE_FIRST]]
    return head


@njit(**LOOP)
def _add_waits(now, length, attempts, shapes, nodes, quotas, sums, counts):
    """Add an interval to every waiting shape's cause, and blame the first job that does not fit."""
    state = shapes.state
    blocker, first, lacked = sums.blame.shape[0] - 1, attempts.rank.size, ORDER
    for place in range(counts[BUSY]):
        shape = shapes.active[place]
        cause = _judge(shape, shapes, nodes, quotas, counts[CHANGES])
        state[shape, CAUSE] = cause
        shapes.seconds[shape, cause] += length
        if cause not in (QUOTA, ORDER):
            head = _first_waiting(now, shape, attempts, shapes)
            if head < first:
                first, blocker, lacked = head, attempts.job[attempts.of_rank[head]], cause
    for place in range(counts[BUSY]):
        shape = shapes.active[place]
        if state[shape, CAUSE] == ORDER:
            short = state[shape, SHORT_WAITING]
            sums.behind[lacked] += length * state[shape, WAITING]
            sums.blame[blocker, 0] += length * short
            sums.blame[blocker, 1] += length * (state[shape, WAITING] - short)


@njit(**LOOP)
def _add_idle_gpus(begin, end, span, nodes, sums, counts):
    """Add an interval to the free and the stranded GPUs."""
    begin, end = max(begin, span.since), min(end, span.until)
    if begin < end:
        _add_idle(begin, end, span.shift, min(counts[GPU_JOBS], 1), nodes.idle, sums.idle)
        for kind in range(sums.stranded.shape[0]):
            for column in range(sums.stranded.shape[1]):
                sums.stranded[kind, column] += nodes.stranded[kind, column] * (end - begin)


@njit(**LOOP)
def _end(now, attempts, shapes, nodes, quotas, counts):
    """Free what ended attempts held."""
    while counts[ENDED] < attempts.by_end.size:
        attempt = attempts.by_end[counts[ENDED]]
        if attempts.end_s[attempt] > now:
            break
        counts[ENDED] += 1
        shape, first = attempts.shape[attempt], attempts.first_instance[attempt]
        for row in range(first, first + shapes.asks[shape, ASK_INSTANCES]):
            node = attempts.placed[row, 0]
            _count_in(node, -1, nodes)
            give_back(nodes.matrix, node, shapes.asks, shape, attempts.placed[row, 1])
            _note_change(node, nodes, counts)
        _hold(shapes.asks, shape, quotas, -1)


@njit(**LOOP)
def _switch(now, nodes, counts):
    """Let nodes leave and come back."""
    while counts[SWITCHED] < nodes.switch_s.size and nodes.switch_s[counts[SWITCHED]] <= now:
        node, by = nodes.switch_node[counts[SWITCHED]], -ABSENT
        counts[SWITCHED] += 1
        if node < 0:
            node, by = -1 - node, ABSENT
        _count_in(node, -1, nodes)
        nodes.matrix[node, FREE_MEMORY] += by
        _note_change(node, nodes, counts)


@njit(**LOOP)
def _join(now, attempts, shapes, sums, counts):
    """Let attempts wait from now on."""
    state = shapes.state
    while counts[JOINED] < attempts.by_ready.size:
        attempt = attempts.by_ready[counts[JOINED]]
        if attempts.ready_s[attempt] > now:
            break
        counts[JOINED] += 1
        shape = attempts.shape[attempt]
        if state[shape, WAITING] == 0:
            shapes.active[counts[BUSY]], shapes.spot[shape] = shape, counts[BUSY]
            counts[BUSY] += 1
            # those that left the heap by starting are forgotten at once
            state[shape, QUEUE_SIZE] = 0
        enqueue(shapes.queue, state, shape, attempts.rank[attempt])
        _count_waiting(attempt, 1, attempts, shapes, sums, counts)


@njit(**LOOP)
def _count_waiting(attempt, sign, attempts, shapes, sums, counts):
    """Count an attempt in or out of the waiting; it waited for what its shape did meanwhile."""
    shape = attempts.shape[attempt]
    shapes.state[shape, WAITING] += sign
    shapes.state[shape, SHORT_WAITING] += sign * attempts.is_short[attempt]
    counts[GPU_JOBS] += sign * min(shapes.asks[shape, ASK_GPUS], 1)
    for cause in range(CAUSES):
        sums.waits[attempts.job[attempt], cause] -= sign * shapes.seconds[shape, cause]


@njit(**LOOP)
def _start(now, attempts, shapes, nodes, quotas, sums, counts):
    """Let attempts start: they wait no longer, and hold their nodes."""
    active, spot = shapes.active, shapes.spot
    while counts[BEGUN] < attempts.by_start.size:
        attempt = attempts.by_start[counts[BEGUN]]
        start_s, shape = attempts.start_s[attempt], attempts.shape[attempt]
        if start_s > now:
            break
        counts[BEGUN] += 1
        if start_s > attempts.ready_s[attempt]:
            _count_waiting(attempt, -1, attempts, shapes, sums, counts)
            if shapes.state[shape, WAITING] == 0:
                counts[BUSY] -= 1
                last = active[counts[BUSY]]
                active[spot[shape]] = last
                spot[last] = spot[shape]
        if attempts.end_s[attempt] <= start_s:
            continue
        first = attempts.first_instance[attempt]
        for row in range(first, first + shapes.asks[shape, ASK_INSTANCES]):
            node = attempts.placed[row, 0]
            _count_in(node, -1, nodes)
            occupy(nodes.matrix, node, shapes.asks, shape, attempts.placed[row, 1])
            _note_change(node, nodes, counts)
        _hold(shapes.asks, shape, quotas, 1)


@njit(
    types.void(
        compiled(AttemptArrays),
        compiled(ShapeArrays),
        compiled(FreeNodes),
        compiled(QuotaArrays),
        compiled(Span),
        compiled(WaitSums),
        INT_LINE,
    ),
    **LOOP,
)
def sweep_wait_causes(attempts, shapes, nodes, quotas, span, sums, counts):
    """Fill the sums: seconds waited per job and cause, blamed on jobs; idle and stranded GPUs."""
    for node in range(nodes.matrix.shape[0]):
        _count_in(node, 1, nodes)
    now, then = -np.inf, _next_event(attempts, nodes, counts)
    while then < np.inf:
        if now > -np.inf and then > now:
            _add_waits(now, then - now, attempts, shapes, nodes, quotas, sums, counts)
            _add_idle_gpus(now, then, span, nodes, sums, counts)
        now = then
        # what the nodes do: ends first, then switches, then starts
        _end(now, attempts, shapes, nodes, quotas, counts)
        _switch(now, nodes, counts)
        _join(now, attempts, shapes, sums, counts)
        _start(now, attempts, shapes, nodes, quotas, sums, counts)
        then = _next_event(attempts, nodes, counts)
