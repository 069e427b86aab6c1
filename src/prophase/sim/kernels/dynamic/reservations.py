"""Reservations: when and where will a job fit, if run times are as believed?

EASY keeps one reservation, for the first job that has to wait, and only counts: a later job
may start if the first one still has room at its instant. (Lifka, "The ANL/IBM SP Scheduling
System", 1995.) Conservative backfilling keeps a reservation on nodes for every waiting job: a
plan is a list of events, each taking an instance's resources from a node or giving them back.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from prophase.sim.kernels.dynamic.array_layout import (
    OFF,
    RULE_RESOLUTION,
    RULE_WHOLE_NODES,
    RUNNING,
)
from prophase.sim.kernels.gang_placement import ON_GPUS, ON_NODE
from prophase.sim.kernels.node_resources import fits, give_back, occupy, room, take
from prophase.sim.kernels.queue_heaps import pop_end, push_end
from prophase.sim.signatures import (
    ASK_INSTANCES,
    ASK_LEFT,
    FREE_CPU,
    FREE_GPU,
    FREE_MEMORY,
    FREE_SHARE,
    FREE_WHOLE,
    GPUS,
    JOB_BELIEVED,
)

#: columns of a plan's event: 1 gives back, -1 takes (2 and -2: the whole node); where, what, and
#: which GPUs
SIGN, EVENT_NODE, EVENT_SHAPE, EVENT_GPUS = range(4)


@njit(cache=True)
def total_room(nodes, asks, shape):
    """Count the instances of a shape for which there is room, up to those it needs."""
    free = 0
    for node in range(nodes.shape[0]):
        free += room(nodes, node, asks, shape)
        if free >= asks[shape, ASK_INSTANCES]:
            break
    return free


@njit(cache=True)
def reserve(nodes, future, asks, shape, jobs, runners, counts, shape_of, row_of, placed, now):
    """Return when the shape will fit, and leave the nodes as they are then in ``future``."""
    future[:, :] = nodes
    wanted = asks[shape, ASK_INSTANCES]
    free = 0
    for node in range(nodes.shape[0]):
        free += room(future, node, asks, shape)
    if free >= wanted:
        return now
    # a heap, not a sort: seldom more than a few of the running jobs have to end
    size = 0
    ends, enders = np.empty(counts[RUNNING], np.float64), np.empty(counts[RUNNING], np.int64)
    for place in range(counts[RUNNING]):
        believed = max(jobs[runners[place], JOB_BELIEVED], now)
        size = push_end(ends, enders, size, believed, runners[place])
    while size > 0:
        instant = ends[0]
        while size > 0 and ends[0] == instant:
            job = enders[0]
            size = pop_end(ends, enders, size)
            kind = shape_of[job]
            for row in range(row_of[job], row_of[job] + asks[kind, ASK_INSTANCES]):
                node = placed[row, ON_NODE]
                free -= room(future, node, asks, shape)
                give_back(future, node, asks, kind, placed[row, ON_GPUS])
                free += room(future, node, asks, shape)
        if free >= wanted:
            return instant
    return np.inf


@njit(cache=True)
def believed_ends(jobs, runners, counts, asks, shape_of, row_of, placed, now, times, events):
    """Write the end of every running instance into an empty plan; return its length."""
    size = 0
    running = counts[RUNNING]
    ends = np.empty(running, np.float64)
    for place in range(running):
        ends[place] = max(jobs[runners[place], JOB_BELIEVED], now)
    for place in np.argsort(ends):
        job = runners[place]
        shape = shape_of[job]
        for row in range(row_of[job], row_of[job] + asks[shape, ASK_INSTANCES]):
            times[size] = ends[place]
            events[size, SIGN], events[size, EVENT_NODE] = 1, placed[row, ON_NODE]
            events[size, EVENT_SHAPE], events[size, EVENT_GPUS] = shape, placed[row, ON_GPUS]
            size += 1
    return size


@njit(cache=True)
def enter(times, events, size, time, sign, node, shape, bits):
    """Put an event into the plan and return its new length; at one instant, first who leaves."""
    place = np.searchsorted(times[:size], time, side="left")
    if sign < 0:
        place = np.searchsorted(times[:size], time, side="right")
    for back in range(size, place, -1):
        times[back] = times[back - 1]
        events[back] = events[back - 1]
    times[place] = time
    events[place, SIGN], events[place, EVENT_NODE] = sign, node
    events[place, EVENT_SHAPE], events[place, EVENT_GPUS] = shape, bits
    return size + 1


@njit(cache=True)
def enter_reservation(times, events, size, now, begin, end, shape, planned, instances, rules):
    """Put a reserved job into the plan; return its new length."""
    sign = 2 if rules[RULE_WHOLE_NODES] != 0 else 1
    step = rules[RULE_RESOLUTION]
    if step > 0:
        begin, end = max(now, np.floor(begin / step) * step), np.floor(end / step) * step
    if end <= begin:
        return size
    for row in range(instances):
        node, bits = planned[row, ON_NODE], planned[row, ON_GPUS]
        if sign == 2 and row > 0 and node == planned[row - 1, ON_NODE]:
            continue
        size = enter(times, events, size, begin, -sign, node, shape, bits)
        size = enter(times, events, size, end, sign, node, shape, bits)
    return size


@njit(cache=True)
def _apply(nodes, asks, event):
    node, shape, bits = event[EVENT_NODE], event[EVENT_SHAPE], event[EVENT_GPUS]
    if event[SIGN] == 2:
        nodes[node, FREE_MEMORY] += OFF
    elif event[SIGN] == -2:
        nodes[node, FREE_MEMORY] -= OFF
    elif event[SIGN] == 1:
        give_back(nodes, node, asks, shape, bits)
    else:
        occupy(nodes, node, asks, shape, bits)


@njit(cache=True)
def _keep_lowest(low, seen, node):
    """Lower what a node has free throughout a stretch of time to what it has free now."""
    for column in (FREE_CPU, FREE_MEMORY):
        low[node, column] = min(low[node, column], seen[node, column])
    for gpu in range(low[node, GPUS]):
        share = min(low[node, FREE_SHARE + gpu], seen[node, FREE_SHARE + gpu])
        low[node, FREE_SHARE + gpu] = share


@njit(cache=True)
def _count_gpus(low):
    """Add up what is free of GPUs; one promised twice, by rounding, leaves nothing, not less."""
    for node in range(low.shape[0]):
        whole = total = 0
        for gpu in range(low[node, GPUS]):
            share = max(low[node, FREE_SHARE + gpu], 0)
            total += share
            whole += share == 1000
        low[node, FREE_GPU], low[node, FREE_WHOLE] = total, whole


@njit(cache=True)
def _place_on(score, choose_gpu, facts, nodes, asks, shape, fill, planned):
    """Choose nodes and GPUs for all instances as the place policy would; tell if it worked."""
    node = -1
    for row in range(asks[shape, ASK_INSTANCES]):
        asks[shape, ASK_LEFT] = asks[shape, ASK_INSTANCES] - row
        if not (fill and node >= 0 and fits(nodes, node, asks, shape, False)):
            node, highest = -1, -np.inf
            for one in range(nodes.shape[0]):
                if fits(nodes, one, asks, shape, False):
                    mine = score(nodes, one, asks, shape, facts)
                    if node < 0 or mine > highest:
                        node, highest = one, mine
        if node < 0:
            return False
        planned[row, ON_NODE] = node
        planned[row, ON_GPUS] = take(choose_gpu, nodes, node, asks, shape, facts, False)
    return True


@njit(cache=True)
def earliest(
    score, choose_gpu, facts, fill, nodes, sweep, seen, low, asks, shape, length, now, window,
    times, events, size, planned,
):  # fmt: skip
    """Find when a job of this length fits beside the plan; fill ``planned`` with its places.

    Returns the instant and whether that is at once; infinity if it is not within the window.
    """
    wanted = asks[shape, ASK_INSTANCES]
    sweep[:, :] = nodes
    free = 0
    for node in range(nodes.shape[0]):
        free += room(sweep, node, asks, shape)
    instant, place, at_once = now, 0, True
    while True:
        if free >= wanted:
            low[:, :] = sweep
            lowered = False
            ahead = place
            while ahead < size and times[ahead] < instant + length:
                if not lowered and events[ahead, SIGN] < 0:
                    seen[:, :] = sweep
                    for earlier in range(place, ahead):
                        _apply(seen, asks, events[earlier])
                    lowered = True
                if lowered:
                    _apply(seen, asks, events[ahead])
                    if events[ahead, SIGN] < 0:
                        _keep_lowest(low, seen, events[ahead, EVENT_NODE])
                ahead += 1
            _count_gpus(low)
            if _place_on(score, choose_gpu, facts, low, asks, shape, fill, planned):
                return instant, at_once
        if place >= size:
            return np.inf, False
        instant, at_once = times[place], False
        if instant > now + window:
            return np.inf, False
        while place < size and times[place] == instant:
            node = events[place, EVENT_NODE]
            free -= room(sweep, node, asks, shape)
            _apply(sweep, asks, events[place])
            free += room(sweep, node, asks, shape)
            place += 1
