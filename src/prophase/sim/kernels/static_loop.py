"""The event loop: completions, then arrivals, then one pass over the queue.

Waiting jobs are kept in one heap per *shape* (distinct request). Within a pass resources only
shrink, so when one job of a shape does not fit, none of that shape does; and between passes a
shape that waits can only come to fit on a node that was freed. So a pass asks each freed node
for the first job that fits on it, and decides exactly as a walk over the whole sorted queue
would.
"""

from __future__ import annotations

import numpy as np
from numba import njit, types

from prophase.sim.kernels.gang_placement import ON_NODE, free_rows, place_gang
from prophase.sim.kernels.node_resources import fits
from prophase.sim.kernels.queue_heaps import (
    HEAD_NEW,
    HEAD_RANK,
    NOBODY,
    dequeue,
    enqueue,
    first_head,
    first_that_fits,
    pop_end,
    push_end,
    set_head,
)
from prophase.sim.kernels.score_trees import BLOCKED_AT, QUEUE_FIRST, QUEUE_SIZE
from prophase.sim.signatures import (
    ASK_INSTANCES,
    CHOICE_FUNCTION,
    FLAG,
    FLOAT_GRID,
    FLOAT_LINE,
    INT,
    INT_GRID,
    INT_LINE,
    LOOP,
    SCORE_FUNCTION,
    STEP,
    Ints,
)

STRICT, SKIP = 0, 1
#: rows of the freed nodes: the node, its first job's shape and rank as last looked up, and the
#: event at which the node of that number was last freed
FREED_NODE, FREED_SHAPE, FREED_RANK, FREED_AT = range(4)
_READ_LINE = types.Array(types.float64, 1, "C", readonly=True)


@njit(
    INT(
        INT_GRID,
        INT,
        INT_GRID,
        INT_GRID,
        INT_GRID,
        FLAG,
        FLOAT_GRID,
        INT_GRID,
        INT_GRID,
        INT_LINE,
        INT,
        INT,
        INT_LINE,
    ),
    **STEP,
)
def _first_for_freed(
    freed, count, heads, nodes, asks, pooled, scores, tree_of, shapes, log, changes, passes, stack
):
    """Look up the first job for each freed node; drop nodes that fit nobody, return how many stay.

    What was found for a node stays right while that job still waits and still fits: the others
    only move back.
    """
    place, width = 0, heads.shape[0] // 2
    while place < count:
        node, shape = freed[FREED_NODE, place], freed[FREED_SHAPE, place]
        known = (
            shape >= 0
            and heads[width + shape, HEAD_RANK] == freed[FREED_RANK, place]
            and shapes[shape, BLOCKED_AT] != passes
            and fits(nodes, node, asks, shape, pooled)
        )
        if not known:
            shape = first_that_fits(
                heads, nodes, node, asks, pooled, scores, tree_of, shapes, log, changes, passes,
                stack,
            )  # fmt: skip
            if shape < 0:
                count -= 1
                freed[FREED_NODE, place] = freed[FREED_NODE, count]
                freed[FREED_SHAPE, place] = freed[FREED_SHAPE, count]
                freed[FREED_RANK, place] = freed[FREED_RANK, count]
                continue
            freed[FREED_SHAPE, place] = shape
            freed[FREED_RANK, place] = heads[width + shape, HEAD_RANK]
        place += 1
    return count


@njit(FLAG(INT_GRID, INT, INT_GRID, INT_GRID, INT, FLAG), **STEP)
def _fits_freed(freed: Ints, count: int, nodes: Ints, asks: Ints, shape: int, pooled: bool) -> bool:
    """Tell whether an instance of the shape fits on a node that was just freed."""
    fit = False
    for place in range(count):
        fit = fit or fits(nodes, freed[FREED_NODE, place], asks, shape, pooled)
    return fit


@njit(
    types.void(
        _READ_LINE,
        _READ_LINE,
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
        FLOAT_LINE,
        INT_LINE,
        INT_GRID,
        INT_GRID,
        INT_LINE,
        INT_LINE,
        INT_GRID,
        FLOAT_LINE,
    ),
    **LOOP,
)
def static_loop(
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
    tree_of,
    shapes,
    log,
    queue,
    end_times,
    end_jobs,
    heads,
    freed,
    stack,
    first_instance,
    placed,
    start,
):
    """Fill ``start`` and ``placed`` for jobs given in order of submission.

    ``rank_of`` is the order of the queue: the smallest rank starts first. A gang starts with
    all its instances or not at all; ``fill`` packs a node full before the next one is taken.
    ``pooled`` lets a fraction straddle two GPUs of a node.
    """
    count, width = submit.size, heads.shape[0] // 2
    running = arrived = changes = passes = 0
    # in strict order: the shape of the first job, if it is known not to fit
    stuck = -1
    while arrived < count or running > 0:
        now = end_times[0] if running > 0 else np.inf
        if arrived < count and submit[arrived] < now:
            now = submit[arrived]
        if now == np.inf:
            # only jobs that never end are left
            break
        passes += 1

        released = 0
        while running > 0 and end_times[0] <= now:
            job = end_jobs[0]
            running = pop_end(end_times, end_jobs, running)
            shape = shape_of[job]
            first, instances = first_instance[job], asks[shape, ASK_INSTANCES]
            changes = free_rows(nodes, asks, shape, placed, first, instances, log, changes)
            for row in range(first, first + instances):
                node = placed[row, ON_NODE]
                if freed[FREED_AT, node] != passes:
                    freed[FREED_AT, node] = passes
                    freed[FREED_NODE, released], freed[FREED_SHAPE, released] = node, -1
                    released += 1

        while arrived < count and submit[arrived] <= now:
            shape = shape_of[arrived]
            is_new = shapes[shape, QUEUE_SIZE] == 0 or heads[width + shape, HEAD_NEW] != NOBODY
            enqueue(queue, shapes, shape, rank_of[arrived])
            rank = queue[shapes[shape, QUEUE_FIRST]]
            if rank != heads[width + shape, HEAD_RANK]:
                set_head(heads, asks, shape, rank, is_new)
            arrived += 1

        while True:
            if discipline == STRICT:
                shape = first_head(heads, HEAD_RANK)
                # since it was found not to fit, only nodes that were freed gained room
                known = shape >= 0 and shape == stuck
                if known and not _fits_freed(freed, released, nodes, asks, shape, pooled):
                    break
            else:
                shape, smallest = first_head(heads, HEAD_NEW), heads[1, HEAD_NEW]
                released = _first_for_freed(
                    freed, released, heads, nodes, asks, pooled, scores, tree_of, shapes, log,
                    changes, passes, stack,
                )  # fmt: skip
                for place in range(released):
                    if freed[FREED_RANK, place] < smallest:
                        shape, smallest = freed[FREED_SHAPE, place], freed[FREED_RANK, place]
            if shape < 0:
                break
            rank = heads[width + shape, HEAD_RANK]
            job = job_of_rank[rank]
            started, changes = place_gang(
                score,
                choose_gpu,
                facts,
                nodes,
                asks,
                shape,
                pooled,
                fill,
                scores,
                tree_of,
                shapes,
                log,
                changes,
                placed,
                first_instance[job],
            )
            if started:
                dequeue(queue, shapes, shape)
                start[job] = now
                running = push_end(end_times, end_jobs, running, now + duration[job], job)
                is_new = heads[width + shape, HEAD_NEW] != NOBODY
                if shapes[shape, QUEUE_SIZE] > 0:
                    set_head(heads, asks, shape, queue[shapes[shape, QUEUE_FIRST]], is_new)
                else:
                    set_head(heads, asks, shape, NOBODY, False)
                stuck = -1
                continue
            shapes[shape, BLOCKED_AT] = passes
            set_head(heads, asks, shape, rank, False)
            stuck = shape
            if discipline == STRICT:
                break
