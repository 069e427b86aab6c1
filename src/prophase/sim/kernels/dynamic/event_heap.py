"""The ends of running jobs in a heap that lets an end be moved."""

from __future__ import annotations

from prophase.sim.compilation import njit
from prophase.sim.kernels.dynamic.array_layout import ENDS
from prophase.sim.signatures import LOOP


@njit(**LOOP)
def _before(end_s, one, other):
    return end_s[one] < end_s[other] or (end_s[one] == end_s[other] and one < other)


@njit(**LOOP)
def _settle(end_s, heap, place_of, size, place):
    """Let the job at ``place`` rise or sink to where it belongs."""
    job = heap[place]
    while place > 0 and _before(end_s, job, heap[(place - 1) // 2]):
        heap[place] = heap[(place - 1) // 2]
        place_of[heap[place]] = place
        place = (place - 1) // 2
    child = 2 * place + 1
    while child < size:
        if child + 1 < size and _before(end_s, heap[child + 1], heap[child]):
            child += 1
        if _before(end_s, job, heap[child]):
            break
        heap[place] = heap[child]
        place_of[heap[place]] = place
        place, child = child, 2 * child + 1
    heap[place] = job
    place_of[job] = place


@njit(**LOOP)
def set_end(running, counts, job, time):
    """Add or move the end of a job."""
    heap, place_of = running.heap, running.heap_place_of
    running.end_s[job] = time
    if place_of[job] < 0:
        heap[counts[ENDS]] = job
        place_of[job] = counts[ENDS]
        counts[ENDS] += 1
    _settle(running.end_s, heap, place_of, counts[ENDS], place_of[job])


@njit(**LOOP)
def cancel_end(running, counts, job):
    """Take a job out of the heap."""
    heap, place_of = running.heap, running.heap_place_of
    place = place_of[job]
    counts[ENDS] -= 1
    size = counts[ENDS]
    place_of[job] = -1
    if place < size:
        heap[place] = heap[size]
        place_of[heap[place]] = place
        _settle(running.end_s, heap, place_of, size, place)
