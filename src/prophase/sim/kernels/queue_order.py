"""The order of a queue: by key, and by submission among equals; and the clock of its passes."""

from __future__ import annotations

import numpy as np
from numba import types

from prophase.sim.compilation import njit
from prophase.sim.signatures import (
    FLOAT,
    FLOAT_LINE,
    INT,
    INT_LINE,
    JOB_KEY,
    KEY,
    LOOP,
    REFRESH,
    Floats,
)


@njit(types.void(INT_LINE, FLOAT_LINE, INT), **LOOP)
def sort_queue(waiting, keys, count):
    """Order jobs by key, and by submission among equals, in place.

    A queue is nearly in order: jobs are moved up one by one. If that takes long, a heap sorts.
    """
    moves = 16 * count
    for place in range(1, count):
        job, to = waiting[place], place
        key = keys[job]
        while to > 0:
            other = waiting[to - 1]
            if keys[other] < key or (keys[other] == key and other < job):
                break
            waiting[to] = other
            to -= 1
        waiting[to] = job
        moves -= place - to
        if moves < 0:
            _heap_sort(waiting, keys, count)
            return


@njit(types.void(INT_LINE, FLOAT_LINE, INT, INT, INT_LINE), **LOOP)
def sort_in(waiting, keys, ordered, count, spare):
    """Order jobs of which the first ``ordered`` are in order; ``spare`` has room for the others."""
    new = count - ordered
    if ordered == 0:
        sort_queue(waiting, keys, count)
        return
    for place in range(new):
        spare[place] = waiting[ordered + place]
    sort_queue(spare, keys, new)
    # the last of both goes to the end, until all that are new have found their places
    old, to = ordered - 1, count - 1
    while new > 0:
        job = spare[new - 1]
        key = keys[job]
        while old >= 0:
            other = waiting[old]
            if keys[other] < key or (keys[other] == key and other < job):
                break
            waiting[to] = other
            old -= 1
            to -= 1
        waiting[to] = job
        new -= 1
        to -= 1


@njit(types.void(INT_LINE, FLOAT_LINE, INT), **LOOP)
def _heap_sort(waiting, keys, count):
    """Order jobs by key, and by submission among equals, whatever order they are in."""
    for turn in range(count // 2 + count - 1):
        # first the heap is built, last job on top; then its top goes to the end, again and again
        place, size = count // 2 - 1 - turn, count
        if place < 0:
            place, size = 0, count + count // 2 - 1 - turn
            waiting[0], waiting[size] = waiting[size], waiting[0]
        job = waiting[place]
        key, child = keys[job], 2 * place + 1
        while child < size:
            other = waiting[child]
            if child + 1 < size:
                beside = waiting[child + 1]
                if keys[beside] > keys[other] or (keys[beside] == keys[other] and beside > other):
                    other = beside
                    child += 1
            if key > keys[other] or (key == keys[other] and job > other):
                break
            waiting[place] = other
            place, child = child, 2 * child + 1
        waiting[place] = job


@njit(FLOAT(FLOAT, FLOAT, FLOAT), **LOOP)
def next_tick(now, origin, every_s):
    """Return the next tick, after now, of a clock that began at the origin."""
    passed = np.floor((now - origin) / every_s) + 1.0
    tick = origin + passed * every_s
    return tick if tick > now else origin + (passed + 1.0) * every_s


@njit(KEY, cache=True)
def by_key(jobs: Floats, job: int, owners: Floats, now: float, facts: Floats) -> float:
    """Return the key the job came with."""
    return jobs[job, JOB_KEY]


@njit(REFRESH, cache=True)
def no_refresh(owners: Floats, now: float, facts: Floats) -> None:
    """Work nothing out beforehand."""
