"""Reservations: when and where will a job fit, if run times are as believed?

EASY keeps one reservation, for the first job that has to wait, and only counts: a later job
may start if the first one still has room at its instant. (Lifka, "The ANL/IBM SP Scheduling
System", 1995.) Conservative backfilling keeps a reservation on nodes for every waiting job: a
plan is a list of events, each taking an instance's resources from a node or giving them back.
"""

from __future__ import annotations

import numpy as np

from prophase.sim.compilation import njit
from prophase.sim.kernels.dynamic.array_layout import OFF, PLAN_SIZE, RUNNING
from prophase.sim.kernels.gang_placement import ON_GPUS, ON_NODE
from prophase.sim.kernels.node_resources import (
    copy_nodes,
    fits,
    give_back,
    occupy,
    room,
    take,
)
from prophase.sim.kernels.queue_heaps import pop_end, push_end
from prophase.sim.kernels.queue_order import sort_queue
from prophase.sim.kernels.score_trees import scan
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
    JOB_ESTIMATE,
    JOB_OVERHEAD,
    LOOP,
)

#: columns of a plan's event: 1 gives back, -1 takes (2 and -2: the whole node); where, what, and
#: which GPUs
SIGN, EVENT_NODE, EVENT_SHAPE, EVENT_GPUS = range(4)


@njit(**LOOP)
def total_room(nodes, asks, shape):
    """Count the instances of a shape for which there is room, up to those it needs."""
    free = 0
    for node in range(nodes.shape[0]):
        free += room(nodes, node, asks, shape)
        if free >= asks[shape, ASK_INSTANCES]:
            break
    return free


@njit(**LOOP)
def reserve(shape, now, jobs, nodes, running, plan, counts):
    """Return when the shape will fit, and leave the nodes as they are then in ``plan.future``."""
    future, asks, ends, enders = plan.future, jobs.asks, plan.end_s, plan.enders
    copy_nodes(nodes.matrix, future)
    wanted = asks[shape, ASK_INSTANCES]
    free = 0
    for node in range(future.shape[0]):
        free += room(future, node, asks, shape)
    if free >= wanted:
        return now
    # a heap, not a sort: seldom more than a few of the running jobs have to end
    size = 0
    for place in range(counts[RUNNING]):
        believed = max(jobs.table[running.jobs[place], JOB_BELIEVED], now)
        size = push_end(ends, enders, size, believed, running.jobs[place])
    while size > 0:
        instant = ends[0]
        while size > 0 and ends[0] == instant:
            job = enders[0]
            size = pop_end(ends, enders, size)
            kind, first = jobs.shape_of[job], jobs.row_of[job]
            for row in range(first, first + asks[kind, ASK_INSTANCES]):
                node = running.placed[row, ON_NODE]
                free -= room(future, node, asks, shape)
                give_back(future, node, asks, kind, running.placed[row, ON_GPUS])
                free += room(future, node, asks, shape)
        if free >= wanted:
            return instant
    return np.inf


@njit(**LOOP)
def _set_event(plan, place, time, sign, node, shape, bits):
    plan.times[place] = time
    plan.events[place, SIGN], plan.events[place, EVENT_NODE] = sign, node
    plan.events[place, EVENT_SHAPE], plan.events[place, EVENT_GPUS] = shape, bits


@njit(**LOOP)
def plan_believed_ends(now, jobs, running, plan, counts):
    """Write the end of every running instance into an empty plan."""
    size, ends = 0, plan.end_s
    for place in range(counts[RUNNING]):
        ends[place] = max(jobs.table[running.jobs[place], JOB_BELIEVED], now)
        plan.enders[place] = place
    sort_queue(plan.enders, ends, counts[RUNNING])
    for turn in range(counts[RUNNING]):
        place = plan.enders[turn]
        job = running.jobs[place]
        shape, first = jobs.shape_of[job], jobs.row_of[job]
        for row in range(first, first + jobs.asks[shape, ASK_INSTANCES]):
            node, bits = running.placed[row, ON_NODE], running.placed[row, ON_GPUS]
            _set_event(plan, size, ends[place], 1, node, shape, bits)
            size += 1
    counts[PLAN_SIZE] = size


@njit(**LOOP)
def enter(plan, counts, time, sign, node, shape, bits):
    """Put an event into the plan; at one instant, what gives back comes first."""
    times, events, size = plan.times, plan.events, counts[PLAN_SIZE]
    place, end = 0, size
    while place < end:
        middle = (place + end) // 2
        if times[middle] < time or (sign < 0 and times[middle] == time):
            place = middle + 1
        else:
            end = middle
    for back in range(size, place, -1):
        times[back] = times[back - 1]
        for column in range(events.shape[1]):
            events[back, column] = events[back - 1, column]
    _set_event(plan, place, time, sign, node, shape, bits)
    counts[PLAN_SIZE] = size + 1


@njit(**LOOP)
def enter_reservation(plan, counts, now, begin, end, shape, instances, rules):
    """Put a reserved job into the plan, on the nodes in ``plan.planned``."""
    sign = 2 if rules.whole_nodes else 1
    step = rules.resolution_s
    if step > 0:
        begin, end = max(now, np.floor(begin / step) * step), np.floor(end / step) * step
    if end <= begin:
        return
    for row in range(instances):
        node, bits = plan.planned[row, ON_NODE], plan.planned[row, ON_GPUS]
        if sign == 2 and row > 0 and node == plan.planned[row - 1, ON_NODE]:
            continue
        enter(plan, counts, begin, -sign, node, shape, bits)
        enter(plan, counts, end, sign, node, shape, bits)


@njit(**LOOP)
def _apply(nodes, asks, events, place):
    """Let an event of the plan happen."""
    node, shape, bits = (
        events[place, EVENT_NODE],
        events[place, EVENT_SHAPE],
        events[place, EVENT_GPUS],
    )
    sign = events[place, SIGN]
    if sign == 2:
        nodes[node, FREE_MEMORY] += OFF
    elif sign == -2:
        nodes[node, FREE_MEMORY] -= OFF
    elif sign == 1:
        give_back(nodes, node, asks, shape, bits)
    else:
        occupy(nodes, node, asks, shape, bits)


@njit(**LOOP)
def _keep_lowest(low, seen, node):
    """Lower what a node has free throughout a stretch of time to what it has free now."""
    for column in (FREE_CPU, FREE_MEMORY):
        low[node, column] = min(low[node, column], seen[node, column])
    for gpu in range(low[node, GPUS]):
        share = min(low[node, FREE_SHARE + gpu], seen[node, FREE_SHARE + gpu])
        low[node, FREE_SHARE + gpu] = share


@njit(**LOOP)
def _count_gpus(low):
    """Add up what is free of GPUs; one promised twice, by rounding, leaves nothing, not less."""
    for node in range(low.shape[0]):
        whole = total = 0
        for gpu in range(low[node, GPUS]):
            share = max(low[node, FREE_SHARE + gpu], 0)
            total += share
            whole += share == 1000
        low[node, FREE_GPU], low[node, FREE_WHOLE] = total, whole


@njit(**LOOP)
def _place_on(policy, nodes, asks, shape, planned):
    """Choose nodes and GPUs for all instances as the place policy would; tell if it worked."""
    node, rules = -1, policy.rules
    for row in range(asks[shape, ASK_INSTANCES]):
        asks[shape, ASK_LEFT] = asks[shape, ASK_INSTANCES] - row
        if not (rules.fill and node >= 0 and fits(nodes, node, asks, shape, rules.pooled)):
            node = scan(policy, nodes, asks, shape)
        if node < 0:
            return False
        planned[row, ON_NODE] = node
        planned[row, ON_GPUS] = take(
            policy.choose_gpu, nodes, node, asks, shape, rules.facts, rules.pooled
        )
    return True


@njit(**LOOP)
def _lowest_until(end, place, asks, plan, size):
    """Fill ``plan.low`` with what stays free on the nodes of ``plan.sweep`` until an instant."""
    times, events, seen, low = plan.times, plan.events, plan.seen, plan.low
    copy_nodes(plan.sweep, low)
    lowered = False
    ahead = place
    while ahead < size and times[ahead] < end:
        if not lowered and events[ahead, SIGN] < 0:
            copy_nodes(plan.sweep, seen)
            for earlier in range(place, ahead):
                _apply(seen, asks, events, earlier)
            lowered = True
        if lowered:
            _apply(seen, asks, events, ahead)
            if events[ahead, SIGN] < 0:
                _keep_lowest(low, seen, events[ahead, EVENT_NODE])
        ahead += 1
    _count_gpus(low)


@njit(**LOOP)
def earliest(job, now, policy, jobs, nodes, plan, rules, counts):
    """Find when a job fits beside the plan; fill ``plan.planned`` with its places.

    Returns the instant and whether that is at once; infinity if it is not within the window.
    """
    asks, sweep, shape = jobs.asks, plan.sweep, jobs.shape_of[job]
    length, size = believed_length(jobs.table, job), counts[PLAN_SIZE]
    wanted = asks[shape, ASK_INSTANCES]
    copy_nodes(nodes.matrix, sweep)
    free = 0
    for node in range(sweep.shape[0]):
        free += room(sweep, node, asks, shape)
    instant, place, at_once = now, 0, True
    while True:
        if free >= wanted:
            _lowest_until(instant + length, place, asks, plan, size)
            if _place_on(policy, plan.low, asks, shape, plan.planned):
                return instant, at_once
        if place >= size:
            return np.inf, False
        instant, at_once = plan.times[place], False
        if instant > now + rules.window_s:
            return np.inf, False
        while place < size and plan.times[place] == instant:
            node = plan.events[place, EVENT_NODE]
            free -= room(sweep, node, asks, shape)
            _apply(sweep, asks, plan.events, place)
            free += room(sweep, node, asks, shape)
            place += 1


@njit(**LOOP)
def believed_length(table, job):
    """Return how long the scheduler believes a job will run, overhead included."""
    return table[job, JOB_OVERHEAD] + table[job, JOB_ESTIMATE]
