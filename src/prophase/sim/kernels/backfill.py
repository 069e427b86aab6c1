"""The event loop with EASY backfilling: the first job in the queue gets a reservation.

The reservation is the earliest instant at which the first job would fit if running jobs end
when their estimates say. A later job may start now if it fits and either ends before that
instant, or leaves enough room for the first job at it. (Lifka, "The ANL/IBM SP Scheduling
System", 1995.) Estimates that are overrun count as ending now.
"""

from __future__ import annotations

import numpy as np
from numba import njit, types

from prophase.sim.kernels.gangs import ON_GPUS, ON_NODE, free_rows, place_gang
from prophase.sim.kernels.heaps import pop_end, push_end
from prophase.sim.kernels.nodes import give_back, occupy, room
from prophase.sim.signatures import (
    ASK_INSTANCES,
    CHOICE_FUNCTION,
    FLAG,
    FLOAT_GRID,
    FLOAT_LINE,
    INT,
    INT_GRID,
    INT_LINE,
    SCORE_FUNCTION,
    Floats,
    Ints,
)


@njit(INT(INT_LINE, INT, INT), cache=True)
def _insert(line: Ints, size: int, rank: int) -> int:
    """Put a rank into the sorted line of waiting jobs; return its new length."""
    place = np.searchsorted(line[:size], rank)
    for back in range(size, place, -1):
        line[back] = line[back - 1]
    line[place] = rank
    return size + 1


@njit(
    types.float64(
        INT_GRID,
        INT_GRID,
        INT_GRID,
        INT,
        INT_LINE,
        FLOAT_LINE,
        INT_LINE,
        INT_LINE,
        INT_GRID,
        types.float64,
    ),
    cache=True,
)
def _reserve(
    nodes: Ints,
    future: Ints,
    asks: Ints,
    shape: int,
    running: Ints,
    estimated_end: Floats,
    shape_of: Ints,
    first_instance: Ints,
    placed: Ints,
    now: float,
) -> float:
    """Return when the shape will fit, and leave the nodes as they are then in ``future``."""
    future[:, :] = nodes
    wanted = asks[shape, ASK_INSTANCES]
    free = 0
    for node in range(nodes.shape[0]):
        free += room(future, node, asks, shape)
    ends = np.empty(running.size, np.float64)
    for place in range(running.size):
        ends[place] = max(estimated_end[running[place]], now)
    order = np.argsort(ends)
    place = 0
    while free < wanted and place < running.size:
        instant = ends[order[place]]
        while place < running.size and ends[order[place]] == instant:
            job = running[order[place]]
            kind = shape_of[job]
            for row in range(first_instance[job], first_instance[job] + asks[kind, ASK_INSTANCES]):
                node = placed[row, ON_NODE]
                free -= room(future, node, asks, shape)
                give_back(future, node, asks, kind, placed[row, ON_GPUS])
                free += room(future, node, asks, shape)
            place += 1
        if free >= wanted:
            return instant
    return now if free >= wanted else np.inf


@njit(FLAG(INT_GRID, INT_GRID, INT), cache=True)
def _has_room(nodes: Ints, asks: Ints, shape: int) -> bool:
    free = 0
    for node in range(nodes.shape[0]):
        free += room(nodes, node, asks, shape)
        if free >= asks[shape, ASK_INSTANCES]:
            return True
    return False


@njit(
    types.void(
        FLOAT_LINE,
        FLOAT_LINE,
        FLOAT_LINE,
        INT_LINE,
        INT_LINE,
        INT_LINE,
        INT_GRID,
        INT_GRID,
        SCORE_FUNCTION,
        CHOICE_FUNCTION,
        FLOAT_GRID,
        FLAG,
        FLOAT_GRID,
        INT_GRID,
        INT_GRID,
        INT_LINE,
        INT_LINE,
        INT_GRID,
        FLOAT_LINE,
    ),
    cache=True,
)
def replay_easy(
    submit,
    duration,
    estimate,
    shape_of,
    rank_of,
    job_of_rank,
    nodes,
    asks,
    score,
    choose_gpu,
    facts,
    fill,
    scores,
    winners,
    shapes,
    log,
    first_instance,
    placed,
    start,
):
    """Fill ``start`` and ``placed`` as ``replay`` does, with a reservation for the first job."""
    count = submit.size
    end_times, end_jobs = np.empty(count, np.float64), np.empty(count, np.int64)
    estimated_end = np.empty(count, np.float64)
    line = np.empty(count, np.int64)
    future = np.empty_like(nodes)
    # at which pass a shape was found not to fit: it need not be tried again in that pass
    failed_at = np.full(asks.shape[0], -1, np.int64)
    running = arrived = waiting = changes = passes = 0
    while arrived < count or running > 0:
        now = end_times[0] if running > 0 else np.inf
        if arrived < count and submit[arrived] < now:
            now = submit[arrived]
        if now == np.inf:
            break
        while running > 0 and end_times[0] <= now:
            job = end_jobs[0]
            running = pop_end(end_times, end_jobs, running)
            kind = shape_of[job]
            instances = asks[kind, ASK_INSTANCES]
            first = first_instance[job]
            changes = free_rows(nodes, asks, kind, placed, first, instances, log, changes)
        while arrived < count and submit[arrived] <= now:
            waiting = _insert(line, waiting, rank_of[arrived])
            arrived += 1

        passes += 1
        head = -1
        reserved = np.inf
        kept = 0
        for place in range(waiting):
            job = job_of_rank[line[place]]
            shape = shape_of[job]
            first, instances = first_instance[job], asks[shape, ASK_INSTANCES]
            starts = False
            if failed_at[shape] != passes:
                started, changes = place_gang(
                    score,
                    choose_gpu,
                    facts,
                    nodes,
                    asks,
                    shape,
                    False,
                    fill,
                    scores,
                    winners,
                    shapes,
                    log,
                    changes,
                    placed,
                    first,
                )
                starts = started == 1
            if not starts:
                failed_at[shape] = passes
            elif head >= 0:
                for row in range(first, first + instances):
                    occupy(future, placed[row, ON_NODE], asks, shape, placed[row, ON_GPUS])
                if now + estimate[job] > reserved and not _has_room(future, asks, head):
                    starts = False
                    changes = free_rows(nodes, asks, shape, placed, first, instances, log, changes)
                if not starts or now + estimate[job] <= reserved:
                    # it will not be there at the reserved instant
                    for row in range(first, first + instances):
                        give_back(future, placed[row, ON_NODE], asks, shape, placed[row, ON_GPUS])
            if starts:
                start[job] = now
                estimated_end[job] = now + estimate[job]
                running = push_end(end_times, end_jobs, running, now + duration[job], job)
                continue
            line[kept] = line[place]
            kept += 1
            if head < 0:
                head = shape
                reserved = _reserve(
                    nodes,
                    future,
                    asks,
                    shape,
                    end_jobs[:running],
                    estimated_end,
                    shape_of,
                    first_instance,
                    placed,
                    now,
                )
        waiting = kept
