"""The ends of running jobs in a heap that lets an end be moved."""

from __future__ import annotations

from numba import njit, types

from prophase.sim.signatures import FLAG, FLOAT_LINE, INT, INT_LINE, Floats, Ints


@njit(FLAG(FLOAT_LINE, INT, INT), cache=True)
def _before(due: Floats, one: int, other: int) -> bool:
    return due[one] < due[other] or (due[one] == due[other] and one < other)


@njit(types.void(FLOAT_LINE, INT_LINE, INT_LINE, INT, INT), cache=True)
def _settle(due: Floats, heap: Ints, spot: Ints, size: int, place: int) -> None:
    """Let the job at ``place`` rise or sink to where it belongs."""
    job = heap[place]
    while place > 0 and _before(due, job, heap[(place - 1) // 2]):
        heap[place] = heap[(place - 1) // 2]
        spot[heap[place]] = place
        place = (place - 1) // 2
    child = 2 * place + 1
    while child < size:
        if child + 1 < size and _before(due, heap[child + 1], heap[child]):
            child += 1
        if _before(due, job, heap[child]):
            break
        heap[place] = heap[child]
        spot[heap[place]] = place
        place, child = child, 2 * child + 1
    heap[place] = job
    spot[job] = place


@njit(INT(FLOAT_LINE, INT_LINE, INT_LINE, INT, INT, types.float64), cache=True)
def set_end(due: Floats, heap: Ints, spot: Ints, size: int, job: int, time: float) -> int:
    """Add or move the end of a job; return the heap's size."""
    due[job] = time
    if spot[job] < 0:
        heap[size] = job
        spot[job] = size
        size += 1
    _settle(due, heap, spot, size, spot[job])
    return size


@njit(INT(FLOAT_LINE, INT_LINE, INT_LINE, INT, INT), cache=True)
def cancel_end(due: Floats, heap: Ints, spot: Ints, size: int, job: int) -> int:
    """Take a job out; return the heap's new size."""
    place = spot[job]
    size -= 1
    spot[job] = -1
    if place < size:
        heap[place] = heap[size]
        spot[heap[place]] = place
        _settle(due, heap, spot, size, place)
    return size
