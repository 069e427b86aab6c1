"""The event loop: completions, then arrivals, then one pass over the queue.

Waiting jobs are kept in one heap per *shape* (distinct request). Within a pass resources
only shrink, so when one job of a shape does not fit, none of that shape does: a pass costs
the number of shapes, not of waiting jobs, and decides exactly as a walk over the whole
sorted queue would.
"""

from __future__ import annotations

import numpy as np
from numba import njit, types

from prophase.sim.kernels.gangs import free_rows, place_gang
from prophase.sim.kernels.heaps import dequeue, enqueue, pop_end, push_end
from prophase.sim.kernels.trees import BLOCKED_AT, QUEUE_FIRST, QUEUE_SIZE
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
)

STRICT, SKIP = 0, 1


@njit(
    types.void(
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
        INT,
        FLAG,
        FLAG,
        FLOAT_GRID,
        INT_GRID,
        INT_GRID,
        INT_LINE,
        INT_LINE,
        INT_LINE,
        INT_GRID,
        FLOAT_LINE,
    ),
    cache=True,
)
def replay(
    submit,
    duration,
    shape_of,
    rank_of,
    job_of_rank,
    nodes,
    asks,
    score,
    choose_gpu,
    facts,
    discipline,
    pooled,
    fill,
    scores,
    winners,
    shapes,
    log,
    queue,
    first_instance,
    placed,
    start,
):
    """Fill ``start`` and ``placed`` for jobs given in order of submission.

    ``rank_of`` is the order of the queue: the smallest rank starts first. A gang starts with
    all its instances or not at all; ``fill`` packs a node full before the next one is taken.
    ``pooled`` lets a fraction straddle two GPUs of a node.
    """
    count = submit.size
    end_times, end_jobs = np.empty(count, np.float64), np.empty(count, np.int64)
    running = arrived = releases = changes = 0
    while arrived < count or running > 0:
        now = end_times[0] if running > 0 else np.inf
        if arrived < count and submit[arrived] < now:
            now = submit[arrived]
        if now == np.inf:
            # only jobs that never end are left
            break

        while running > 0 and end_times[0] <= now:
            job = end_jobs[0]
            running = pop_end(end_times, end_jobs, running)
            shape = shape_of[job]
            instances = asks[shape, ASK_INSTANCES]
            first = first_instance[job]
            changes = free_rows(nodes, asks, shape, placed, first, instances, log, changes)
            releases += 1

        while arrived < count and submit[arrived] <= now:
            enqueue(queue, shapes, shape_of[arrived], rank_of[arrived])
            arrived += 1

        while True:
            # the waiting job of smallest rank whose shape may still fit
            chosen, smallest = -1, count
            for shape in range(asks.shape[0]):
                if shapes[shape, QUEUE_SIZE] > 0:
                    rank = queue[shapes[shape, QUEUE_FIRST]]
                    open_ = discipline == STRICT or shapes[shape, BLOCKED_AT] != releases
                    if open_ and rank < smallest:
                        chosen, smallest = shape, rank
            if chosen < 0 or shapes[chosen, BLOCKED_AT] == releases:
                break
            job = job_of_rank[smallest]
            started, changes = place_gang(
                score,
                choose_gpu,
                facts,
                nodes,
                asks,
                chosen,
                pooled,
                fill,
                scores,
                winners,
                shapes,
                log,
                changes,
                placed,
                first_instance[job],
            )
            if started:
                dequeue(queue, shapes, chosen)
                start[job] = now
                running = push_end(end_times, end_jobs, running, now + duration[job], job)
                continue
            shapes[chosen, BLOCKED_AT] = releases
            if discipline == STRICT:
                break
