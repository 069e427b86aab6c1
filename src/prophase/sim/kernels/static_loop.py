"""The static loop: keys and nodes stay as they are; a job that started runs to its end.

At one instant: completions, then arrivals, then one pass over the queue.

Waiting jobs are kept in one heap per *shape* (distinct request). Within a pass resources only
shrink, so when one job of a shape does not fit, none of that shape does; and between passes a
shape that waits can only come to fit on a node that was freed. So a pass asks each freed node
for the first job that fits on it, and decides exactly as a walk over the whole sorted queue
would.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numba import types

from prophase.sim.array_groups import compiled
from prophase.sim.compilation import njit
from prophase.sim.kernels.gang_placement import ON_NODE, free_rows, place_gang
from prophase.sim.kernels.node_resources import fits
from prophase.sim.kernels.queue_heaps import (
    BLOCKED_AT,
    HEAD_NEW,
    HEAD_RANK,
    NOBODY,
    QUEUE_FIRST,
    QUEUE_SIZE,
    WAITING_JOBS,
    WaitingJobs,
    dequeue,
    enqueue,
    first_head,
    first_that_fits,
    pop_end,
    push_end,
    set_head,
)
from prophase.sim.kernels.score_trees import PLACE_RULES, TREES, Policy, ScoreTrees
from prophase.sim.signatures import (
    ASK_INSTANCES,
    CHOICE_FUNCTION,
    FLAG,
    INT_GRID,
    LOOP,
    PART,
    SCORE_FUNCTION,
    FloatLine,
    Floats,
    IntGrid,
    IntLine,
    Ints,
)

#: rows of the freed nodes: the node, its first job's shape and rank as last looked up, and the
#: event at which the node of that number was last freed
FREED_NODE, FREED_SHAPE, FREED_RANK, FREED_AT = range(4)
_ReadLine = Annotated[Floats, types.Array(types.float64, 1, "C", readonly=True)]


class StaticJobs(NamedTuple):
    """Jobs in order of submission."""

    submit_s: _ReadLine
    duration_s: _ReadLine
    shape_of: IntLine
    #: the order of the queue: the smallest rank starts first
    rank_of: IntLine
    job_of_rank: IntLine


class Starts(NamedTuple):
    """What the loop fills: when jobs start, and the nodes and GPUs of their instances."""

    start_s: FloatLine
    #: row of the placement matrix where a job's instances begin
    first_instance: IntLine
    placed: IntGrid


class RunningJobs(NamedTuple):
    """A heap of the ends of running jobs, and the nodes that were freed by the last ends."""

    end_s: FloatLine
    jobs: IntLine
    freed: IntGrid


STATIC_JOBS, STARTS, RUNNING_JOBS = (
    compiled(StaticJobs),
    compiled(Starts),
    compiled(RunningJobs),
)


@njit(**PART)
def _first_for_freed(
    freed: Ints,
    count: int,
    waiting: WaitingJobs,
    nodes: Ints,
    asks: Ints,
    pooled: bool,
    trees: ScoreTrees,
    passes: int,
) -> int:
    """Look up the first job for each freed node; drop nodes that fit nobody, return how many stay.

    What was found for a node stays right while that job still waits and still fits: the others
    only move back.
    """
    heads = waiting.heads
    place, width = 0, heads.shape[0] // 2
    while place < count:
        node, shape = freed[FREED_NODE, place], freed[FREED_SHAPE, place]
        known = (
            shape >= 0
            and heads[width + shape, HEAD_RANK] == freed[FREED_RANK, place]
            and waiting.shapes[shape, BLOCKED_AT] != passes
            and fits(nodes, node, asks, shape, pooled)
        )
        if not known:
            shape = first_that_fits(waiting, nodes, node, asks, pooled, trees, passes)
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


@njit(**PART)
def _fits_freed(freed: Ints, count: int, nodes: Ints, asks: Ints, shape: int, pooled: bool) -> bool:
    """Tell whether an instance of the shape fits on a node that was just freed."""
    fit = False
    for place in range(count):
        fit = fit or fits(nodes, freed[FREED_NODE, place], asks, shape, pooled)
    return fit


@njit(
    types.void(
        SCORE_FUNCTION,
        CHOICE_FUNCTION,
        PLACE_RULES,
        FLAG,
        STATIC_JOBS,
        INT_GRID,
        INT_GRID,
        TREES,
        WAITING_JOBS,
        RUNNING_JOBS,
        STARTS,
    ),
    **LOOP,
)
def static_loop(
    score, choose_gpu, place_rules, strict, jobs, nodes, asks, trees, waiting, running_jobs, starts
):
    """Fill ``starts``; a gang starts with all its instances or not at all."""
    policy = Policy(score, choose_gpu, place_rules)
    pooled, submit, shape_of = place_rules.pooled, jobs.submit_s, jobs.shape_of
    shapes, heads = waiting.shapes, waiting.heads
    end_s, freed = running_jobs.end_s, running_jobs.freed
    count, width = submit.size, heads.shape[0] // 2
    running = arrived = passes = 0
    # in strict order: the shape of the first job, if it is known not to fit
    stuck = -1
    while arrived < count or running > 0:
        now = end_s[0] if running > 0 else np.inf
        if arrived < count and submit[arrived] < now:
            now = submit[arrived]
        if now == np.inf:
            # only jobs that never end are left
            break
        passes += 1

        released = 0
        while running > 0 and end_s[0] <= now:
            job = running_jobs.jobs[0]
            running = pop_end(end_s, running_jobs.jobs, running)
            shape = shape_of[job]
            first, instances = starts.first_instance[job], asks[shape, ASK_INSTANCES]
            free_rows(nodes, asks, shape, starts.placed, first, instances, trees)
            for row in range(first, first + instances):
                node = starts.placed[row, ON_NODE]
                if freed[FREED_AT, node] != passes:
                    freed[FREED_AT, node] = passes
                    freed[FREED_NODE, released], freed[FREED_SHAPE, released] = node, -1
                    released += 1

        while arrived < count and submit[arrived] <= now:
            shape = shape_of[arrived]
            is_new = shapes[shape, QUEUE_SIZE] == 0 or heads[width + shape, HEAD_NEW] != NOBODY
            enqueue(waiting.ranks, shapes, shape, jobs.rank_of[arrived])
            rank = waiting.ranks[shapes[shape, QUEUE_FIRST]]
            if rank != heads[width + shape, HEAD_RANK]:
                set_head(heads, asks, shape, rank, is_new)
            arrived += 1

        while True:
            if strict:
                shape = first_head(heads, HEAD_RANK)
                # since it was found not to fit, only nodes that were freed gained room
                known = shape >= 0 and shape == stuck
                if known and not _fits_freed(freed, released, nodes, asks, shape, pooled):
                    break
            else:
                shape, smallest = first_head(heads, HEAD_NEW), heads[1, HEAD_NEW]
                released = _first_for_freed(
                    freed, released, waiting, nodes, asks, pooled, trees, passes
                )
                for place in range(released):
                    if freed[FREED_RANK, place] < smallest:
                        shape, smallest = freed[FREED_SHAPE, place], freed[FREED_RANK, place]
            if shape < 0:
                break
            rank = heads[width + shape, HEAD_RANK]
            job = jobs.job_of_rank[rank]
            first = starts.first_instance[job]
            if place_gang(policy, nodes, asks, shape, trees, starts.placed, first):
                dequeue(waiting.ranks, shapes, shape)
                starts.start_s[job] = now
                end = now + jobs.duration_s[job]
                running = push_end(end_s, running_jobs.jobs, running, end, job)
                is_new = heads[width + shape, HEAD_NEW] != NOBODY
                if shapes[shape, QUEUE_SIZE] > 0:
                    rank = waiting.ranks[shapes[shape, QUEUE_FIRST]]
                    set_head(heads, asks, shape, rank, is_new)
                else:
                    set_head(heads, asks, shape, NOBODY, False)
                stuck = -1
                continue
            shapes[shape, BLOCKED_AT] = passes
            set_head(heads, asks, shape, rank, False)
            stuck = shape
            if strict:
                break
