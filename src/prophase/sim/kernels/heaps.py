"""Heaps: the waiting jobs of each shape by rank, and the running jobs by their end."""

from __future__ import annotations

from numba import njit, types

from prophase.sim.kernels.compiling import STEP
from prophase.sim.kernels.trees import QUEUE_FIRST, QUEUE_SIZE
from prophase.sim.signatures import (
    FLOAT_LINE,
    INT,
    INT_GRID,
    INT_LINE,
    Floats,
    Ints,
)


@njit(types.void(INT_LINE, INT_GRID, INT, INT), **STEP)
def enqueue(queue: Ints, shapes: Ints, shape: int, rank: int) -> None:
    """Add a job to the heap of its shape."""
    first, place = shapes[shape, QUEUE_FIRST], shapes[shape, QUEUE_SIZE]
    shapes[shape, QUEUE_SIZE] += 1
    while place > 0 and queue[first + (place - 1) // 2] > rank:
        queue[first + place] = queue[first + (place - 1) // 2]
        place = (place - 1) // 2
    queue[first + place] = rank


@njit(types.void(INT_LINE, INT_GRID, INT), **STEP)
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


@njit(INT(FLOAT_LINE, INT_LINE, INT, types.float64, INT), **STEP)
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


@njit(INT(FLOAT_LINE, INT_LINE, INT), **STEP)
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
