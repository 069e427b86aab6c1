"""Heaps: the waiting jobs of each shape by rank, and the running jobs by their end."""

from __future__ import annotations

from typing import NamedTuple

from numba import types

from prophase.sim.array_groups import compiled
from prophase.sim.compilation import njit
from prophase.sim.kernels.gang_placement import may_fit
from prophase.sim.kernels.node_resources import fits
from prophase.sim.kernels.score_trees import ScoreTrees
from prophase.sim.signatures import (
    ASK_CPU,
    ASK_GPUS,
    ASK_MEMORY,
    ASK_MILLI,
    FLAG,
    FREE_CPU,
    FREE_GPU,
    FREE_MEMORY,
    INT,
    INT_GRID,
    PART,
    STEP,
    Floats,
    IntGrid,
    IntLine,
    Ints,
)

#: columns of the shapes' queues: where a shape's heap begins and how long it is, and the pass in
#: which the shape was last found not to fit
QUEUE_FIRST, QUEUE_SIZE, BLOCKED_AT = range(3)
QUEUE_COLUMNS = 3


class WaitingJobs(NamedTuple):
    """The queue: a heap of ranks per shape, and a tree over the shapes' first jobs."""

    ranks: IntLine
    #: one row per shape
    shapes: IntGrid
    heads: IntGrid
    #: room for a search of the tree
    stack: IntLine


WAITING_JOBS = compiled(WaitingJobs)


@njit(**PART)
def enqueue(queue: Ints, shapes: Ints, shape: int, rank: int) -> None:
    """Add a job to the heap of its shape."""
    first, place = shapes[shape, QUEUE_FIRST], shapes[shape, QUEUE_SIZE]
    shapes[shape, QUEUE_SIZE] += 1
    while place > 0 and queue[first + (place - 1) // 2] > rank:
        queue[first + place] = queue[first + (place - 1) // 2]
        place = (place - 1) // 2
    queue[first + place] = rank


@njit(**PART)
def dequeue(queue: Ints, shapes: Ints, shape: int) -> None:
    """Remove the first job from the heap of a shape."""
    first, size = shapes[shape, QUEUE_FIRST], shapes[shape, QUEUE_SIZE] - 1
    shapes[shape, QUEUE_SIZE] = size
    last = queue[first + size]
    place, child = 0, 1
    while child < size:
        if child + 1 < size and queue[first + child + 1] < queue[first + child]:
            child += 1
        if queue[first + child] >= last:
            break
        queue[first + place] = queue[first + child]
        place, child = child, 2 * child + 1
    queue[first + place] = last


@njit(**PART)
def push_end(times: Floats, jobs: Ints, size: int, time: float, job: int) -> int:
    """Add a completion to the heap ordered by (time, job); return its new size."""
    place = size
    while place > 0:
        parent = (place - 1) // 2
        if times[parent] < time or (times[parent] == time and jobs[parent] < job):
            break
        times[place], jobs[place] = times[parent], jobs[parent]
        place = parent
    times[place], jobs[place] = time, job
    return size + 1


@njit(**PART)
def pop_end(times: Floats, jobs: Ints, size: int) -> int:
    """Remove the earliest completion; return the heap's new size."""
    size -= 1
    time, job = times[size], jobs[size]
    place, child = 0, 1
    while child < size:
        if child + 1 < size and (
            times[child + 1] < times[child]
            or (times[child + 1] == times[child] and jobs[child + 1] < jobs[child])
        ):
            child += 1
        if time < times[child] or (time == times[child] and job < jobs[child]):
            break
        times[place], jobs[place] = times[child], jobs[child]
        place, child = child, 2 * child + 1
    times[place], jobs[place] = time, job
    return size


# The first waiting job of every shape, and the first one that fits on a node.
#
# A tree over shapes: each place holds the smallest rank and the smallest requests of the shapes
# below it, so that a whole branch is passed over when its smallest request is too large, or its
# first job comes later than one already found. Shapes are in order of their requests; with
# thousands of them a search looks at a few dozen.


#: columns: the smallest milli-GPUs, milli-cores and MiB asked for, the rank of the first
#: waiting job, and the same among shapes that nobody waited for before (their jobs may fit
#: anywhere; others only on a node that was just freed)
HEAD_GPU, HEAD_CPU, HEAD_MEMORY, HEAD_RANK, HEAD_NEW = range(5)
HEAD_COLUMNS = 5
NOBODY = 1 << 62


@njit(types.void(INT_GRID, INT_GRID, INT, INT, FLAG), **STEP)
def set_head(heads: Ints, asks: Ints, shape: int, rank: int, is_new: bool) -> None:
    """Say which job of a shape waits first, or NOBODY."""
    place = heads.shape[0] // 2 + shape
    waits = rank != NOBODY
    heads[place, HEAD_GPU] = asks[shape, ASK_GPUS] * asks[shape, ASK_MILLI] if waits else NOBODY
    heads[place, HEAD_CPU] = asks[shape, ASK_CPU] if waits else NOBODY
    heads[place, HEAD_MEMORY] = asks[shape, ASK_MEMORY] if waits else NOBODY
    heads[place, HEAD_RANK] = rank
    heads[place, HEAD_NEW] = rank if is_new else NOBODY
    changed = True
    while changed and place > 1:
        place >>= 1
        changed = False
        for column in range(HEAD_COLUMNS):
            least = min(heads[2 * place, column], heads[2 * place + 1, column])
            if least != heads[place, column]:
                heads[place, column] = least
                changed = True


@njit(**PART)
def first_head(heads: Ints, column: int) -> int:
    """Return the shape whose first job has the smallest rank in a column, or -1."""
    rank, place, width = heads[1, column], 1, heads.shape[0] // 2
    if rank == NOBODY:
        return -1
    while place < width:
        place *= 2
        if heads[place, column] != rank:
            place += 1
    return place - width


@njit(**PART)
def first_that_fits(
    waiting: WaitingJobs,
    nodes: Ints,
    node: int,
    asks: Ints,
    pooled: bool,
    trees: ScoreTrees,
    passes: int,
) -> int:
    """Return the shape of the first waiting job that fits on a node and did not fail yet.

    Gangs that find no room for all of their instances are marked as failed on the way.
    """
    heads, shapes, stack = waiting.heads, waiting.shapes, waiting.stack
    free_gpu, free_cpu = nodes[node, FREE_GPU], nodes[node, FREE_CPU]
    free_memory, width = nodes[node, FREE_MEMORY], heads.shape[0] // 2
    chosen, smallest = -1, NOBODY
    stack[0], size = 1, 1
    while size > 0:
        size -= 1
        place = stack[size]
        if (
            heads[place, HEAD_RANK] >= smallest
            or heads[place, HEAD_GPU] > free_gpu
            or heads[place, HEAD_CPU] > free_cpu
            or heads[place, HEAD_MEMORY] > free_memory
        ):
            continue
        if place < width:
            # the branch with the earlier job lies on top
            right = heads[2 * place, HEAD_RANK] > heads[2 * place + 1, HEAD_RANK]
            stack[size] = 2 * place + (not right)
            stack[size + 1] = 2 * place + right
            size += 2
            continue
        shape = place - width
        if shapes[shape, BLOCKED_AT] != passes and fits(nodes, node, asks, shape, pooled):
            if may_fit(nodes, asks, shape, pooled, trees):
                chosen, smallest = shape, heads[place, HEAD_RANK]
            else:
                shapes[shape, BLOCKED_AT] = passes
    return chosen
